//! Preview of a deletion, with all its steps.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::{Preview, PreviewChange, as_applied};
use crate::{
    Inputs,
    decision::{DeletionKind, Finalizer},
    plan,
};

/// Preview of the deletion of a Workload, from the first step to the last.
///
/// Each step is the decision after everything before it is gone. The status is that of the first step.
pub fn of_deletion(inputs: &Inputs) -> Preview {
    let mut remaining = inputs.clone();
    remaining.workload.metadata.deletion_timestamp.get_or_insert(Time(inputs.now));
    let first = plan(&remaining);
    let status = first.status_inputs.report(&as_applied(&first, &remaining.owned()));
    // Deletions in progress are shown in their place of the order.
    remaining.plan.iter_mut().for_each(|plan| plan.metadata.deletion_timestamp = None);
    remaining.exposure.iter_mut().for_each(|exposure| exposure.metadata.deletion_timestamp = None);
    remaining.claims.iter_mut().for_each(|claim| claim.metadata.deletion_timestamp = None);
    let mut changes = Vec::new();
    loop {
        let decision = plan(&remaining);
        if decision.finalizer == Finalizer::Remove || decision.delete.is_empty() {
            break;
        }
        for deletion in &decision.delete {
            let is_it = |name: Option<&String>| name == Some(&deletion.name);
            match deletion.kind {
                DeletionKind::WorkloadExposure => {
                    remaining.exposure = None;
                    changes.extend(inputs.exposure.as_ref().map(PreviewChange::of_withdrawal));
                }
                DeletionKind::WorkloadPlan => {
                    remaining.plan = None;
                    changes.extend(inputs.plan.as_ref().map(PreviewChange::of_stop));
                }
                DeletionKind::ResourceClaim => {
                    remaining.claims.retain(|claim| !is_it(claim.metadata.name.as_ref()));
                    let claim = inputs.claims.iter().find(|claim| is_it(claim.metadata.name.as_ref()));
                    changes.extend(claim.map(PreviewChange::of_release));
                }
            }
        }
    }
    changes.push(PreviewChange::of_workload_deletion(&inputs.workload));
    let (namespace, name) = (inputs.namespace_name().to_owned(), inputs.workload_ref().name);
    Preview {
        namespace,
        name,
        changes,
        status,
        pending: Vec::new(),
        deferred: Vec::new(),
        explanation: first.explanation,
    }
}
