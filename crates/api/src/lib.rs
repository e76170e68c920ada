//! The kinds of Score Orchestrator, as types.
//!
//! These objects are the whole contract between users, the orchestrator, provisioners and runtimes: whoever can read
//! and write them can take part, in any language. The texts on the fields are what `kubectl explain` prints.
//!
//! | kind | who writes the spec | who writes the status |
//! |---|---|---|
//! | [`Workload`] | users | the workload controller |
//! | [`PlatformPolicy`] | platform engineers | the policy controller |
//! | [`ResourceClaim`] | the workload controller | the provisioner |
//! | [`WorkloadPlan`] | the workload controller | the runtime |
//! | [`WorkloadExposure`] | the workload controller | the runtime |
//!
//! The platform's own document, [`config::OrchestratorConfig`], is no kind of the API: it is one text in a config map.

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

/// The group of all kinds here.
pub const GROUP: &str = "score.dev";
/// The version of all kinds here.
pub const VERSION: &str = "v1b1";
/// Both, as objects write it.
pub const API_VERSION: &str = "score.dev/v1b1";
/// The namespace of the platform's own objects.
pub const SYSTEM_NAMESPACE: &str = "score-system";
