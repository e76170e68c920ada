//! `WorkloadPlan`: complete input of a runtime for one Workload.

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

/// Everything a runtime needs to run one Workload. The orchestrator replaces the spec as a whole, and only when its
/// revision changes; the runtime writes the status.
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
    /// Workload that the plan runs.
    pub workload_ref: WorkloadRef,
    /// Generation of the Workload for which this revision was first created.
    pub observed_workload_generation: i64,
    /// Hash of all fields that affect what runs. Equal revisions run the same thing.
    pub revision: String,
    /// Name of the runtime class that runs the plan.
    pub runtime_class: String,
    /// ID of the backend in the orchestrator config.
    pub backend_id: String,
    /// Profile that selected the backend.
    pub profile: String,
    /// Features that were required when the backend was selected.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requirements: Vec<String>,
    /// Region that was required when the backend was selected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// Kind of the Workload: Service or Job.
    pub kind: Kind,
    /// Containers, by name.
    #[schemars(extend("x-kubernetes-map-type" = "atomic"))]
    pub containers: BTreeMap<String, Container>,
    /// Service ports, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("x-kubernetes-map-type" = "atomic"))]
    pub ports: BTreeMap<String, Port>,
    /// Ports and routes to publish, in order of preference.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exposures: Vec<Exposure>,
    /// Update strategy and termination.
    #[serde(default, skip_serializing_if = "Lifecycle::is_default")]
    pub lifecycle: Lifecycle,
    /// Claims whose outputs or volumes the plan uses, and its routes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<Claim>,
    /// Labels of the Workload, for the objects of the runtime.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("x-kubernetes-map-type" = "atomic"))]
    pub labels: BTreeMap<String, String>,
    /// Annotations of the Workload, for the objects of the runtime.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("x-kubernetes-map-type" = "atomic"))]
    pub annotations: BTreeMap<String, String>,
    /// Settings of the backend, as defined by its runtime.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schemars(schema_with = "free::map")]
    pub values: Map<String, Json>,
}

impl WorkloadPlanSpec {
    /// Placement of the plan.
    pub fn placement(&self) -> Placement {
        Placement { runtime_class: self.runtime_class.clone(), backend_id: self.backend_id.clone() }
    }
}

/// Kind of a Workload.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub enum Kind {
    /// Runs until it is deleted.
    #[default]
    Service,
    /// Runs once, and is ready after it has succeeded.
    Job,
}

/// Concatenation of segments.
pub type Text = Vec<Segment>;

/// Part of a string.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Segment {
    /// Literal text.
    Literal(String),
    /// Secret output of a claim, to be resolved as late as possible.
    ClaimOutput(ClaimOutput),
}

/// Secret output of a claim.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClaimOutput {
    /// Key of the claim.
    pub claim: String,
    /// Name of the output.
    pub output: String,
    /// Reference to the value.
    pub secret_key_ref: SecretKeyRef,
}

/// Container of a plan.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Container {
    /// Container image. `.` is the folder of the Score file.
    pub image: String,
    /// Command, instead of the entrypoint of the image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Vec<String>>,
    /// Arguments of the command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<Vec<String>>,
    /// Environment variables, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub variables: BTreeMap<String, Text>,
    /// Files, by absolute path.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, File>,
    /// Volumes, by mount path.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub volumes: BTreeMap<String, Volume>,
    /// State that this container must reach before others start, by name of the other container.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(with = "BTreeMap<String, Reached>")]
    pub before: BTreeMap<String, Ready>,
    /// Resource requests.
    #[serde(default, skip_serializing_if = "Amounts::is_empty")]
    pub requests: Amounts,
    /// Resource limits.
    #[serde(default, skip_serializing_if = "Amounts::is_empty")]
    pub limits: Amounts,
    /// Probe that restarts the container when it fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub liveness_probe: Option<Probe>,
    /// Probe that succeeds when the container is ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub readiness_probe: Option<Probe>,
}

/// File in a container.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct File {
    /// Access mode in octal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// Content.
    #[serde(flatten)]
    pub content: FileContent,
}

/// Content of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum FileContent {
    /// Text.
    Text(Text),
    /// Bytes, base64-encoded.
    Binary(String),
}

/// Volume in a container.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Volume {
    /// Key of the claim that provides the volume. Absent only if the backend accepts volume names of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<String>,
    /// Name of the volume at its provider: the output that the Score file refers to, else the output `source` of the
    /// claim; without a claim, a name of the backend.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub source: Text,
    /// Path inside the volume.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// True to mount the volume read-only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub read_only: bool,
}

/// Amounts of CPU and memory, in the notation of Score.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Amounts {
    /// CPU, such as `500m`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("pattern" = score::amount_pattern("cpu")))]
    pub cpu: Option<String>,
    /// Memory, such as `128Mi`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("pattern" = score::amount_pattern("memory")))]
    pub memory: Option<String>,
}

impl Amounts {
    /// True if no amount is set.
    pub fn is_empty(&self) -> bool {
        self.cpu.is_none() && self.memory.is_none()
    }
}

/// Probe of a container. A runtime that supports only one of the two uses `exec` if both are set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Probe {
    /// HTTP request that must succeed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http_get: Option<HttpGet>,
    /// Command that must exit with code 0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exec: Vec<String>,
}

/// HTTP request that must succeed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HttpGet {
    /// Host header of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// URL scheme.
    #[serde(default)]
    #[schemars(with = "HttpScheme")]
    pub scheme: Scheme,
    /// Path of the request.
    pub path: String,
    /// Port on which the container listens.
    #[schemars(range(min = 1))]
    pub port: u16,
    /// Headers of the request, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<Header>,
}

/// HTTP header.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Header {
    /// Name of the header.
    pub name: String,
    /// Value of the header.
    pub value: String,
}

/// Service port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Port {
    /// Port of the service.
    #[schemars(range(min = 1))]
    pub port: u16,
    /// Port on which a container listens.
    #[schemars(range(min = 1))]
    pub target_port: u16,
    /// Protocol of the port.
    #[serde(default)]
    #[schemars(with = "PortProtocol")]
    pub protocol: Protocol,
}

/// Port or route to publish.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Exposure {
    /// Port or route.
    #[serde(flatten)]
    pub target: ExposureTarget,
    /// Priority. The exposure with the highest one becomes the endpoint.
    pub priority: i32,
}

/// Target of an exposure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ExposureTarget {
    /// Name of a port.
    Port(String),
    /// Key of a claim of type `route`, published by its provisioner.
    ClaimKey(String),
}

/// Update strategy and termination of a Workload.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Lifecycle {
    /// Command to run in each container before it is stopped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stop_command: Vec<String>,
    /// Termination grace period in seconds. Defaults to that of the runtime.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grace_seconds: Option<u32>,
    /// Strategy for replacing the old revision.
    #[serde(default)]
    pub strategy: Strategy,
    /// True to stop the Workload and keep its dependencies and data.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub suspend: bool,
}

impl Lifecycle {
    /// True if all fields have their defaults.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Message of a suspended plan after everything has stopped.
pub const SUSPENDED: &str = "Suspended; apply the workload again to resume it.";

/// Strategy for replacing the old revision.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub enum Strategy {
    /// The old revision stops when the new one is ready.
    #[default]
    Rolling,
    /// The old revision stops first, because both write to the same volume.
    Recreate,
}

/// Claim that a plan uses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Claim {
    /// Key of the dependency under `resources` of the Workload.
    pub key: String,
    /// Name of the `ResourceClaim`.
    pub name: String,
    /// Type of the dependency.
    #[serde(rename = "type")]
    pub type_: String,
    /// Class of the dependency.
    pub class: String,
    /// ID of the instance behind the claim, as in the label `score.dev/instance` of its objects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
    /// Revision of the outputs of the claim. A rotated secret gives the plan a new revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outputs_revision: Option<String>,
}

/// Phase of a plan.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub enum Phase {
    /// Not started.
    #[default]
    Pending,
    /// Being started or updated.
    Provisioning,
    /// Running, or a job that has succeeded.
    Ready,
    /// Running with failures.
    Degraded,
    /// Cannot run as planned.
    Failed,
}

/// Status of a plan, written by its runtime.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadPlanStatus {
    /// Phase of the plan.
    #[serde(default)]
    pub phase: Phase,
    /// Machine-readable reason for the phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Reason")]
    pub reason: Option<Reason>,
    /// Explanation for users. It does not name the technology of the runtime.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Revision that the phase describes. The status is outdated if it differs from that of the spec.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_revision: Option<String>,
    /// Placement of the inventory. After a move, the runtime of this placement deletes everything in the inventory and
    /// empties it; only then does the runtime of the new placement start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<Placement>,
    /// Further conditions of the runtime.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// Everything that the runtime created for the plan, recorded before it is created. An empty list completes a move.
    #[serde(default)]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub inventory: Vec<InventoryItem>,
    /// Location where the Workload runs, for platform engineers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placed_on: Option<String>,
}

/// Object that a runtime created.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct InventoryItem {
    /// Kind of the object, as defined by the runtime.
    pub kind: String,
    /// Name of the object.
    pub name: String,
    /// ID of the object, after the runtime has assigned one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

/// URL scheme of the request.
// Schema of `Scheme`, which has none of its own.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "only its schema is used")]
#[schemars(rename_all = "UPPERCASE")]
enum HttpScheme {
    /// HTTP.
    Http,
    /// HTTP over TLS.
    Https,
}

/// Protocol of the port.
// Schema of `Protocol`, which has none of its own.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "only its schema is used")]
#[schemars(rename_all = "UPPERCASE")]
enum PortProtocol {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
}

/// State of a container.
// Schema of `Ready`, which has none of its own.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "only its schema is used")]
#[schemars(rename_all = "lowercase")]
enum Reached {
    /// Running.
    Started,
    /// Its readiness probe succeeds.
    Healthy,
    /// Exited with code 0.
    Complete,
}
