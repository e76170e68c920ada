//! `OrchestratorConfig`: profiles, backends and provisioner entries.
//!
//! One YAML document in the config map `orchestrator-config` of the namespace `score-system`. `orchestra-core` validates
//! its content.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use crate::{claim::Output, plan::Kind};

/// Name of the config map.
pub const CONFIG_MAP: &str = "orchestrator-config";
/// Name of the config map with the config in force: the last valid one.
pub const IN_FORCE_MAP: &str = "orchestrator-config-in-force";
/// Key of the document in both config maps.
pub const CONFIG_KEY: &str = "config.yaml";

/// Orchestrator config.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OrchestratorConfig {
    /// `score.dev/v1b1`.
    pub api_version: String,
    /// `OrchestratorConfig`.
    pub kind: String,
    /// Metadata.
    #[serde(default)]
    pub metadata: ConfigMetadata,
    /// Spec.
    #[serde(default)]
    pub spec: ConfigSpec,
}

/// Metadata of the config.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConfigMetadata {
    /// Name.
    #[serde(default)]
    pub name: String,
    /// Version, for information only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// Spec of the config.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConfigSpec {
    /// Profiles and their backends.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub profiles: Vec<Profile>,
    /// Provisioner entries; the most specific match wins.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub provisioners: Vec<Provisioner>,
    /// Defaults.
    #[serde(default)]
    pub defaults: ConfigDefaults,
}

/// Kind of Workload in the developer's terms.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Name.
    pub name: String,
    /// Description for developers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Service or job.
    #[serde(default)]
    pub kind: ProfileKind,
    /// Backends that can run it.
    #[serde(default)]
    pub backends: Vec<Backend>,
}

/// Kind of the Workloads of a profile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProfileKind {
    /// Runs until it is deleted.
    #[default]
    Service,
    /// Runs to completion.
    Job,
}

impl From<ProfileKind> for Kind {
    fn from(kind: ProfileKind) -> Self {
        match kind {
            ProfileKind::Service => Self::Service,
            ProfileKind::Job => Self::Job,
        }
    }
}

/// Backend that runs Workloads.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Backend {
    /// ID. The same backend may serve several profiles.
    pub backend_id: String,
    /// Runtime class.
    pub runtime_class: String,
    /// Of several candidates, the highest priority wins.
    #[serde(default)]
    pub priority: i64,
    /// Version; of equal priorities, the newest wins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Constraints on its Workloads.
    #[serde(default)]
    pub constraints: Constraints,
    /// Settings of the runtime.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub values: Map<String, Json>,
}

/// Capabilities of a backend, and constraints on its Workloads.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Constraints {
    /// Label selectors, one of which must match the Workload. Empty matches all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub selectors: Vec<LabelSelector>,
    /// Features that it offers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub features: Vec<String>,
    /// Regions that it is in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub regions: Vec<String>,
    /// Accepted sizes, of all containers together: `2`, `0-8`, `1-` or `-8`.
    #[serde(default)]
    pub resources: ResourceRanges,
}

/// Accepted sizes of a backend.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResourceRanges {
    /// CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<String>,
    /// Memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<String>,
}

/// Provisioner entry.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Provisioner {
    /// Type that it provides.
    #[serde(rename = "type")]
    pub type_: String,
    /// Class that it provides; any if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// ID of the shared resource that it provides; any or none if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Parameters that a claim must have, with these values.
    #[serde(default, rename = "match", skip_serializing_if = "Map::is_empty")]
    pub matching: Map<String, Json>,
    /// Runtime classes of the Workloads that it serves; all if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runtime_classes: Vec<String>,
    /// Engine that provisions it.
    pub engine: String,
    /// Settings of the engine, and defaults of parameters.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub params: Map<String, Json>,
    /// Outputs of the engine `static`, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub outputs: BTreeMap<String, Output>,
    /// True if its data does not move with the Workload; derived from type and engine if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stateful: Option<bool>,
    /// Handling of unknown parameters.
    #[serde(default)]
    pub unknown_params: UnknownParams,
}

/// Handling of parameters that a provisioner does not know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum UnknownParams {
    /// The claim fails and names them.
    Refuse,
    /// They are ignored, with a warning on the claim.
    #[default]
    Warn,
}

/// Defaults of the config.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConfigDefaults {
    /// Profile of Workloads that no selector matches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// Profiles by labels of the Workload; the first match wins.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub selectors: Vec<ProfileSelector>,
}

/// Profile of Workloads with certain labels.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProfileSelector {
    /// Label selector.
    #[serde(flatten)]
    pub selector: LabelSelector,
    /// Name of the profile.
    pub profile: String,
}
