//! The platform's document: where Workloads can run, and who provides what they depend on.
//!
//! One YAML text in the config map `orchestrator-config` of the namespace `score-system`. Whether it makes sense is
//! checked by `orchestra-core`; here is its shape.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use crate::{claim::Output, plan::Kind};

/// The name of the config map.
pub const CONFIG_MAP: &str = "orchestrator-config";
/// The name of the config map beside it that keeps the document that is in force: the last one without faults.
pub const IN_FORCE_MAP: &str = "orchestrator-config-in-force";
/// The key of the document in both.
pub const CONFIG_KEY: &str = "config.yaml";

/// The platform's document.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OrchestratorConfig {
    /// `score.dev/v1b1`.
    pub api_version: String,
    /// `OrchestratorConfig`.
    pub kind: String,
    /// Its name.
    #[serde(default)]
    pub metadata: ConfigMetadata,
    /// What it says.
    #[serde(default)]
    pub spec: ConfigSpec,
}

/// What a document is called.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConfigMetadata {
    /// Its name.
    #[serde(default)]
    pub name: String,
    /// Its version, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// What the document says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConfigSpec {
    /// What a Workload is, in the developer's words, and where each can run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub profiles: Vec<Profile>,
    /// Who provides what Workloads depend on; the most specific match wins.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub provisioners: Vec<Provisioner>,
    /// What holds where nothing else is said.
    #[serde(default)]
    pub defaults: ConfigDefaults,
}

/// What a Workload is, in the developer's words.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Its name.
    pub name: String,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether its Workloads run on, or to an end.
    #[serde(default)]
    pub kind: ProfileKind,
    /// Where it can run.
    #[serde(default)]
    pub backends: Vec<Backend>,
}

/// Whether the Workloads of a profile run on, or to an end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProfileKind {
    /// They run on.
    #[default]
    Service,
    /// They run to an end.
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

/// A place where Workloads can run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Backend {
    /// Its name. One name is one place, which may serve several profiles.
    pub backend_id: String,
    /// The kind of runtime.
    pub runtime_class: String,
    /// Of several that fit, the highest is taken.
    #[serde(default)]
    pub priority: i64,
    /// Its version; of equal priorities, the newest is taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// What it offers, and whom it takes.
    #[serde(default)]
    pub constraints: Constraints,
    /// Settings, in the words of its runtime.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub values: Map<String, Json>,
}

/// What a backend offers, and whom it takes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Constraints {
    /// Workloads it takes, by their labels: one of these must match; all if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub selectors: Vec<LabelSelector>,
    /// Features it offers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub features: Vec<String>,
    /// Regions it is in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub regions: Vec<String>,
    /// The sizes it takes: `2`, `0-8`, `1-` or `-8`, of all containers together.
    #[serde(default)]
    pub resources: ResourceRanges,
}

/// The sizes that a backend takes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResourceRanges {
    /// Processor time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<String>,
    /// Memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<String>,
}

/// Who provides a type of resource.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Provisioner {
    /// The type it provides.
    #[serde(rename = "type")]
    pub type_: String,
    /// The class it provides; any if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// The shared id it provides; any or none if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Parameters that a claim must have with these values to be provided by it.
    #[serde(default, rename = "match", skip_serializing_if = "Map::is_empty")]
    pub matching: Map<String, Json>,
    /// The runtimes for whose Workloads it provides; all if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runtime_classes: Vec<String>,
    /// How it is provided.
    pub engine: String,
    /// Settings of the engine, and defaults of parameters.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub params: Map<String, Json>,
    /// With the engine `static`: what is there, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub outputs: BTreeMap<String, Output>,
    /// Whether it keeps data that does not move with the Workload; told by type and engine if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stateful: Option<bool>,
    /// What becomes of parameters that it does not know.
    #[serde(default)]
    pub unknown_params: UnknownParams,
}

/// What becomes of parameters that a provisioner does not know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum UnknownParams {
    /// The claim fails, naming them.
    Refuse,
    /// They are ignored, and the claim says so.
    #[default]
    Warn,
}

/// What holds where nothing else is said.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConfigDefaults {
    /// The profile of Workloads that no selector matches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// Profiles by labels of the Workload; the first that matches counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub selectors: Vec<ProfileSelector>,
}

/// The profile of Workloads with certain labels.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProfileSelector {
    /// The labels.
    #[serde(flatten)]
    pub selector: LabelSelector,
    /// The profile.
    pub profile: String,
}
