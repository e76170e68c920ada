//! `WorkloadExposure`: addresses of a Workload, published by its runtime.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::reference::WorkloadRef;

/// Addresses of a Workload. The orchestrator writes the spec, the runtime publishes addresses in the status; the best
/// one becomes the endpoint of the Workload.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(group = "score.dev", version = "v1b1", kind = "WorkloadExposure", namespaced)]
#[kube(status = "WorkloadExposureStatus", shortname = "swexp", category = "score-platform")]
#[kube(printcolumn = r#"{"name":"WORKLOAD","type":"string","jsonPath":".spec.workloadRef.name"}"#)]
#[kube(printcolumn = r#"{"name":"RUNTIME","type":"string","jsonPath":".spec.runtimeClass"}"#)]
#[kube(printcolumn = r#"{"name":"URL","type":"string","jsonPath":".status.exposures[0].url"}"#)]
#[kube(printcolumn = r#"{"name":"AGE","type":"date","jsonPath":".metadata.creationTimestamp"}"#)]
#[kube(derive = "PartialEq")]
#[serde(rename_all = "camelCase")]
pub struct WorkloadExposureSpec {
    /// Workload that the addresses lead to.
    pub workload_ref: WorkloadRef,
    /// Name of the runtime class that publishes the addresses.
    pub runtime_class: String,
    /// Generation of the Workload at the last update of this spec.
    pub observed_workload_generation: i64,
}

/// Status of an exposure, written by the runtime.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadExposureStatus {
    /// Published addresses, the best first. An empty list withdraws all of them.
    #[serde(default)]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub exposures: Vec<Exposure>,
    /// Further conditions of the runtime.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
}

/// Published address.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Exposure {
    /// URL of the address.
    pub url: String,
    /// Priority of the exposure in the plan. The address with the highest one becomes the endpoint.
    #[serde(default)]
    pub priority: i32,
    /// Scope from which the address is reachable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Scope")]
    pub scope: Option<Scope>,
    /// Application protocol, if the scheme of the URL does not name it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheme_hint: Option<String>,
    /// True if the address responds. Absent if that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reachable: Option<bool>,
}

/// Scope from which an address is reachable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum Scope {
    /// Reachable from anywhere.
    Public,
    /// Reachable from inside the platform's network.
    Internal,
    /// Reachable from this machine.
    Local,
}
