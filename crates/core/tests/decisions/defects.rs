//! Regression tests for defects of earlier orchestrators, as far as they concern decisions.
//! `docs/predecessor-defects.md` lists all defects with their tests.

use std::collections::BTreeSet;

use orchestra_api::{
    ConditionType, Reason,
    claim::{DeprovisionPolicy, Output, Phase as ClaimPhase},
    plan::Phase,
    reference::SecretKeyRef,
};
use orchestra_core::decision::DeletionKind;
use serde_json::{Value as Json, json};

use crate::decisions::{
    fixture::{Answer, Fixture, Running},
    table,
};

const DOCUMENT: &str = "docs/predecessor-defects.md";

#[test]
fn the_document_lists_every_defect_with_tests_that_exist() {
    let rows = table::rows(DOCUMENT);
    let ids: Vec<String> =
        (1..=30).map(|n| format!("A{n}")).chain((1..=6).map(|n| format!("B{n}"))).collect();
    assert_eq!(rows.iter().map(|row| row[0].clone()).collect::<Vec<_>>(), ids);
    for row in &rows {
        let named: Vec<&str> = row[2].split_whitespace().filter(|word| word.contains("::")).collect();
        let named: Vec<&str> = named.into_iter().map(|word| word.trim_end_matches([',', '.', ';'])).collect();
        assert_eq!(table::missing_tests(named.iter().copied()), Vec::<String>::new(), "{}", row[0]);
        assert!(!named.is_empty(), "{}: no test", row[0]);
    }
}

fn with_database() -> Json {
    json!({
        "containers": {"app": {"image": "nginx", "variables": {
            "URL": "postgres://u:${resources.db.password}@${resources.db.host}/",
        }}},
        "resources": {"db": {"type": "postgres", "params": {"size": 1}}},
    })
}

fn revision(fixture: &Fixture) -> String {
    fixture.plan.as_ref().unwrap().spec.revision.clone()
}

#[test]
fn another_output_and_a_rotated_secret_are_new_revisions() {
    let mut fixture = Fixture::with(with_database());
    fixture.settle();
    let first = revision(&fixture);
    let status = |fixture: &mut Fixture, change: fn(&mut orchestra_api::claim::ResourceClaimStatus)| {
        change(fixture.claims.values_mut().next().unwrap().status.as_mut().unwrap());
        fixture.reconcile();
        revision(fixture)
    };
    let moved = status(&mut fixture, |status| {
        status.outputs.insert("host".to_owned(), Output::Value(json!("elsewhere")));
    });
    assert_ne!(moved, first);
    let rotated = status(&mut fixture, |status| status.outputs_revision = Some("another".to_owned()));
    assert_ne!(rotated, moved);
}

#[test]
fn a_change_of_parameters_changes_only_the_parameters_of_the_claim() {
    let mut fixture = Fixture::with(with_database());
    fixture.policy("keep", json!({"defaults": {"deprovision": "Retain"}}));
    fixture.settle();
    let before = fixture.claims.values().next().unwrap().clone();
    let mut spec = with_database();
    spec["resources"]["db"]["params"]["size"] = json!(2);
    fixture.write(json!({}), json!({}), spec);
    fixture.settle();
    let after = fixture.claims.values().next().unwrap();
    assert_eq!(after.spec.params.as_ref().unwrap()["size"], json!(2));
    assert_eq!(after.metadata.name, before.metadata.name);
    assert_eq!(after.spec.deprovision_policy, DeprovisionPolicy::Retain);
    assert_eq!(after.status.as_ref().unwrap().observed_generation, Some(2));
}

#[test]
fn a_removed_dependency_is_deleted_and_no_longer_counts() {
    let mut fixture = Fixture::with(with_database());
    fixture.answer("postgres", Answer::Refuse(Reason::QuotaExceeded));
    fixture.settle();
    fixture.write(json!({}), json!({}), json!({"containers": {"app": {"image": "nginx"}}}));
    let status = fixture.settle();
    assert!(fixture.claims.is_empty(), "{:#?}", fixture.claims);
    assert_eq!(status.claims, []);
    assert!(status.conditions.iter().all(|condition| condition.reason == Reason::Succeeded), "{status:#?}");
}

#[test]
fn an_older_dependency_is_deleted_even_if_another_one_refers_to_its_successor() {
    let spec = |class: &str| {
        json!({
            "containers": {"app": {"image": "nginx", "variables": {"A": "${resources.cache.host}"}}},
            "resources": {
                "db": {"type": "postgres", "class": class},
                "cache": {"type": "redis", "params": {"at": "${resources.db.host}"}},
            },
        })
    };
    let mut fixture = Fixture::with(spec("small"));
    fixture.settle();
    fixture.write(json!({}), json!({}), spec("large"));
    fixture.settle();
    let left: BTreeSet<(&str, &str)> =
        fixture.claims.values().map(|claim| (claim.spec.key.as_str(), claim.spec.class.as_str())).collect();
    assert_eq!(left, BTreeSet::from([("cache", "default"), ("db", "large")]));
}

#[test]
fn a_change_of_a_dependency_is_rolled_out_once_it_is_provisioned() {
    let spec = |size: u32, word: &str| {
        let mut spec = with_database();
        spec["resources"]["db"]["params"]["size"] = json!(size);
        spec["containers"]["app"]["variables"]["WORD"] = json!(word);
        spec
    };
    let mut fixture = Fixture::with(spec(1, "one"));
    fixture.settle();
    let before = revision(&fixture);
    fixture.answer("postgres", Answer::Make);
    fixture.write(json!({}), json!({}), spec(2, "two"));
    fixture.settle();
    assert_eq!(revision(&fixture), before, "the running version waits for its dependency");
    fixture.answer("postgres", Answer::Bind);
    fixture.settle();
    assert_ne!(revision(&fixture), before);
}

#[test]
fn every_field_of_a_document_is_in_the_plan() {
    let mut fixture = Fixture::new(crate::decisions::fixture::CONFIG);
    let spec = json!({
        "containers": {
            "first": {
                "image": "registry.example.org/first:1", "command": ["first-command"], "args": ["first-argument"],
                "variables": {"FIRST_VARIABLE": "first-value", "SECOND_VARIABLE": "second-value"},
                "files": {
                    "/etc/text": {"content": "text-content", "mode": "0640"},
                    "/etc/bytes": {"binaryContent": "AAEC", "mode": "0400"},
                    "/etc/kept": {"content": "${kept.as.it.is}", "noExpand": true},
                },
                "volumes": {"/data": {"source": "${resources.disk}", "path": "part/of/it", "readOnly": true}},
                "resources": {"requests": {"cpu": "125m", "memory": "65Mi"}, "limits": {"cpu": "2", "memory": "3Gi"}},
                "livenessProbe": {"httpGet": {"path": "/alive", "port": 7001, "host": "live-host", "scheme": "HTTPS",
                    "httpHeaders": [{"name": "X-Owned", "value": "live-header"}]}},
                "readinessProbe": {"exec": {"command": ["ready-command"]}},
                "before": {"second": {"ready": "healthy"}},
            },
            "second": {"image": "registry.example.org/second:2"},
        },
        "service": {"ports": {"web": {"port": 7002, "targetPort": 7003}, "dns": {"port": 7004, "protocol": "UDP"}}},
        "resources": {"disk": {"type": "volume", "class": "fast-class"}},
    });
    fixture.write(json!({"label": "label-value"}), json!({"annotation": "annotation-value"}), spec);
    fixture.settle();
    let plan = serde_json::to_string(&fixture.plan.unwrap().spec).unwrap();
    for part in [
        "registry.example.org/first:1",
        "first-command",
        "first-argument",
        "FIRST_VARIABLE",
        "first-value",
        "SECOND_VARIABLE",
        "second-value",
        "/etc/text",
        "text-content",
        "0640",
        "/etc/bytes",
        "AAEC",
        "0400",
        "${kept.as.it.is}",
        "/data",
        r#""claim":"disk""#,
        "part/of/it",
        r#""readOnly":true"#,
        "125m",
        "65Mi",
        r#""cpu":"2""#,
        "3Gi",
        "/alive",
        "7001",
        "live-host",
        "HTTPS",
        "X-Owned",
        "live-header",
        "ready-command",
        r#""second":"healthy""#,
        "registry.example.org/second:2",
        "7002",
        "7003",
        "7004",
        "UDP",
        "fast-class",
        "label-value",
        "annotation-value",
    ] {
        assert!(plan.contains(part), "{part} is not in {plan}");
    }
}

#[test]
fn the_status_of_an_older_revision_does_not_count() {
    let mut fixture = Fixture::with(with_database());
    fixture.settle();
    fixture.running = Running::Absent;
    let mut spec = with_database();
    spec["containers"]["app"]["image"] = json!("nginx:2");
    fixture.write(json!({}), json!({}), spec);
    let status = fixture.settle();
    let ready = status.conditions.iter().find(|condition| condition.type_ == ConditionType::Ready).unwrap();
    assert_eq!(ready.reason, Reason::RuntimeProvisioning, "{status:#?}");
}

#[test]
fn a_claim_that_is_bound_without_outputs_is_not_ready() {
    let mut fixture = Fixture::with(with_database());
    fixture.settle();
    let status = fixture.claims.values_mut().next().unwrap().status.as_mut().unwrap();
    status.outputs.clear();
    status.outputs_available = false;
    assert_eq!(status.phase, ClaimPhase::Bound);
    fixture.reconcile();
    let status = fixture.status();
    let claims = status.conditions.iter().find(|c| c.type_ == ConditionType::ClaimsReady).unwrap();
    assert_eq!(claims.reason, Reason::BindingPending);
}

#[test]
fn a_missing_output_is_never_invented() {
    let mut fixture = Fixture::with(with_database());
    fixture.answer("postgres", Answer::BindInPart);
    let status = fixture.settle();
    assert!(fixture.plan.is_none());
    let runtime = status.conditions.iter().find(|c| c.type_ == ConditionType::RuntimeReady).unwrap();
    assert!(runtime.message.contains("`db`") && runtime.message.contains("`host`"), "{}", runtime.message);
    assert_eq!(fixture.decide().explanation.gaps.len(), 1);
}

#[test]
fn a_workload_is_deleted_before_its_dependencies_in_reverse_order() {
    let mut fixture = Fixture::with(json!({
        "containers": {"app": {"image": "nginx"}},
        "resources": {"db": {"type": "postgres"}, "cache": {"type": "redis", "params": {"at": "${resources.db.host}"}}},
    }));
    fixture.settle();
    fixture.delete();
    let mut order = Vec::new();
    while fixture.workload.is_some() {
        assert!(order.len() < 10, "{order:?}");
        let delete = fixture.decide().delete;
        order.extend(delete.iter().map(|deletion| (deletion.kind, deletion.name.clone())));
        fixture.reconcile();
        fixture.run();
        fixture.provide();
    }
    let kinds: Vec<_> = order.iter().map(|(kind, _)| *kind).collect();
    let claim = DeletionKind::ResourceClaim;
    assert_eq!(kinds, [DeletionKind::WorkloadExposure, DeletionKind::WorkloadPlan, claim, claim]);
    assert!(order[2].1.starts_with("shop-cache-") && order[3].1.starts_with("shop-db-"), "{order:?}");
}

#[test]
fn the_deprovision_policy_of_the_author_reaches_the_provisioner() {
    for (written, policy) in [
        (None, DeprovisionPolicy::Delete),
        (Some("Retain"), DeprovisionPolicy::Retain),
        (Some("Orphan"), DeprovisionPolicy::Orphan),
    ] {
        let mut spec = with_database();
        if let Some(written) = written {
            spec["resources"]["db"]["metadata"] = json!({"annotations": {"score.dev/deprovision": written}});
        }
        let mut fixture = Fixture::with(spec);
        fixture.settle();
        fixture.delete();
        fixture.settle();
        assert_eq!(fixture.released, [("postgres".to_owned(), policy)]);
    }
}

#[test]
fn objects_of_another_owner_block_a_workload_and_are_left_alone() {
    let mut other = Fixture::with(with_database());
    other.settle();
    let mut fixture = Fixture::new(crate::decisions::fixture::CONFIG);
    // Another uid: an earlier Workload of the same name.
    fixture.new_metadata("something else");
    fixture.new_metadata("something else");
    fixture.write(json!({}), json!({}), with_database());
    fixture.claims.clone_from(&other.claims);
    fixture.plan.clone_from(&other.plan);
    fixture.exposure.clone_from(&other.exposure);
    let decision = fixture.decide();
    assert!(
        decision.claims.is_empty() && decision.plan.is_none() && decision.delete.is_empty(),
        "{decision:#?}"
    );
    fixture.reconcile();
    let status = fixture.status();
    assert_eq!(status.endpoint, None);
    assert!(
        status.conditions.iter().any(|condition| condition.reason == Reason::BindingPending),
        "{status:#?}"
    );
}

#[test]
fn secrets_stay_references_in_plans_and_parameters() {
    let mut spec = with_database();
    spec["resources"]["cache"] =
        json!({"type": "redis", "params": {"secret": "x ${resources.db.password} y"}});
    let mut fixture = Fixture::with(spec);
    fixture.settle();
    let secret =
        fixture.claims.values().find_map(|claim| match &claim.status.as_ref()?.outputs["password"] {
            Output::SecretKeyRef(SecretKeyRef { name, .. }) if claim.spec.key == "db" => Some(name.clone()),
            _ => None,
        });
    let secret = secret.unwrap();
    let cache = fixture.claims.values().find(|claim| claim.spec.key == "cache").unwrap();
    let segments = &cache.spec.params.as_ref().unwrap()["secret"]["$segments"];
    assert_eq!(segments[1]["claimOutput"]["secretKeyRef"], json!({"name": secret, "key": "password"}));
    let plan = json!(fixture.plan.unwrap().spec);
    let url = &plan["containers"]["app"]["variables"]["URL"];
    assert_eq!(url[1]["claimOutput"]["secretKeyRef"]["name"], json!(secret));
}

#[test]
fn a_failure_of_the_runtime_is_reported() {
    for phase in [Phase::Degraded, Phase::Failed] {
        let mut fixture = Fixture::with(json!({"containers": {"app": {"image": "nginx"}}}));
        fixture.running = Running::Says(phase, None);
        let status = fixture.settle();
        assert!(status.conditions.iter().any(|condition| condition.reason == Reason::RuntimeDegraded));
    }
}
