//! How objects name each other.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A Workload of the same namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct WorkloadRef {
    /// Its name.
    pub name: String,
    /// Its uid: another Workload that later bears the same name is not meant.
    pub uid: String,
}

/// Where something runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Placement {
    /// The kind of runtime.
    pub runtime_class: String,
    /// Which one of that kind, as the platform's document calls it.
    pub backend_id: String,
}

/// One key of a Secret of the same namespace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct SecretKeyRef {
    /// The name of the Secret.
    pub name: String,
    /// The key in it.
    pub key: String,
}
