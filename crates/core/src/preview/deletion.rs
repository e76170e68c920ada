//! What a deletion would do: all its steps, one after the other.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::{Change, Preview, as_applied};
use crate::{Inputs, decision::DoomedKind, decision::Finalizer, plan};

/// What the deletion of a Workload would do, from the first step to the last.
///
/// Each step is the decision that would be taken when everything before it is gone. The status is that of the first.
pub fn of_deletion(inputs: &Inputs) -> Preview {
    let mut left = inputs.clone();
    left.workload.metadata.deletion_timestamp.get_or_insert(Time(inputs.now));
    let first = plan(&left);
    let status = first.basis.report(&as_applied(&first, &left.live()));
    // What is on its way already is waited for in its turn; here its turn is what counts.
    left.plan.iter_mut().for_each(|plan| plan.metadata.deletion_timestamp = None);
    left.exposure.iter_mut().for_each(|exposure| exposure.metadata.deletion_timestamp = None);
    left.claims.iter_mut().for_each(|claim| claim.metadata.deletion_timestamp = None);
    let mut changes = Vec::new();
    loop {
        let decision = plan(&left);
        if decision.finalizer == Finalizer::Remove || decision.delete.is_empty() {
            break;
        }
        for doomed in &decision.delete {
            let is_it = |name: Option<&String>| name == Some(&doomed.name);
            match doomed.kind {
                DoomedKind::WorkloadExposure => {
                    left.exposure = None;
                    changes.extend(inputs.exposure.as_ref().map(Change::of_withdrawal));
                }
                DoomedKind::WorkloadPlan => {
                    left.plan = None;
                    changes.extend(inputs.plan.as_ref().map(Change::of_stop));
                }
                DoomedKind::ResourceClaim => {
                    left.claims.retain(|claim| !is_it(claim.metadata.name.as_ref()));
                    let claim = inputs.claims.iter().find(|claim| is_it(claim.metadata.name.as_ref()));
                    changes.extend(claim.map(Change::of_release));
                }
            }
        }
    }
    changes.push(Change::of_end(&inputs.workload));
    let (namespace, name) = (inputs.namespace_name().to_owned(), inputs.workload_ref().name);
    Preview { namespace, name, changes, status, pending: Vec::new(), explanation: first.explanation }
}
