//! `WorkloadExposure`: where a Workload can be reached, as its runtime says.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::reference::WorkloadRef;

/// Where a Workload can be reached. The orchestrator writes the spec, the runtime publishes addresses in the status;
/// the best of them becomes the endpoint of the Workload.
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
    /// The Workload that is reached.
    pub workload_ref: WorkloadRef,
    /// The kind of runtime that publishes the addresses.
    pub runtime_class: String,
    /// The generation of the Workload for which this was last written.
    pub observed_workload_generation: i64,
}

/// What the runtime has published.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadExposureStatus {
    /// The addresses. An empty list withdraws all of them.
    #[serde(default)]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub exposures: Vec<Exposure>,
    /// What else the runtime has to say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
}

/// One address.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Exposure {
    /// The address, as a URI.
    pub url: String,
    /// The highest becomes the endpoint; that of the plan's exposure.
    #[serde(default)]
    pub priority: i32,
    /// From where it can be reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Scope")]
    pub scope: Option<Scope>,
    /// What is spoken there, where the scheme of the URI does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheme_hint: Option<String>,
    /// Whether it answers now; absent if that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reachable: Option<bool>,
}

/// From where an address can be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum Scope {
    /// From anywhere.
    Public,
    /// From inside the platform's network.
    Internal,
    /// From this machine.
    Local,
}
