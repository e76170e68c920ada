//! References between objects.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Reference to a Workload in the same namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct WorkloadRef {
    /// Name of the Workload.
    pub name: String,
    /// UID of the Workload. A later Workload with the same name is not meant.
    pub uid: String,
}

/// Placement of a Workload.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Placement {
    /// Name of the runtime class.
    pub runtime_class: String,
    /// ID of the backend in the orchestrator config.
    pub backend_id: String,
}

/// Reference to a key of a Secret in the same namespace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct SecretKeyRef {
    /// Name of the Secret.
    pub name: String,
    /// Key in the Secret.
    pub key: String,
}
