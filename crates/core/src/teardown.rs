//! How a Workload goes: its address first, then what runs, then what it depended on, in the reverse order of need.
//!
//! All of it follows from what is recorded in the API, nothing from the document or the platform's configuration: a
//! Workload that could not be made can still be deleted. Each pass deletes what can go now; while something is
//! awaited, the status says what, and who holds it.

use std::collections::BTreeSet;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use orchestra_api::{
    ConditionType, ResourceClaim,
    condition::{Finding, Reason},
    finalizer,
};

use crate::{
    claims,
    decision::{Decision, Doomed, DoomedKind, Finalizer},
    explain::Explanation,
    inputs::Inputs,
    status::{Basis, Line, Runtime},
};

/// Decides the next step of a deletion.
pub(crate) fn tear_down(inputs: &Inputs) -> Decision {
    let live = inputs.live();
    let mut delete = Vec::new();
    let mut runtime = Finding::bad(Reason::RuntimeProvisioning, "Stopped; the workload is being deleted.");
    let mut claims = None;
    let mut done = false;
    if let Some(exposure) = live.exposure.ours() {
        doom(DoomedKind::WorkloadExposure, &exposure.metadata, &mut delete);
        runtime.message = awaiting("its address to be withdrawn", &exposure.metadata);
    } else if let Some(plan) = live.plan.ours() {
        doom(DoomedKind::WorkloadPlan, &plan.metadata, &mut delete);
        let what = format!("the runtime `{}` to stop it", plan.spec.runtime_class);
        runtime.message = awaiting(&what, &plan.metadata);
    } else if live.claims.is_empty() {
        done = true;
    } else {
        let next = claims::removable(&live, |_| false, |_| false);
        // Claims that need each other in a circle cannot have been made; if they were, all go at once.
        let next: Vec<&ResourceClaim> =
            if next.is_empty() { live.claims.values().copied().collect() } else { next };
        for claim in &next {
            doom(DoomedKind::ResourceClaim, &claim.metadata, &mut delete);
        }
        claims = next.first().map(|claim| {
            // What was said before its release began is old news.
            let status = claim.status.as_ref().filter(|_| claim.metadata.deletion_timestamp.is_some());
            let status = status.filter(|status| status.reason == Some(Reason::BindingPending));
            let said = status.and_then(|status| status.message.clone()).unwrap_or_default();
            let what = format!("resource `{}` to be released", claim.spec.key);
            Finding::bad(
                Reason::BindingPending,
                format!("{} {said}", awaiting(&what, &claim.metadata)).trim_end(),
            )
        });
    }
    let held = inputs.workload.metadata.finalizers.iter().flatten().any(|held| held == finalizer::WORKLOAD);
    let lines = live.claims.iter().map(|(name, claim)| Line {
        key: claim.spec.key.clone(),
        claim: (*name).to_owned(),
        blocked: None,
        wanted: true,
    });
    let mut previous = inputs.workload.status.clone().unwrap_or_default();
    if live.exposure.ours().is_none() {
        // Whoever published the address has withdrawn it.
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
        finalizer: if done && held { Finalizer::Remove } else { Finalizer::Unchanged },
        claims: Vec::new(),
        plan: None,
        exposure: None,
        delete,
        basis: Basis {
            generation: inputs.generation(),
            previous,
            now: inputs.now,
            inputs: inputs_valid,
            claims: unique_keys(lines.collect()),
            awaited: Some(claims.as_ref().unwrap_or(&runtime).clone()),
            claims_overall: claims,
            runtime: Runtime::Blocked(runtime),
            kept: BTreeSet::new(),
            live_claims: inputs.live_claims(),
            live_exposure: live.exposure.ours().cloned(),
        },
        explanation,
    }
}

/// Of two claims for one key, the status has room for one.
pub(crate) fn unique_keys(mut lines: Vec<Line>) -> Vec<Line> {
    lines.sort_by(|a, b| (&a.key, !a.wanted, &a.claim).cmp(&(&b.key, !b.wanted, &b.claim)));
    lines.dedup_by(|later, earlier| later.key == earlier.key);
    lines
}

/// Asks for an object to be deleted, unless that has been done.
pub(crate) fn doom(kind: DoomedKind, metadata: &ObjectMeta, delete: &mut Vec<Doomed>) {
    if metadata.deletion_timestamp.is_none() {
        delete.push(Doomed {
            kind,
            name: metadata.name.clone().unwrap_or_default(),
            uid: metadata.uid.clone().unwrap_or_default(),
        });
    }
}

fn awaiting(what: &str, metadata: &ObjectMeta) -> String {
    let holders: Vec<_> = metadata.finalizers.iter().flatten().map(|holder| format!("`{holder}`")).collect();
    if holders.is_empty() {
        return format!("Being deleted: waiting for {what}.");
    }
    format!(
        "Being deleted: waiting for {what}, which {} has to confirm; if that takes long, ask the platform team whether it is at work.",
        holders.join(" and ")
    )
}
