//! Labels on what the orchestrator makes.

/// The Workload that an object is made for.
pub const WORKLOAD: &str = "score.dev/workload";
/// The key of the resource that a claim is for.
pub const KEY: &str = "score.dev/key";
/// The instance behind claims; on everything that is made for it.
pub const INSTANCE: &str = "score.dev/instance";
/// The name of the Workload, as tools expect it.
pub const APP: &str = "app";
/// Who looks after an object.
pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// The value of [`MANAGED_BY`].
pub const ORCHESTRA: &str = "orchestra";
