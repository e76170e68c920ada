//! `ResourceClaim`: request of a Workload for one dependency.

use std::collections::BTreeMap;

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use crate::{
    condition::Reason,
    free,
    reference::{Placement, SecretKeyRef, WorkloadRef},
};

/// Request of a Workload for one dependency. The orchestrator writes the spec; the provisioner of this type provides
/// the dependency and writes the status.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(group = "score.dev", version = "v1b1", kind = "ResourceClaim", namespaced)]
#[kube(status = "ResourceClaimStatus", shortname = "srclaim", category = "score-platform")]
#[kube(printcolumn = r#"{"name":"PHASE","type":"string","jsonPath":".status.phase"}"#)]
#[kube(printcolumn = r#"{"name":"TYPE","type":"string","jsonPath":".spec.type"}"#)]
#[kube(printcolumn = r#"{"name":"WORKLOAD","type":"string","jsonPath":".spec.workloadRef.name"}"#)]
#[kube(printcolumn = r#"{"name":"KEY","type":"string","jsonPath":".spec.key"}"#)]
#[kube(printcolumn = r#"{"name":"AGE","type":"date","jsonPath":".metadata.creationTimestamp"}"#)]
#[kube(selectable = ".spec.workloadRef.name")]
#[kube(derive = "PartialEq")]
#[serde(rename_all = "camelCase")]
pub struct ResourceClaimSpec {
    /// Workload that has the dependency.
    pub workload_ref: WorkloadRef,
    /// Key of the dependency under `resources` of the Workload.
    pub key: String,
    /// Type of the dependency, such as `postgres`.
    #[serde(rename = "type")]
    pub type_: String,
    /// Class of the dependency within its type.
    pub class: String,
    /// ID under which Workloads of the namespace share the dependency. Absent if it is private to the Workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Parameters for the provisioner, with all placeholders expanded. A string that contains a secret has the form
    /// `{"$segments": […]}`, with segments as in a `WorkloadPlan`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "free::map")]
    pub params: Option<Map<String, Json>>,
    /// Metadata of the dependency in the Score file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "free::map")]
    pub metadata: Option<Map<String, Json>>,
    /// Placement of the Workload.
    pub placement: Placement,
    /// Policy for the dependency after its last claim is deleted.
    pub deprovision_policy: DeprovisionPolicy,
    /// Keys of dependencies of the same Workload that this one refers to. It is deprovisioned before them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
}

/// Policy for a dependency after its last claim is deleted.
// In the order of caution: of several claims, the greatest policy applies.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub enum DeprovisionPolicy {
    /// Delete it with its data.
    #[default]
    Delete,
    /// Stop it; keep data and passwords for the next claim.
    Retain,
    /// Leave it running, unmanaged.
    Orphan,
}

/// Phase of a claim.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub enum Phase {
    /// Not started.
    #[default]
    Pending,
    /// Being provisioned.
    Binding,
    /// Available.
    Bound,
    /// Cannot be provided as requested.
    Failed,
}

/// Status of a claim, written by its provisioner.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceClaimStatus {
    /// Phase of the claim.
    #[serde(default)]
    pub phase: Phase,
    /// Machine-readable reason for the phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Reason")]
    pub reason: Option<Reason>,
    /// Explanation for users. It does not name the technology of the provisioner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// True if the outputs are complete.
    #[serde(default)]
    pub outputs_available: bool,
    /// Outputs that the Workload can refer to, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub outputs: BTreeMap<String, Output>,
    /// Random string that changes whenever an output changes, including secret ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outputs_revision: Option<String>,
    /// Generation of the claim that this status describes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

/// Output: a value, or a reference to a secret.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub enum Output {
    /// Value that is not secret.
    Value(#[schemars(schema_with = "free::value")] Json),
    /// Key of a Secret in the same namespace.
    SecretKeyRef(SecretKeyRef),
}

#[cfg(test)]
mod tests {
    use super::DeprovisionPolicy::{Delete, Orphan, Retain};

    #[test]
    fn the_greatest_policy_is_the_most_conservative() {
        assert!(Delete < Retain && Retain < Orphan);
    }
}
