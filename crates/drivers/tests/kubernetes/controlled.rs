//! What is told when the cluster's own controllers cannot make copies. These need those controllers; where nobody plays
//! them (nothing becomes of a Deployment) they say so and show nothing.

use kube::api::PostParams;
use orchestra_api::{
    Reason,
    plan::{Kind, Phase},
};
use serde_json::{Value as Json, json};

use crate::kubernetes::support::World;

async fn make(world: &World, kind: &str, object: Json) {
    let mut object = object;
    object["apiVersion"] = json!("v1");
    object["kind"] = json!(kind);
    let api = world.api("v1", kind);
    api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
}

#[tokio::test]
#[ignore = "needs KUBECONFIG"]
async fn a_quota_for_copies_is_told_whatever_makes_them() {
    let Some(world) = World::played(true).await else { return };
    make(&world, "ResourceQuota", json!({"metadata": {"name": "small"}, "spec": {"hard": {"pods": "0"}}}))
        .await;
    for kind in [Kind::Service, Kind::Job] {
        let mut target = world.target("r1");
        target.name = format!("limited-{kind:?}").to_lowercase();
        target.plan.kind = kind;
        let (reason, message) = world
            .until(async || {
                world.apply(&target).await.unwrap();
                let seen = world.observe(&target).await;
                (seen.phase == Phase::Degraded).then(|| (seen.reason.unwrap(), seen.message.unwrap()))
            })
            .await;
        assert_eq!(reason, Reason::QuotaExceeded, "{message}");
        assert!(message.contains("the quota `small` allows 0 running copies"), "{message}");
    }
    world.end().await;
}

#[tokio::test]
#[ignore = "needs KUBECONFIG"]
async fn the_security_level_of_a_namespace_is_told_as_a_policy() {
    let Some(world) = World::played(true).await else { return };
    world.secure("restricted").await;
    let target = world.target("r1");
    world.apply(&target).await.unwrap();
    let seen = world.observe_until(&target, Phase::Degraded).await;
    assert_eq!(seen.reason, Some(Reason::PolicyViolation), "{seen:?}");
    assert!(seen.message.unwrap().contains("do not run as root"));
    // With the platform's switch it passes.
    let mut target = world.target("r2");
    target.plan.values.insert("runAsNonRoot".to_owned(), json!(true));
    target.plan.values.insert("runAsUser".to_owned(), json!(1000));
    world.apply(&target).await.unwrap();
    world
        .until(async || {
            let seen = world.observe(&target).await;
            (seen.reason != Some(Reason::PolicyViolation)).then_some(())
        })
        .await;
    world.end().await;
}
