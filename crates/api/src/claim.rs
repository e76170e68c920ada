//! `ResourceClaim`: one dependency of one Workload, handed to a provisioner.

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

/// One dependency of one Workload. The orchestrator writes the spec; the provisioner that the platform has for this
/// type provides the thing and writes the status.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(group = "score.dev", version = "v1b1", kind = "ResourceClaim", namespaced)]
#[kube(status = "ResourceClaimStatus", shortname = "srclaim", category = "score-platform")]
#[kube(printcolumn = r#"{"name":"PHASE","type":"string","jsonPath":".status.phase"}"#)]
#[kube(printcolumn = r#"{"name":"TYPE","type":"string","jsonPath":".spec.type"}"#)]
#[kube(printcolumn = r#"{"name":"WORKLOAD","type":"string","jsonPath":".spec.workloadRef.name"}"#)]
#[kube(printcolumn = r#"{"name":"KEY","type":"string","jsonPath":".spec.key"}"#)]
#[kube(printcolumn = r#"{"name":"AGE","type":"date","jsonPath":".metadata.creationTimestamp"}"#)]
#[kube(derive = "PartialEq")]
#[serde(rename_all = "camelCase")]
pub struct ResourceClaimSpec {
    /// The Workload that depends on it.
    pub workload_ref: WorkloadRef,
    /// The name of the dependency in that Workload.
    pub key: String,
    /// What kind of thing is wanted, such as `postgres`.
    #[serde(rename = "type")]
    pub type_: String,
    /// Which sort of it.
    pub class: String,
    /// The identity under which Workloads of the namespace share it; absent if it is private.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Parameters for the provisioner, with all placeholders expanded. A text with a secret in it is written as
    /// `{"$segments": […]}`, with segments as in a plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "free::map")]
    pub params: Option<Map<String, Json>>,
    /// What the author noted about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "free::map")]
    pub metadata: Option<Map<String, Json>>,
    /// Where the Workload runs.
    pub placement: Placement,
    /// What becomes of it when nobody wants it any more.
    pub deprovision_policy: DeprovisionPolicy,
    /// The dependencies of the same Workload that this one refers to; it is taken down before them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
}

/// What becomes of a dependency that nobody wants any more.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub enum DeprovisionPolicy {
    /// It is removed with its data.
    #[default]
    Delete,
    /// It is stopped; data and passwords are kept for whoever claims it again.
    Retain,
    /// It is left running, and nobody looks after it any more.
    Orphan,
}

/// How far a dependency is.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub enum Phase {
    /// Nobody has begun.
    #[default]
    Pending,
    /// A provisioner is at work.
    Binding,
    /// It is there and answers.
    Bound,
    /// It cannot be had as it is asked for.
    Failed,
}

/// What a provisioner says of a dependency.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceClaimStatus {
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
    /// Whether the outputs are complete.
    #[serde(default)]
    pub outputs_available: bool,
    /// What the Workload can refer to, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub outputs: BTreeMap<String, Output>,
    /// Changes whenever an output changes, also one that is secret. Random: it says nothing about the values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outputs_revision: Option<String>,
    /// The generation of the claim that this status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

/// One output: a value, or the place of a secret one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub enum Output {
    /// Something that everyone may see.
    Value(#[schemars(schema_with = "free::value")] Json),
    /// A secret, in a Secret of the same namespace.
    SecretKeyRef(SecretKeyRef),
}
