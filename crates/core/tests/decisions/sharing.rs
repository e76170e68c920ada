//! Instances that several claims share, and what becomes of them.

use std::{collections::BTreeMap, sync::Arc};

use orchestra_api::{
    ResourceClaim,
    claim::{DeprovisionPolicy, Phase},
};
use orchestra_core::{
    config,
    provision::{self, Engine, Inputs, Work},
};
use serde_json::json;

use crate::decisions::world::{DOCUMENT, World};

/// Claims of Workloads with these names and policies, all for one instance, bound.
fn claims(sharers: &[(&str, &str)]) -> Vec<ResourceClaim> {
    let claim = |(name, policy): &(&str, &str)| {
        let mut world = World::with(json!({
            "containers": {"app": {"image": "nginx"}},
            "resources": {"db": {"type": "postgres", "id": "orders", "metadata": {"annotations": {"score.dev/deprovision": policy}}}},
        }));
        world.settle();
        let mut claim = world.claims.into_values().next().unwrap();
        claim.metadata.name = Some((*name).to_owned());
        (*name).clone_into(&mut claim.spec.workload_ref.name);
        claim
    };
    sharers.iter().map(claim).collect()
}

fn decide(claims: Vec<ResourceClaim>, document: &str, engines: &[&str]) -> provision::Decision {
    decide_using(claims, &[], document, engines)
}

/// Decides, while something that runs uses these claims.
fn decide_using(
    claims: Vec<ResourceClaim>,
    in_use: &[&str],
    document: &str,
    engines: &[&str],
) -> provision::Decision {
    let engine = |name: &&str| ((*name).to_owned(), Engine { additive: false, reads_params: true });
    provision::decide(&Inputs {
        namespace: "default".to_owned(),
        instance: "instance".to_owned(),
        claims,
        in_use: in_use.iter().map(|name| (*name).to_owned()).collect(),
        config: Arc::new(config::check(document).unwrap()),
        engines: engines.iter().map(engine).collect::<BTreeMap<_, _>>(),
    })
}

#[test]
fn the_most_careful_of_those_that_leave_together_decides() {
    for (policies, expected) in [
        (["Delete", "Delete"], DeprovisionPolicy::Delete),
        (["Retain", "Delete"], DeprovisionPolicy::Retain),
        (["Delete", "Orphan"], DeprovisionPolicy::Orphan),
        (["Orphan", "Retain"], DeprovisionPolicy::Orphan),
    ] {
        let mut claims = claims(&[("first", policies[0]), ("second", policies[1])]);
        for claim in &mut claims {
            claim.metadata.deletion_timestamp.clone_from(&claim.metadata.creation_timestamp);
        }
        let decision = decide(claims, DOCUMENT, &["builtin"]);
        let Some(Work::Release(release)) = decision.work else { panic!("{decision:#?}") };
        assert_eq!((release.policy, release.claims.len()), (expected, 2), "{policies:?}");
    }
}

#[test]
fn who_leaves_while_others_stay_takes_nothing_down() {
    let mut claims = claims(&[("first", "Delete"), ("second", "Delete")]);
    let leaving = &mut claims[0].metadata;
    leaving.deletion_timestamp.clone_from(&leaving.creation_timestamp);
    let decision = decide(claims, DOCUMENT, &["builtin"]);
    assert_eq!(decision.let_go, ["first"]);
    assert!(matches!(decision.work, Some(Work::Ensure(_))), "{decision:#?}");
}

#[test]
fn what_is_bound_stays_bound_when_nobody_here_provides_it_any_more() {
    let without = DOCUMENT.replace("    - {type: postgres, engine: builtin}\n", "");
    for (document, engines) in [(without.as_str(), &["builtin"][..]), (DOCUMENT, &[])] {
        let bound = claims(&[("first", "Delete")]);
        assert_eq!(bound[0].status.as_ref().unwrap().phase, Phase::Bound);
        assert_eq!(decide(bound.clone(), document, engines).statuses, BTreeMap::new());
        let mut fresh = bound;
        fresh[0].status = None;
        let statuses = decide(fresh, document, engines).statuses;
        assert_eq!(statuses["first"].phase, Phase::Failed);
    }
}

#[test]
fn what_one_engine_made_is_not_taken_over_by_another() {
    let mut claims = claims(&[("first", "Delete")]);
    let noted = [("score.dev/engine".to_owned(), "template".to_owned())];
    claims[0].metadata.annotations = Some(noted.into());
    claims[0].metadata.finalizers = Some(vec!["score.dev/provisioner".to_owned()]);
    let decision = decide(claims, DOCUMENT, &["builtin", "template"]);
    assert!(decision.take.is_empty() && decision.work.is_none(), "{decision:?}");
}

#[test]
fn a_release_that_has_begun_comes_to_its_end_before_anything_is_made_anew() {
    let mut claims = claims(&[("leaving", "Delete"), ("coming", "Delete")]);
    let now = claims[0].metadata.creation_timestamp.clone();
    claims[0].metadata.deletion_timestamp = now;
    claims[0].metadata.finalizers = Some(vec!["score.dev/provisioner".to_owned()]);
    let notes = [("score.dev/engine", "builtin"), ("score.dev/releasing", "true")];
    claims[0].metadata.annotations =
        Some(notes.map(|(key, value)| (key.to_owned(), value.to_owned())).into());
    claims[1].metadata.finalizers = None;
    claims[1].metadata.annotations = None;
    let decision = decide(claims, DOCUMENT, &["builtin"]);
    assert!(
        matches!(&decision.work, Some(Work::Release(release)) if release.claims == ["leaving"]),
        "{decision:?}"
    );
    assert!(decision.take.is_empty(), "{decision:?}");
    assert!(decision.statuses["coming"].message.as_ref().unwrap().contains("taken down first"));
}

#[test]
fn what_is_used_is_provided_on_although_it_was_deleted_and_newcomers_must_agree_with_it() {
    let mut claims = claims(&[("kept", "Delete"), ("newcomer", "Delete")]);
    let kept = &mut claims[0].metadata;
    kept.deletion_timestamp.clone_from(&kept.creation_timestamp);
    claims[0].spec.params = json!({"size": "small"}).as_object().cloned();
    claims[1].spec.params = json!({"size": "large"}).as_object().cloned();
    claims[1].status = None;
    let decision = decide_using(claims.clone(), &["kept"], DOCUMENT, &["builtin"]);
    assert!(
        matches!(&decision.work, Some(Work::Ensure(instance)) if instance.claims == ["kept"]),
        "{decision:#?}"
    );
    assert_eq!(decision.statuses["newcomer"].phase, Phase::Failed);
    assert_eq!(decision.let_go, Vec::<String>::new());
    // What has begun to go is not kept, whoever uses it.
    let notes = claims[0].metadata.annotations.get_or_insert_default();
    notes.insert("score.dev/releasing".to_owned(), "true".to_owned());
    let decision = decide_using(claims, &["kept"], DOCUMENT, &["builtin"]);
    assert!(
        matches!(&decision.work, Some(Work::Release(release)) if release.claims == ["kept"]),
        "{decision:#?}"
    );
}

#[test]
fn a_claim_that_is_kept_keeps_the_class_that_policy_gave_it() {
    let mut world = World::with(json!({
        "containers": {"app": {"image": "nginx", "variables": {"HOST": "${resources.db.host}"}}},
        "resources": {"db": {"type": "postgres"}},
    }));
    world.policy("sizes", json!({"defaults": {"classes": {"postgres": "small"}}}));
    world.settle();
    for claim in world.claims.values_mut() {
        let metadata = &mut claim.metadata;
        metadata.deletion_timestamp.clone_from(&metadata.creation_timestamp);
    }
    world.policies.clear();
    world.policy("sizes", json!({"defaults": {"classes": {"postgres": "large"}}}));
    let status = world.settle();
    let classes: Vec<_> = world.claims.values().map(|claim| claim.spec.class.as_str()).collect();
    assert_eq!(classes, ["small"], "{status:#?}");
    assert!(status.claims[0].message.contains("is kept"), "{status:#?}");
}

#[test]
fn what_a_machine_has_is_provided_without_a_document_and_to_whoever_asks() {
    let mut claims = claims(&[("second", "Delete"), ("first", "Delete")]);
    for claim in &mut claims {
        "process".clone_into(&mut claim.spec.placement.runtime_class);
        // Nobody has looked after it so far.
        (claim.status, claim.metadata.finalizers, claim.metadata.annotations) = (None, None, None);
    }
    let decision = decide(claims.clone(), "", &["process"]);
    let Some(Work::Ensure(instance)) = decision.work else { panic!("{decision:#?}") };
    assert_eq!(instance.entry.engine, "process");
    let dependents: Vec<_> =
        instance.dependents.iter().map(|by| (by.workload.as_str(), by.key.as_str())).collect();
    assert_eq!(dependents, [("first", "db"), ("second", "db")], "in the order of its claims");
    assert_eq!(instance.claims, ["first", "second"]);
    let nobody = decide(claims, "", &["static"]);
    assert_eq!(nobody.work, None, "the engine is not at hand");
    assert!(nobody.statuses["first"].message.as_ref().unwrap().contains("provides nothing yet"));
}
