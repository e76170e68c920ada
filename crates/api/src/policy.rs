//! `PlatformPolicy`: what the platform prescribes and forbids.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{claim::DeprovisionPolicy, crd::score, plan::Amounts};

/// What the platform prescribes and forbids to the Workloads that it selects. Any number of policies may select the
/// same Workload: of defaults the highest priority counts, of limits the smallest, of lists what all of them allow.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(group = "score.dev", version = "v1b1", kind = "PlatformPolicy")]
#[kube(status = "PlatformPolicyStatus", shortname = "spolicy", category = "score-platform")]
#[kube(printcolumn = r#"{"name":"MODE","type":"string","jsonPath":".spec.mode"}"#)]
#[kube(printcolumn = r#"{"name":"PRIORITY","type":"integer","jsonPath":".spec.priority"}"#)]
#[kube(
    printcolumn = r#"{"name":"ACCEPTED","type":"string","jsonPath":".status.conditions[?(@.type==\"Accepted\")].status"}"#
)]
#[kube(printcolumn = r#"{"name":"MATCHED","type":"integer","jsonPath":".status.matched"}"#)]
#[kube(printcolumn = r#"{"name":"VIOLATING","type":"integer","jsonPath":".status.violating"}"#)]
#[kube(printcolumn = r#"{"name":"AGE","type":"date","jsonPath":".metadata.creationTimestamp"}"#)]
#[kube(derive = "PartialEq")]
#[serde(rename_all = "camelCase")]
pub struct PlatformPolicySpec {
    /// Where several policies give the same default, the highest counts; then the first by name.
    #[serde(default)]
    pub priority: i32,
    /// The namespaces it is about, by their labels; all if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace_selector: Option<LabelSelector>,
    /// The Workloads it is about, by their labels; all if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload_selector: Option<LabelSelector>,
    /// Whether a violation blocks, or is only counted.
    #[serde(default)]
    pub mode: Mode,
    /// What is filled in where the author says nothing.
    #[serde(default, skip_serializing_if = "Defaults::is_empty")]
    pub defaults: Defaults,
    /// What must not be exceeded.
    #[serde(default, skip_serializing_if = "Limits::is_empty")]
    pub limits: Limits,
    /// What may be used; a list that is absent allows everything.
    #[serde(default, skip_serializing_if = "Allow::is_empty")]
    pub allow: Allow,
}

/// Whether a violation blocks.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub enum Mode {
    /// The Workload is not run, or not changed, until it is mended.
    #[default]
    Enforce,
    /// It is only counted.
    Audit,
}

/// What is filled in where the author says nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Defaults {
    /// The profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// The least each container needs.
    #[serde(default, skip_serializing_if = "Amounts::is_empty")]
    pub requests: Amounts,
    /// The most each container may use.
    #[serde(default, skip_serializing_if = "Amounts::is_empty")]
    pub limits: Amounts,
    /// The class of resources, by their type.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 256))]
    pub classes: BTreeMap<String, String>,
    /// What becomes of dependencies that nobody wants any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "DeprovisionPolicy")]
    pub deprovision: Option<DeprovisionPolicy>,
    /// Annotations of the Workload.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 256))]
    pub annotations: BTreeMap<String, String>,
}

impl Defaults {
    /// Whether nothing is filled in.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// What must not be exceeded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Limits {
    /// Containers of one Workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub containers: Option<u32>,
    /// Processor time of all containers of one Workload together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("pattern" = score::amount_pattern("cpu")))]
    pub cpu: Option<String>,
    /// Memory of all containers of one Workload together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("pattern" = score::amount_pattern("memory")))]
    pub memory: Option<String>,
    /// Dependencies of one Workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claims: Option<u32>,
}

impl Limits {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// What may be used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Allow {
    /// Where images may come from, such as `registry.example.org/shop`; whole parts of the path count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(inner(length(min = 1)))]
    pub registries: Option<Vec<String>>,
    /// The resources that may be asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<Vec<AllowedResource>>,
    /// The profiles that may be used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(inner(length(min = 1)))]
    pub profiles: Option<Vec<String>>,
}

impl Allow {
    /// Whether everything may be used.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A resource that may be asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AllowedResource {
    /// Its type.
    #[serde(rename = "type")]
    pub type_: String,
    /// Its class; any if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// The id under which it is shared; any or none if absent. A `*` at the end stands for any rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

/// What came of a policy.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlatformPolicyStatus {
    /// `Accepted`: whether the policy can be applied as it is written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// The policy as it was last accepted. It stays in force while the spec has faults.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_force: Option<Box<PlatformPolicySpec>>,
    /// How many Workloads it selects.
    #[serde(default)]
    pub matched: u32,
    /// How many of them violate it.
    #[serde(default)]
    pub violating: u32,
    /// The generation of the policy that this status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}
