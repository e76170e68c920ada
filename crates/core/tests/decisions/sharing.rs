//! Instances that several claims share.

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

use crate::decisions::fixture::{CONFIG, Fixture};

/// Bound claims of Workloads with these names and policies, all for one instance.
fn claims(sharers: &[(&str, &str)]) -> Vec<ResourceClaim> {
    let claim = |(name, policy): &(&str, &str)| {
        let mut fixture = Fixture::with(json!({
            "containers": {"app": {"image": "nginx"}},
            "resources": {"db": {"type": "postgres", "id": "orders", "metadata": {"annotations": {"score.dev/deprovision": policy}}}},
        }));
        fixture.settle();
        let mut claim = fixture.claims.into_values().next().unwrap();
        claim.metadata.name = Some((*name).to_owned());
        (*name).clone_into(&mut claim.spec.workload_ref.name);
        claim
    };
    sharers.iter().map(claim).collect()
}

fn decide(claims: Vec<ResourceClaim>, document: &str, engines: &[&str]) -> provision::Decision {
    decide_using(claims, &[], document, engines)
}

/// Decides while a running version uses these claims.
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
fn the_most_conservative_policy_of_claims_deleted_together_wins() {
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
        let decision = decide(claims, CONFIG, &["builtin"]);
        let Some(Work::Release(release)) = decision.work else { panic!("{decision:#?}") };
        assert_eq!((release.policy, release.claims.len()), (expected, 2), "{policies:?}");
    }
}

#[test]
fn a_deleted_claim_does_not_release_an_instance_that_others_use() {
    let mut claims = claims(&[("first", "Delete"), ("second", "Delete")]);
    let leaving = &mut claims[0].metadata;
    leaving.deletion_timestamp.clone_from(&leaving.creation_timestamp);
    let decision = decide(claims, CONFIG, &["builtin"]);
    assert_eq!(decision.remove_finalizer, ["first"]);
    assert!(matches!(decision.work, Some(Work::Ensure(_))), "{decision:#?}");
}

#[test]
fn a_bound_claim_stays_bound_when_its_provisioner_is_removed() {
    let without = CONFIG.replace("    - {type: postgres, engine: builtin}\n", "");
    for (document, engines) in [(without.as_str(), &["builtin"][..]), (CONFIG, &[])] {
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
fn an_instance_is_not_taken_over_by_another_engine() {
    let mut claims = claims(&[("first", "Delete")]);
    let noted = [("score.dev/engine".to_owned(), "template".to_owned())];
    claims[0].metadata.annotations = Some(noted.into());
    claims[0].metadata.finalizers = Some(vec!["score.dev/provisioner".to_owned()]);
    let decision = decide(claims, CONFIG, &["builtin", "template"]);
    assert!(decision.add_finalizer.is_empty() && decision.work.is_none(), "{decision:?}");
}

#[test]
fn a_release_completes_before_the_instance_is_provisioned_again() {
    let mut claims = claims(&[("leaving", "Delete"), ("coming", "Delete")]);
    let now = claims[0].metadata.creation_timestamp.clone();
    claims[0].metadata.deletion_timestamp = now;
    claims[0].metadata.finalizers = Some(vec!["score.dev/provisioner".to_owned()]);
    let notes = [("score.dev/engine", "builtin"), ("score.dev/releasing", "true")];
    claims[0].metadata.annotations =
        Some(notes.map(|(key, value)| (key.to_owned(), value.to_owned())).into());
    claims[1].metadata.finalizers = None;
    claims[1].metadata.annotations = None;
    let decision = decide(claims, CONFIG, &["builtin"]);
    assert!(
        matches!(&decision.work, Some(Work::Release(release)) if release.claims == ["leaving"]),
        "{decision:?}"
    );
    assert!(decision.add_finalizer.is_empty(), "{decision:?}");
    assert!(
        decision.statuses["coming"].message.as_ref().unwrap().contains("previous instance to be deleted")
    );
}

#[test]
fn a_deleted_claim_in_use_is_still_provided_and_later_claims_must_agree_with_it() {
    let mut claims = claims(&[("kept", "Delete"), ("newcomer", "Delete")]);
    let kept = &mut claims[0].metadata;
    kept.deletion_timestamp.clone_from(&kept.creation_timestamp);
    claims[0].spec.params = json!({"size": "small"}).as_object().cloned();
    claims[1].spec.params = json!({"size": "large"}).as_object().cloned();
    claims[1].status = None;
    let decision = decide_using(claims.clone(), &["kept"], CONFIG, &["builtin"]);
    assert!(
        matches!(&decision.work, Some(Work::Ensure(instance)) if instance.claims == ["kept"]),
        "{decision:#?}"
    );
    assert_eq!(decision.statuses["newcomer"].phase, Phase::Failed);
    assert_eq!(decision.remove_finalizer, Vec::<String>::new());
    // A claim that is being released is not kept, even if it is in use.
    let notes = claims[0].metadata.annotations.get_or_insert_default();
    notes.insert("score.dev/releasing".to_owned(), "true".to_owned());
    let decision = decide_using(claims, &["kept"], CONFIG, &["builtin"]);
    assert!(
        matches!(&decision.work, Some(Work::Release(release)) if release.claims == ["kept"]),
        "{decision:#?}"
    );
}

#[test]
fn a_kept_claim_keeps_its_default_class() {
    let mut fixture = Fixture::with(json!({
        "containers": {"app": {"image": "nginx", "variables": {"HOST": "${resources.db.host}"}}},
        "resources": {"db": {"type": "postgres"}},
    }));
    fixture.policy("sizes", json!({"defaults": {"classes": {"postgres": "small"}}}));
    fixture.settle();
    for claim in fixture.claims.values_mut() {
        let metadata = &mut claim.metadata;
        metadata.deletion_timestamp.clone_from(&metadata.creation_timestamp);
    }
    fixture.policies.clear();
    fixture.policy("sizes", json!({"defaults": {"classes": {"postgres": "large"}}}));
    let status = fixture.settle();
    let classes: Vec<_> = fixture.claims.values().map(|claim| claim.spec.class.as_str()).collect();
    assert_eq!(classes, ["small"], "{status:#?}");
    assert!(status.claims[0].message.contains("kept while the running version uses it"), "{status:#?}");
}

#[test]
fn built_in_resources_of_a_machine_need_no_config() {
    let mut claims = claims(&[("second", "Delete"), ("first", "Delete")]);
    for claim in &mut claims {
        "process".clone_into(&mut claim.spec.placement.runtime_class);
        // No engine manages it yet.
        (claim.status, claim.metadata.finalizers, claim.metadata.annotations) = (None, None, None);
    }
    let decision = decide(claims.clone(), "", &["process"]);
    let Some(Work::Ensure(instance)) = decision.work else { panic!("{decision:#?}") };
    assert_eq!(instance.entry.engine, "process");
    let dependents: Vec<_> =
        instance.dependents.iter().map(|by| (by.workload.as_str(), by.key.as_str())).collect();
    assert_eq!(dependents, [("first", "db"), ("second", "db")], "in order of its claims");
    assert_eq!(instance.claims, ["first", "second"]);
    let nobody = decide(claims, "", &["static"]);
    assert_eq!(nobody.work, None, "the engine is not available");
    assert!(nobody.statuses["first"].message.as_ref().unwrap().contains("no provisioners are configured"));
}
