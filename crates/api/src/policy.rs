//! `PlatformPolicy`: defaults, limits and allow lists for Workloads.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{claim::DeprovisionPolicy, crd::score, plan::Amounts};

/// Defaults, limits and allow lists for the Workloads that it selects. If several policies select a Workload, the
/// default with the highest priority, the smallest limits and the intersection of the lists apply.
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
    /// Priority of the defaults. If several policies set a default, the highest priority wins, then the first name.
    #[serde(default)]
    pub priority: i32,
    /// Label selector of namespaces. Absent selects all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace_selector: Option<LabelSelector>,
    /// Label selector of Workloads. Absent selects all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload_selector: Option<LabelSelector>,
    /// Mode of the policy: Enforce or Audit.
    #[serde(default)]
    pub mode: Mode,
    /// Defaults for fields that the Score file does not set.
    #[serde(default, skip_serializing_if = "Defaults::is_empty")]
    pub defaults: Defaults,
    /// Limits per Workload.
    #[serde(default, skip_serializing_if = "Limits::is_empty")]
    pub limits: Limits,
    /// Allow lists. An absent list allows everything.
    #[serde(default, skip_serializing_if = "Allow::is_empty")]
    pub allow: Allow,
}

/// Mode of a policy.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub enum Mode {
    /// A Workload that violates the policy is neither started nor changed.
    #[default]
    Enforce,
    /// Violations are only counted.
    Audit,
}

/// Defaults for fields that the Score file does not set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Defaults {
    /// Profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// Resource requests of each container.
    #[serde(default, skip_serializing_if = "Amounts::is_empty")]
    pub requests: Amounts,
    /// Resource limits of each container.
    #[serde(default, skip_serializing_if = "Amounts::is_empty")]
    pub limits: Amounts,
    /// Class of dependencies, by type.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 256))]
    pub classes: BTreeMap<String, String>,
    /// Policy for dependencies after their last claim is deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "DeprovisionPolicy")]
    pub deprovision: Option<DeprovisionPolicy>,
    /// Annotations of the Workload.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 256))]
    pub annotations: BTreeMap<String, String>,
}

impl Defaults {
    /// True if no default is set.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Limits per Workload.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Limits {
    /// Maximum number of containers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub containers: Option<u32>,
    /// Maximum CPU of all containers together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("pattern" = score::amount_pattern("cpu")))]
    pub cpu: Option<String>,
    /// Maximum memory of all containers together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("pattern" = score::amount_pattern("memory")))]
    pub memory: Option<String>,
    /// Maximum number of dependencies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claims: Option<u32>,
}

impl Limits {
    /// True if no limit is set.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Allow lists.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Allow {
    /// Image registries, with an optional path such as `registry.example.org/shop`. Paths match by whole segments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(inner(length(min = 1)))]
    pub registries: Option<Vec<String>>,
    /// Dependencies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<Vec<AllowedResource>>,
    /// Profiles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(inner(length(min = 1)))]
    pub profiles: Option<Vec<String>>,
}

impl Allow {
    /// True if everything is allowed.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Dependency that is allowed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AllowedResource {
    /// Type of the dependency.
    #[serde(rename = "type")]
    pub type_: String,
    /// Class of the dependency. Absent allows any class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// ID under which the dependency is shared; a trailing `*` matches any suffix. Absent allows any ID, or none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

/// Status of a policy.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlatformPolicyStatus {
    /// Condition `Accepted`: true if the policy is valid.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// Last accepted spec. It stays in force while the current one is invalid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_force: Option<Box<PlatformPolicySpec>>,
    /// Number of Workloads that the policy selects.
    #[serde(default)]
    pub matched: u32,
    /// Number of selected Workloads that violate the policy.
    #[serde(default)]
    pub violating: u32,
    /// Generation of the policy that this status describes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}
