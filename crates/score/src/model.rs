//! A valid Score document as Rust types.
//!
//! Nothing is lost on the way in or out: an absent field stays absent, an empty map stays empty, free-form
//! values keep their types. Maps are sorted, so that output is always the same for the same document. The
//! deprecated list forms of files and volumes are gone by then ([`crate::normalise`]).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

/// A Score document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Workload {
    /// The version of the language.
    pub api_version: ApiVersion,
    /// The name of the workload and what else is known about it.
    pub metadata: Metadata,
    /// The ports that the workload offers to others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<Service>,
    /// The containers, by name; never empty.
    pub containers: BTreeMap<String, Container>,
    /// What the workload depends on, by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<BTreeMap<String, Resource>>,
}

/// The versions of the language there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ApiVersion {
    /// The first one.
    #[serde(rename = "score.dev/v1b1")]
    V1b1,
}

/// The name of the workload and what else is known about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Metadata {
    /// The name.
    pub name: String,
    /// Notes for tools and for the platform.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<BTreeMap<String, String>>,
    /// Whatever else the author wrote.
    #[serde(flatten)]
    pub extra: Map<String, Json>,
}

/// The ports that a workload offers to others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Service {
    /// The ports, by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ports: Option<BTreeMap<String, ServicePort>>,
}

/// A port that a workload offers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServicePort {
    /// The number under which it is offered.
    pub port: u16,
    /// The protocol; TCP if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Protocol>,
    /// The number on which the container listens; `port` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_port: Option<u16>,
}

/// Protocols of a service port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Protocol {
    /// The default.
    #[default]
    Tcp,
    /// Datagrams.
    Udp,
}

/// A container.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Container {
    /// The image; `.` stands for one that is given at deployment.
    pub image: String,
    /// The program to run instead of that of the image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Vec<String>>,
    /// Its arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<Vec<String>>,
    /// Environment variables, with placeholders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variables: Option<BTreeMap<String, String>>,
    /// Files, by path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<BTreeMap<String, File>>,
    /// Volumes, by path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volumes: Option<BTreeMap<String, Volume>>,
    /// Containers that wait for this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<BTreeMap<String, Before>>,
    /// Computing power.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<Compute>,
    /// A check that restarts the container.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub liveness_probe: Option<Probe>,
    /// A check that says when the container can do its work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub readiness_probe: Option<Probe>,
}

/// A file in a container.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct File {
    /// The access mode in octal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// What is in it.
    #[serde(flatten)]
    pub content: FileContent,
    /// Whether placeholders are left as they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_expand: Option<bool>,
}

/// What is in a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum FileContent {
    /// Text, with placeholders.
    Content(String),
    /// Bytes in base64.
    BinaryContent(String),
    /// The path of a file beside the Score file.
    Source(String),
}

/// A volume in a container.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Volume {
    /// The volume, usually a resource.
    pub source: String,
    /// A path inside the volume.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Whether it is mounted for reading only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
}

/// What another container waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Before {
    /// What this container must have reached.
    pub ready: Ready,
}

/// What a container can have reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ready {
    /// It runs.
    Started,
    /// Its probe succeeds.
    Healthy,
    /// It has ended with success.
    Complete,
}

/// Computing power of a container.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compute {
    /// The most it may use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<Amounts>,
    /// The least it needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<Amounts>,
}

/// Amounts of memory and processor time, as written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Amounts {
    /// Memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<String>,
    /// Processor time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<String>,
}

/// A check. Where both are given, `exec` counts on runtimes that can do only one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Probe {
    /// A request that must be answered with success.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http_get: Option<HttpGet>,
    /// A command that must end with success.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exec: Option<Exec>,
}

/// A request that must be answered with success.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HttpGet {
    /// The Host header to send.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// HTTP if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheme: Option<Scheme>,
    /// The path to ask for.
    pub path: String,
    /// The port on which the container listens.
    pub port: u16,
    /// Headers to send.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http_headers: Option<Vec<HttpHeader>>,
}

/// Schemes of an HTTP probe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Scheme {
    /// The default.
    #[default]
    Http,
    /// With TLS.
    Https,
}

/// A header of an HTTP probe.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HttpHeader {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// A command that must end with success.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exec {
    /// The command and its arguments.
    pub command: Vec<String>,
}

/// Something the workload depends on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Resource {
    /// What kind of thing.
    #[serde(rename = "type")]
    pub type_: String,
    /// Which sort of it; `default` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// An identity under which workloads share it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Notes about it. The field `annotations` in it is a map of text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map<String, Json>>,
    /// Parameters for whoever provides it, with placeholders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub params: Option<Map<String, Json>>,
}
