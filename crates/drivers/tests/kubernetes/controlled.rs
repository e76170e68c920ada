//! Reports about pods that the cluster's controllers cannot create. The tests skip on clusters without controllers.

use kube::api::PostParams;
use orchestra_api::{
    Reason,
    plan::{Kind, Phase},
};
use serde_json::{Value as Json, json};

use crate::kubernetes::support::Fixture;

async fn create(fixture: &Fixture, kind: &str, object: Json) {
    let mut object = object;
    object["apiVersion"] = json!("v1");
    object["kind"] = json!(kind);
    let api = fixture.api("v1", kind);
    api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
}

#[tokio::test]
#[ignore = "needs KUBECONFIG"]
async fn an_exceeded_pod_quota_is_reported_for_services_and_jobs() {
    let Some(fixture) = Fixture::with_controllers().await else { return };
    create(
        &fixture,
        "ResourceQuota",
        json!({"metadata": {"name": "small"}, "spec": {"hard": {"pods": "0"}}}),
    )
    .await;
    for kind in [Kind::Service, Kind::Job] {
        let mut target = fixture.target("r1");
        target.name = format!("limited-{kind:?}").to_lowercase();
        target.plan.kind = kind;
        let (reason, message) = fixture
            .until(async || {
                fixture.apply(&target).await.unwrap();
                let seen = fixture.observe(&target).await;
                (seen.phase == Phase::Degraded).then(|| (seen.reason.unwrap(), seen.message.unwrap()))
            })
            .await;
        assert_eq!(reason, Reason::QuotaExceeded, "{message}");
        assert!(
            message.contains(
                "quota `small`, requested: 1 running copies; used: 0 running copies; limit: 0 running copies"
            ),
            "{message}"
        );
    }
    fixture.delete_namespace().await;
}

#[tokio::test]
#[ignore = "needs KUBECONFIG"]
async fn a_violation_of_the_pod_security_level_is_reported_as_a_policy_violation() {
    let Some(fixture) = Fixture::with_controllers().await else { return };
    fixture.enforce_pod_security("restricted").await;
    let target = fixture.target("r1");
    fixture.apply(&target).await.unwrap();
    let seen = fixture.observe_until(&target, Phase::Degraded).await;
    assert_eq!(seen.reason, Some(Reason::PolicyViolation), "{seen:?}");
    assert!(seen.message.unwrap().contains("do not run as root"));
    // It passes with the value `runAsNonRoot` of the config.
    let mut target = fixture.target("r2");
    target.plan.values.insert("runAsNonRoot".to_owned(), json!(true));
    target.plan.values.insert("runAsUser".to_owned(), json!(1000));
    fixture.apply(&target).await.unwrap();
    fixture
        .until(async || {
            let seen = fixture.observe(&target).await;
            (seen.reason != Some(Reason::PolicyViolation)).then_some(())
        })
        .await;
    fixture.delete_namespace().await;
}
