//! Deletion of a Workload: its exposure first, then its plan, then its claims in reverse order of dependencies.
//!
//! It depends only on objects in the API, not on the document or the orchestrator config, so an invalid Workload can be
//! deleted. Each pass deletes what is possible now; the status shows what it waits for, with the finalizers.

use std::collections::BTreeSet;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use orchestra_api::{
    ConditionType, ResourceClaim,
    condition::{Finding, Reason},
    finalizer,
};

use crate::{
    claim_state::is_deleting,
    claims,
    decision::{Decision, Deletion, DeletionKind, Finalizer},
    explain::Explanation,
    inputs::Inputs,
    status::{ClaimRow, DeferralInputs, Runtime, StatusInputs},
};

/// Decides the next step of a deletion.
pub(crate) fn tear_down(inputs: &Inputs) -> Decision {
    let live = inputs.owned();
    let mut delete = Vec::new();
    let mut runtime = Finding::bad(Reason::RuntimeProvisioning, "Stopped; the workload is being deleted.");
    let mut claims = None;
    let mut done = false;
    if let Some(exposure) = live.exposure.ours() {
        mark_for_deletion(DeletionKind::WorkloadExposure, &exposure.metadata, &mut delete);
        runtime.message = awaiting("its address to be withdrawn", &exposure.metadata);
    } else if let Some(plan) = live.plan.ours() {
        mark_for_deletion(DeletionKind::WorkloadPlan, &plan.metadata, &mut delete);
        let what = format!("the runtime `{}` to stop it", plan.spec.runtime_class);
        runtime.message = awaiting(&what, &plan.metadata);
    } else if live.claims.is_empty() {
        done = true;
    } else {
        let next = claims::removable(&live, |_| false, |_| false);
        // A dependency cycle of claims should not exist; if it does, all are deleted at once.
        let next: Vec<&ResourceClaim> =
            if next.is_empty() { live.claims.values().copied().collect() } else { next };
        for claim in &next {
            mark_for_deletion(DeletionKind::ResourceClaim, &claim.metadata, &mut delete);
        }
        claims = next.first().map(|claim| {
            // A message from before the release is outdated.
            let status = claim.status.as_ref().filter(|_| is_deleting(claim));
            let status = status.filter(|status| status.reason == Some(Reason::BindingPending));
            let detail = status.and_then(|status| status.message.clone()).unwrap_or_default();
            let what = format!("resource `{}` to be released", claim.spec.key);
            Finding::bad(
                Reason::BindingPending,
                format!("{} {detail}", awaiting(&what, &claim.metadata)).trim_end(),
            )
        });
    }
    let has_finalizer = finalizer::is_on(&inputs.workload.metadata, finalizer::WORKLOAD);
    let rows = live.claims.iter().map(|(name, claim)| ClaimRow {
        key: claim.spec.key.clone(),
        claim: (*name).to_owned(),
        blocked: None,
        wanted: true,
    });
    let mut previous = inputs.workload.status.clone().unwrap_or_default();
    if live.exposure.ours().is_none() {
        // The address has been withdrawn.
        previous.endpoint = None;
    }
    let known = previous.conditions.iter().find(|condition| condition.type_ == ConditionType::InputsValid);
    let inputs_valid = known.map_or_else(
        || Finding::good("The workload is being deleted."),
        |known| Finding { status: known.status, reason: known.reason, message: known.message.clone() },
    );
    let mut explanation = Explanation::default();
    explanation.notes.extend(claims.iter().map(|finding| finding.message.clone()));
    explanation.notes.push(runtime.message.clone());
    Decision {
        finalizer: if done && has_finalizer { Finalizer::Remove } else { Finalizer::Unchanged },
        claims: Vec::new(),
        plan: None,
        exposure: None,
        delete,
        status_inputs: StatusInputs {
            generation: inputs.generation(),
            previous,
            now: inputs.now,
            inputs: inputs_valid,
            claims: unique_keys(rows.collect()),
            awaited: Some(claims.as_ref().unwrap_or(&runtime).clone()),
            claims_overall: claims,
            runtime: Runtime::Blocked(runtime),
            kept: BTreeSet::new(),
            live_claims: inputs.live_claims(),
            live_exposure: live.exposure.ours().cloned(),
            deferral: DeferralInputs::of(inputs),
        },
        deferred: Vec::new(),
        explanation,
    }
}

/// Rows without duplicate keys: the status has one row for each.
pub(crate) fn unique_keys(mut rows: Vec<ClaimRow>) -> Vec<ClaimRow> {
    rows.sort_by(|a, b| (&a.key, !a.wanted, &a.claim).cmp(&(&b.key, !b.wanted, &b.claim)));
    rows.dedup_by(|later, earlier| later.key == earlier.key);
    rows
}

/// Adds the deletion of an object, unless it is already being deleted.
pub(crate) fn mark_for_deletion(kind: DeletionKind, metadata: &ObjectMeta, delete: &mut Vec<Deletion>) {
    if metadata.deletion_timestamp.is_none() {
        delete.push(Deletion {
            kind,
            name: metadata.name.clone().unwrap_or_default(),
            uid: metadata.uid.clone().unwrap_or_default(),
        });
    }
}

fn awaiting(what: &str, metadata: &ObjectMeta) -> String {
    let finalizers: Vec<_> = metadata.finalizers.iter().flatten().map(|name| format!("`{name}`")).collect();
    if finalizers.is_empty() {
        return format!("Being deleted: waiting for {what}.");
    }
    format!(
        "Being deleted: waiting for {what} (finalizer {}); if it does not end, check that its controller is running.",
        finalizers.join(" and ")
    )
}
