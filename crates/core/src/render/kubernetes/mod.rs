//! A plan as objects of a Kubernetes cluster.

pub mod exposure;
mod names;
pub(crate) mod values;

use std::collections::BTreeSet;

use orchestra_api::{
    plan::{InventoryItem, WorkloadPlanSpec},
    reference::SecretKeyRef,
};
use serde_json::Value as Json;

pub use names::{REVISION, WORKLOAD_UID, is_immutable, service as service_name};

/// What is rendered: a plan, and where it belongs.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The namespace of the plan.
    pub namespace: &'a str,
    /// The name of the plan, which is that of the Workload.
    pub name: &'a str,
    /// The plan.
    pub plan: &'a WorkloadPlanSpec,
}

/// What a plan needs that cannot be rendered, each in a sentence with the field.
pub fn lacks(plan: &WorkloadPlanSpec) -> Vec<String> {
    let _ = plan;
    Vec::new()
}

/// The secret values that have to be known before a plan is rendered: those that are put together with other text.
pub fn composed(plan: &WorkloadPlanSpec) -> BTreeSet<SecretKeyRef> {
    let _ = plan;
    BTreeSet::new()
}

/// Everything that is made for a plan, as the inventory names it: `kind` is `Deployment.apps` or `Service`.
pub fn inventory(subject: &Subject<'_>) -> Vec<InventoryItem> {
    let _ = subject;
    Vec::new()
}

/// The objects, in the order in which they are applied. `secret` answers with the values of [`composed`].
pub fn render(subject: &Subject<'_>, secret: &dyn Fn(&SecretKeyRef) -> Vec<u8>) -> Vec<Json> {
    let _ = (subject, secret);
    Vec::new()
}
