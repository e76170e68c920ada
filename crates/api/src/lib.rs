//! API types of Score Orchestrator.
//!
//! These objects are the whole contract between users, the orchestrator, provisioners and runtimes, which can be written
//! in any language. `kubectl explain` prints the doc comments of fields.
//!
//! | kind | writer of the spec | writer of the status |
//! |---|---|---|
//! | [`Workload`] | users | the workload controller |
//! | [`PlatformPolicy`] | platform engineers | the policy controller |
//! | [`ResourceClaim`] | the workload controller | the provisioner |
//! | [`WorkloadPlan`] | the workload controller | the runtime |
//! | [`WorkloadExposure`] | the workload controller | the runtime |
//!
//! The orchestrator config, [`config::OrchestratorConfig`], is not an API kind: it is a YAML document in a config map.

pub mod annotation;
pub mod claim;
pub mod condition;
pub mod config;
pub mod crd;
pub mod exposure;
pub mod finalizer;
pub mod free;
pub mod label;
pub mod name;
pub mod plan;
pub mod policy;
pub mod reference;
pub mod workload;

pub use claim::ResourceClaim;
pub use condition::{Condition, ConditionStatus, ConditionType, Reason};
pub use exposure::WorkloadExposure;
pub use plan::WorkloadPlan;
pub use policy::PlatformPolicy;
pub use reference::{Placement, WorkloadRef};
pub use workload::Workload;

/// API group.
pub const GROUP: &str = "score.dev";
/// API version within the group.
pub const VERSION: &str = "v1b1";
/// `apiVersion` of objects.
pub const API_VERSION: &str = "score.dev/v1b1";
/// Namespace of the orchestrator.
pub const SYSTEM_NAMESPACE: &str = "score-system";
/// Namespace of the service accounts of users, on the embedded platform.
pub const USERS_NAMESPACE: &str = "score-users";
