//! Properties of decisions: executing one has the effect it describes, executing it twice changes nothing, and the order of
//! inputs does not matter.

use orchestra_api::{ResourceClaim, WorkloadExposure, WorkloadPlan};
use orchestra_core::{
    Decision, Inputs,
    decision::{DeletionKind, Write},
    lint::lint,
    plan,
};
use proptest::prelude::*;

use crate::decisions::{
    conditions::check_messages,
    fixture::{CONFIG, Denials, Fixture},
    random::{self, History},
};

/// Inputs in another order.
fn reordered(inputs: &Inputs) -> Inputs {
    let mut inputs = inputs.clone();
    inputs.claims.reverse();
    inputs.policies.reverse();
    inputs.config = random::reordered(&inputs.config);
    inputs
}

/// Debug text of a decision.
fn debug_text(decision: &Decision) -> String {
    format!("{decision:#?}")
}

/// Checks that nothing is lost if the controller dies between two writes: the finalizer is there before anything is made, and
/// goes after everything.
fn check_order(decision: &Decision) {
    let rank = |write: Write<'_>| match write {
        Write::AddFinalizer => 0,
        Write::Claim(_) => 1,
        Write::Plan(_) | Write::Exposure(_) => 2,
        Write::Delete(_) => 3,
        Write::EnsureNoLeftovers => 4,
        Write::RemoveFinalizer => 5,
    };
    assert!(decision.writes().map(rank).is_sorted(), "{:#?}", decision.writes().collect::<Vec<_>>());
}

/// Checks one decision against the state after its execution.
fn check_executed(before: &Fixture, decision: &Decision, after: &Fixture) {
    let Decision { claims, plan, exposure, delete, .. } = decision;
    if before.denials == Denials::default() && after.workload.is_some() {
        for claim in claims {
            let held: &ResourceClaim = &after.claims[claim.metadata.name.as_ref().unwrap()];
            assert_eq!((&held.spec, &held.metadata.labels), (&claim.spec, &claim.metadata.labels));
        }
        let held = |plan: &WorkloadPlan| plan.spec.clone();
        if let Some(wanted) = plan {
            assert_eq!(after.plan.as_ref().map(held), Some(wanted.spec.clone()));
        } else if !delete.iter().any(|deletion| deletion.kind == DeletionKind::WorkloadPlan) {
            assert_eq!(after.plan.as_ref().map(held), before.plan.as_ref().map(held));
        }
        let held = |exposure: &WorkloadExposure| exposure.spec.clone();
        if let Some(wanted) = exposure {
            assert_eq!(after.exposure.as_ref().map(held), Some(wanted.spec.clone()));
        }
    }
    for (name, claim) in &before.claims {
        let said = delete.iter().any(|deletion| deletion.name == *name);
        let is_going = |claim: Option<&ResourceClaim>| {
            claim.is_none_or(|claim| claim.metadata.deletion_timestamp.is_some())
        };
        assert_eq!(
            is_going(after.claims.get(name)),
            said || is_going(Some(claim)),
            "{name} was not said to go"
        );
    }
}

fn check_history(history: &History) {
    let mut fixture = Fixture::new(CONFIG);
    for happening in history.steps() {
        happening.take(&mut fixture);
        for pass in 0.. {
            assert!(pass < 40, "no end: {fixture:#?}");
            let changed = check_pass(&mut fixture);
            if !(changed | fixture.provide() | fixture.run()) {
                break;
            }
        }
        let Some(inputs) = fixture.inputs() else { continue };
        let decision = plan(&inputs);
        let denied = fixture.denials != Denials::default();
        assert!(denied || decision.is_settled(), "at rest, and yet: {decision:#?}");
        if let Some(plan) = &fixture.plan {
            assert_eq!(lint(&plan.spec), Vec::<String>::new());
        }
    }
}

/// One checked pass of the workload controller. Returns whether it changed anything.
fn check_pass(fixture: &mut Fixture) -> bool {
    let Some(inputs) = fixture.inputs() else { return false };
    let decision = plan(&inputs);
    assert_eq!(debug_text(&decision), debug_text(&plan(&reordered(&inputs))), "the order of inputs matters");
    check_order(&decision);
    let before = fixture.clone();
    let changed = fixture.reconcile();
    check_executed(&before, &decision, fixture);
    check_messages(&fixture.status());
    // Repeated, it decides the same and writes nothing.
    let once = fixture.clone();
    if let Some(inputs) = fixture.inputs() {
        let again = plan(&inputs);
        if fixture.denials == Denials::default() {
            let writes = (again.claims.len(), again.plan.is_some(), again.exposure.is_some());
            assert_eq!(writes, (0, false, false), "it writes again: {again:#?}");
        }
        fixture.reconcile();
        if again.is_settled() && decision.delete.is_empty() {
            assert_eq!(once.status(), fixture.status(), "the status changes without a cause");
        }
    }
    changed
}

/// Number of random histories: few by default, as each takes many passes; `PROPTEST_CASES` asks for more.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(60)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

    #[test]
    fn decisions_have_the_effect_they_describe_and_settle(history in random::history()) {
        check_history(&history);
    }

    #[test]
    fn everything_of_a_deleted_workload_is_deleted(history in random::history()) {
        let mut fixture = Fixture::new(CONFIG);
        for happening in history.steps() {
            happening.take(&mut fixture);
            fixture.reconcile();
            fixture.provide();
            fixture.run();
        }
        // In any state, with any config.
        fixture.running = crate::decisions::fixture::Running::Says(orchestra_api::plan::Phase::Degraded, None);
        fixture.delete();
        fixture.settle();
        prop_assert!(fixture.workload.is_none(), "{:#?}", fixture.status());
        prop_assert!(fixture.claims.is_empty() && fixture.plan.is_none() && fixture.exposure.is_none());
    }
}
