//! Finalizers.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// On a Workload: its plan and claims are deleted first.
pub const WORKLOAD: &str = "score.dev/workload";
/// On a claim of a built-in engine.
pub const PROVISIONER: &str = "score.dev/provisioner";
/// On a plan of a built-in runtime.
pub const RUNTIME: &str = "score.dev/runtime";

/// True if an object has a finalizer.
pub fn is_on(metadata: &ObjectMeta, finalizer: &str) -> bool {
    metadata.finalizers.iter().flatten().any(|found| found == finalizer)
}
