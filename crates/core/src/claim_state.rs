//! Predicates on claims, shared by all decisions.

use std::collections::BTreeSet;

use orchestra_api::{
    ResourceClaim, WorkloadPlan, annotation,
    claim::{Phase, ResourceClaimSpec, ResourceClaimStatus},
    finalizer, name,
};

use crate::run;

/// Name of the Workload of a claim. The label of the same name is for people and tools: it can be removed, the reference cannot.
pub fn workload(claim: &ResourceClaim) -> &str {
    &claim.spec.workload_ref.name
}

/// Instance behind a claim, from its immutable spec. The label of the same value is for selectors: it can be removed.
pub fn instance(claim: &ResourceClaim) -> String {
    let ResourceClaimSpec { workload_ref, key, type_, class, id, .. } = &claim.spec;
    let namespace = claim.metadata.namespace.as_deref().unwrap_or_default();
    name::instance(namespace, type_, class, id.as_deref(), &workload_ref.name, key)
}

/// Field selector of the claims whose [`workload`] has this name.
pub fn of_workload(name: &str) -> String {
    format!("spec.workloadRef.name={name}")
}

/// True if the status is about the current spec. A deletion increments the generation without changing the spec. A status
/// without `observedGeneration` counts as current.
pub(crate) fn is_observed(claim: &ResourceClaim) -> bool {
    let observed = claim.status.as_ref().and_then(|status| status.observed_generation);
    let deletion = i64::from(is_deleting(claim));
    observed.is_none_or(|observed| {
        claim.metadata.generation.is_none_or(|generation| observed >= generation - deletion)
    })
}

/// True if the claim is bound with its current spec.
pub fn is_bound(claim: &ResourceClaim) -> bool {
    status(claim).is_some_and(|status| status.phase == Phase::Bound) && is_observed(claim)
}

/// True if the claim is bound with all of its outputs.
pub(crate) fn is_provided(claim: &ResourceClaim) -> bool {
    is_bound(claim) && status(claim).is_some_and(|status| status.outputs_available)
}

/// True if the claim was ever bound, even if it is changing or unreachable now.
pub(crate) fn was_bound(claim: &ResourceClaim) -> bool {
    status(claim).is_some_and(|status| {
        status.phase == Phase::Bound || status.outputs_revision.is_some() || !status.outputs.is_empty()
    })
}

/// True if the claim was deleted.
pub(crate) fn is_deleting(claim: &ResourceClaim) -> bool {
    claim.metadata.deletion_timestamp.is_some()
}

/// True if a deleted claim is kept because a running version uses it. It is released afterwards, and keeps its outputs until then.
pub(crate) fn is_kept(claim: &ResourceClaim, is_in_use: bool) -> bool {
    is_in_use && !is_releasing(claim)
}

/// True if a running version may use the claim: the plan of its Workload names it, or has not replaced one that did. Before
/// its first status, a plan with the finalizer of a built-in runtime may have run an earlier spec.
pub fn is_in_use(claim: &ResourceClaim, plan: &WorkloadPlan) -> bool {
    let may_run_older = if plan.status.is_none() { run::has_finalizer(plan) } else { !run::is_ready(plan) };
    plan.spec.workload_ref == claim.spec.workload_ref
        && (may_run_older
            || plan.spec.claims.iter().any(|used| Some(&used.name) == claim.metadata.name.as_ref()))
}

/// Names of the claims that are in use, given the plan of each Workload.
pub fn in_use(
    claims: &[ResourceClaim],
    plan_of: impl Fn(&ResourceClaim) -> Option<WorkloadPlan>,
) -> BTreeSet<String> {
    let used = claims.iter().filter(|claim| plan_of(claim).is_some_and(|plan| is_in_use(claim, &plan)));
    used.filter_map(|claim| claim.metadata.name.clone()).collect()
}

/// True if the claim has the finalizer of a built-in engine.
pub(crate) fn has_finalizer(claim: &ResourceClaim) -> bool {
    finalizer::is_on(&claim.metadata, finalizer::PROVISIONER)
}

/// True if only other controllers have finalizers on the claim. Two controllers must not contradict each other.
pub(crate) fn has_only_foreign_finalizers(claim: &ResourceClaim) -> bool {
    !has_finalizer(claim) && claim.metadata.finalizers.as_ref().is_some_and(|holders| !holders.is_empty())
}

/// Built-in engine whose finalizer the claim has.
pub(crate) fn engine(claim: &ResourceClaim) -> Option<&String> {
    claim.metadata.annotations.as_ref()?.get(annotation::ENGINE).filter(|_| has_finalizer(claim))
}

/// True if the release of the instance has started. It then completes, even if the instance is requested again.
pub(crate) fn is_releasing(claim: &ResourceClaim) -> bool {
    has_finalizer(claim)
        && claim.metadata.annotations.as_ref().is_some_and(|all| all.contains_key(annotation::RELEASING))
}

fn status(claim: &ResourceClaim) -> Option<&ResourceClaimStatus> {
    claim.status.as_ref()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value as Json, from_value, json};

    fn claim(generation: i64, deleted: bool, status: &Json) -> ResourceClaim {
        from_value(json!({
            "apiVersion": "score.dev/v1b1", "kind": "ResourceClaim",
            "metadata": {
                "name": "c", "generation": generation,
                "deletionTimestamp": deleted.then_some("2026-01-01T00:00:00Z"),
            },
            "spec": {
                "workloadRef": {"name": "web", "uid": "u"}, "key": "db", "type": "postgres", "class": "default",
                "placement": {"runtimeClass": "x", "backendId": "y"}, "deprovisionPolicy": "Delete",
            },
            "status": status,
        }))
        .unwrap()
    }

    #[test]
    fn a_claim_is_bound_if_its_status_is_about_the_current_spec() {
        for (generation, deleted, observed, expected) in [
            (2, false, json!(2), true),
            (2, false, json!(1), false),
            (2, true, json!(1), true),
            (3, true, json!(1), false),
            (2, false, json!(null), true),
        ] {
            let status = json!({"phase": "Bound", "outputsAvailable": true, "observedGeneration": observed});
            let claim = claim(generation, deleted, &status);
            let found = (is_bound(&claim), is_provided(&claim));
            assert_eq!(found, (expected, expected), "{generation} {deleted} {observed}");
        }
        let pending = claim(1, false, &json!({"phase": "Pending", "observedGeneration": 1}));
        assert!(is_observed(&pending) && !is_bound(&pending));
    }

    #[test]
    fn the_claims_of_a_workload_can_be_selected_by_its_name() {
        use kube::core::CustomResourceExt as _;
        let definition = serde_json::to_value(ResourceClaim::crd()).unwrap();
        let field = definition["spec"]["versions"][0]["selectableFields"][0]["jsonPath"].as_str().unwrap();
        let claim = serde_json::to_value(claim(1, false, &Json::Null)).unwrap();
        assert_eq!(claim.pointer(&field.replace('.', "/")), Some(&json!("web")));
        assert_eq!(of_workload("web"), format!("{}=web", field.trim_start_matches('.')));
    }

    #[test]
    fn a_claim_dropped_from_a_plan_without_status_is_in_use_while_the_plan_has_its_finalizer() {
        let claim = claim(1, true, &json!({"phase": "Bound", "observedGeneration": 1}));
        let spec = json!({
            "workloadRef": {"name": "web", "uid": "u"}, "observedWorkloadGeneration": 2, "runtimeClass": "x",
            "profile": "web-service", "backendId": "y", "kind": "Service", "containers": {}, "revision": "r2",
        });
        let mut plan = WorkloadPlan::new("web", from_value(spec).unwrap());
        assert!(!is_in_use(&claim, &plan), "nothing was started");
        plan.metadata.finalizers = Some(vec![finalizer::RUNTIME.to_owned()]);
        assert!(is_in_use(&claim, &plan), "an earlier spec may have been started");
        let claims = [claim];
        assert_eq!(in_use(&claims, |_| Some(plan.clone())), ["c".to_owned()].into());
        assert!(in_use(&claims, |_| None).is_empty());
    }
}
