//! Finalizers: who has to be done before an object can go.

/// On a Workload: everything that was made for it has to go first.
pub const WORKLOAD: &str = "score.dev/workload";
/// On a claim that one of our provisioners looks after.
pub const PROVISIONER: &str = "score.dev/provisioner";
/// On a plan that one of our runtimes runs.
pub const RUNTIME: &str = "score.dev/runtime";
