//! `WorkloadPlan`: everything a runtime needs to run one Workload, with nothing left to decide.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use orchestra_score::model::{Protocol, Ready, Scheme};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use crate::{
    condition::Reason,
    crd::score,
    free,
    reference::{Placement, SecretKeyRef, WorkloadRef},
};

/// Everything a runtime needs to run one Workload. The orchestrator replaces the spec as a whole when its meaning
/// changes, and only then; the runtime writes the status.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(group = "score.dev", version = "v1b1", kind = "WorkloadPlan", namespaced)]
#[kube(status = "WorkloadPlanStatus", shortname = "swplan", category = "score-platform")]
#[kube(printcolumn = r#"{"name":"PHASE","type":"string","jsonPath":".status.phase"}"#)]
#[kube(printcolumn = r#"{"name":"RUNTIME","type":"string","jsonPath":".spec.runtimeClass"}"#)]
#[kube(printcolumn = r#"{"name":"BACKEND","type":"string","jsonPath":".spec.backendId"}"#)]
#[kube(printcolumn = r#"{"name":"REVISION","type":"string","jsonPath":".spec.revision","priority":1}"#)]
#[kube(printcolumn = r#"{"name":"AGE","type":"date","jsonPath":".metadata.creationTimestamp"}"#)]
#[kube(derive = "PartialEq")]
#[serde(rename_all = "camelCase")]
pub struct WorkloadPlanSpec {
    /// The Workload that is run.
    pub workload_ref: WorkloadRef,
    /// The generation of the Workload for which this revision was first made.
    pub observed_workload_generation: i64,
    /// A hash of what this plan means. Equal revisions run the same thing.
    pub revision: String,
    /// The kind of runtime that runs it.
    pub runtime_class: String,
    /// Which one of that kind.
    pub backend_id: String,
    /// The profile under which it was placed there.
    pub profile: String,
    /// The features that were asked for when it was placed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requirements: Vec<String>,
    /// The region that was asked for when it was placed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// Whether it runs on, or to an end.
    pub kind: Kind,
    /// The containers, by name.
    #[schemars(extend("x-kubernetes-map-type" = "atomic"))]
    pub containers: BTreeMap<String, Container>,
    /// The ports it offers, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("x-kubernetes-map-type" = "atomic"))]
    pub ports: BTreeMap<String, Port>,
    /// What is published of it, the best first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exposures: Vec<Exposure>,
    /// How it is replaced and stopped.
    #[serde(default, skip_serializing_if = "Lifecycle::is_default")]
    pub lifecycle: Lifecycle,
    /// The claims whose outputs or volumes it uses, and its routes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<Claim>,
    /// Labels of the Workload, for what the runtime makes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("x-kubernetes-map-type" = "atomic"))]
    pub labels: BTreeMap<String, String>,
    /// Annotations of the Workload, for what the runtime makes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("x-kubernetes-map-type" = "atomic"))]
    pub annotations: BTreeMap<String, String>,
    /// Settings of the backend, in the words of its runtime.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schemars(schema_with = "free::map")]
    pub values: Map<String, Json>,
}

impl WorkloadPlanSpec {
    /// Where it is to run.
    pub fn placement(&self) -> Placement {
        Placement { runtime_class: self.runtime_class.clone(), backend_id: self.backend_id.clone() }
    }
}

/// Whether a Workload runs on, or to an end.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub enum Kind {
    /// It runs until it is deleted.
    #[default]
    Service,
    /// It runs once, and is ready when it has ended well.
    Job,
}

/// A text: its segments, one after the other.
pub type Text = Vec<Segment>;

/// A part of a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Segment {
    /// As it stands.
    Literal(String),
    /// A secret output of a claim, to be put in at the last moment.
    ClaimOutput(ClaimOutput),
}

/// A secret output of a claim.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClaimOutput {
    /// The key of the claim.
    pub claim: String,
    /// The name of the output.
    pub output: String,
    /// Where the value is.
    pub secret_key_ref: SecretKeyRef,
}

/// A container.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Container {
    /// The image; `.` stands for the folder of the author.
    pub image: String,
    /// The program to run instead of that of the image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Vec<String>>,
    /// Its arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<Vec<String>>,
    /// Environment variables, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub variables: BTreeMap<String, Text>,
    /// Files, by path.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, File>,
    /// Volumes, by path.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub volumes: BTreeMap<String, Volume>,
    /// What other containers, by name, wait for in this one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(with = "BTreeMap<String, Reached>")]
    pub before: BTreeMap<String, Ready>,
    /// The least it needs.
    #[serde(default, skip_serializing_if = "Amounts::is_empty")]
    pub requests: Amounts,
    /// The most it may use.
    #[serde(default, skip_serializing_if = "Amounts::is_empty")]
    pub limits: Amounts,
    /// A check that restarts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub liveness_probe: Option<Probe>,
    /// A check that says when it can do its work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub readiness_probe: Option<Probe>,
}

/// A file in a container.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct File {
    /// The access mode in octal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// What is in it.
    #[serde(flatten)]
    pub content: FileContent,
}

/// What is in a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum FileContent {
    /// Text.
    Text(Text),
    /// Bytes, in base64.
    Binary(String),
}

/// A volume in a container.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Volume {
    /// The key of the claim that provides it; absent only where the backend takes names of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<String>,
    /// What its provider calls the volume: the output that the author refers to, else the output `source` of the claim;
    /// or a name of the backend.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub source: Text,
    /// A path inside the volume.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Whether it is mounted for reading only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub read_only: bool,
}

/// Amounts of memory and processor time, as Score writes them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Amounts {
    /// Processor time, such as `500m`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("pattern" = score::amount_pattern("cpu")))]
    pub cpu: Option<String>,
    /// Memory, such as `128Mi`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("pattern" = score::amount_pattern("memory")))]
    pub memory: Option<String>,
}

impl Amounts {
    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        self.cpu.is_none() && self.memory.is_none()
    }
}

/// A check. Where both are given, `exec` counts on runtimes that can do only one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Probe {
    /// A request that must be answered with success.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http_get: Option<HttpGet>,
    /// A command that must end with success.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exec: Vec<String>,
}

/// A request that must be answered with success.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HttpGet {
    /// The Host header to send.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The scheme.
    #[serde(default)]
    #[schemars(with = "HttpScheme")]
    pub scheme: Scheme,
    /// The path to ask for.
    pub path: String,
    /// The port on which the container listens.
    #[schemars(range(min = 1))]
    pub port: u16,
    /// Headers to send, one after the other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<Header>,
}

/// A header to send.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Header {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// A port that is offered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Port {
    /// The number under which it is offered.
    #[schemars(range(min = 1))]
    pub port: u16,
    /// The number on which a container listens.
    #[schemars(range(min = 1))]
    pub target_port: u16,
    /// The protocol.
    #[serde(default)]
    #[schemars(with = "PortProtocol")]
    pub protocol: Protocol,
}

/// What is published of a Workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Exposure {
    /// The port, or the route.
    #[serde(flatten)]
    pub target: ExposureTarget,
    /// Where there are several, the highest becomes the endpoint.
    pub priority: i32,
}

/// What an exposure leads to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ExposureTarget {
    /// The name of a port.
    Port(String),
    /// The key of a claim of type `route`, whose provisioner publishes it.
    ClaimKey(String),
}

/// How a Workload is replaced and stopped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Lifecycle {
    /// What is run in each container before it is stopped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stop_command: Vec<String>,
    /// How long it may take to stop; the runtime's own time if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grace_seconds: Option<u32>,
    /// How a new revision replaces the old one.
    #[serde(default)]
    pub strategy: Strategy,
    /// Whether it is stopped for now, with everything kept.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub suspend: bool,
}

impl Lifecycle {
    /// Whether nothing particular is said.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// What a runtime says of a plan that is stopped for now, once nothing of it runs.
pub const SUSPENDED: &str = "It is stopped for now; apply it again to go on.";

/// How a new revision replaces the old one.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub enum Strategy {
    /// The old one stops when the new one is ready.
    #[default]
    Rolling,
    /// The old one stops first: both write to the same volume.
    Recreate,
}

/// A claim that a plan uses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Claim {
    /// The name of the dependency in the Workload.
    pub key: String,
    /// The name of the claim.
    pub name: String,
    /// What kind of thing it is.
    #[serde(rename = "type")]
    pub type_: String,
    /// Which sort of it.
    pub class: String,
    /// The identity of the thing behind it, which everything bears that was made for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
    /// The revision of its outputs: a rotated secret is a new revision of the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outputs_revision: Option<String>,
}

/// How far a runtime is with a plan.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub enum Phase {
    /// It has not begun.
    #[default]
    Pending,
    /// It is at work.
    Provisioning,
    /// It runs, or the job has ended well.
    Ready,
    /// It runs badly.
    Degraded,
    /// It cannot be run as planned.
    Failed,
}

/// What a runtime says of a plan.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadPlanStatus {
    /// How far it is.
    #[serde(default)]
    pub phase: Phase,
    /// Why, in a word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Reason")]
    pub reason: Option<Reason>,
    /// Why, in a neutral sentence that users see.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The revision that the phase is about. Another one than that of the spec is old news.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_revision: Option<String>,
    /// Where the inventory was made. A runtime that finds another place than its own begins only when the inventory is
    /// empty; the one that finds its own place here, and another in the spec, takes down what it made and empties it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<Placement>,
    /// What else the runtime has to say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// Everything that was made, written down before it is made. An empty list is written too: it hands over.
    #[serde(default)]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub inventory: Vec<InventoryItem>,
    /// Where exactly it runs, for platform engineers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placed_on: Option<String>,
}

/// Something that a runtime made.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct InventoryItem {
    /// What it is, in the words of the runtime.
    pub kind: String,
    /// Its name there.
    pub name: String,
    /// Its identity there, once it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

/// The scheme of a request.
// It stands in for `Scheme`, which has no schema of its own.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "only its schema is used")]
#[schemars(rename_all = "UPPERCASE")]
enum HttpScheme {
    /// Without encryption.
    Http,
    /// With TLS.
    Https,
}

/// The protocol of a port.
// It stands in for `Protocol`, which has no schema of its own.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "only its schema is used")]
#[schemars(rename_all = "UPPERCASE")]
enum PortProtocol {
    /// Streams.
    Tcp,
    /// Datagrams.
    Udp,
}

/// What a container has reached.
// It stands in for `Ready`, which has no schema of its own.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "only its schema is used")]
#[schemars(rename_all = "lowercase")]
enum Reached {
    /// It runs.
    Started,
    /// Its probe succeeds.
    Healthy,
    /// It has ended well.
    Complete,
}
