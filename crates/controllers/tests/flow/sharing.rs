//! Instances shared by id.

use orchestra_api::{ConditionType, Reason, claim::DeprovisionPolicy};
use serde_json::json;

use crate::flow::{platform::Platform, support::db_workload};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workloads_with_one_id_share_an_instance_until_the_last_is_deleted() {
    let platform = Platform::start().await;
    let spec = db_workload(&json!({"type": "postgres", "id": "orders", "params": {"version": "16"}}));
    for name in ["first", "second"] {
        platform.apply(name, spec.clone()).await;
    }
    // A claim without parameters accepts those of the instance.
    platform.apply("third", db_workload(&json!({"type": "postgres", "id": "orders"}))).await;
    for name in ["first", "second", "third"] {
        platform.until_ready(name).await;
    }
    assert_eq!(platform.provisioner.instances().len(), 1);
    for name in ["first", "second"] {
        platform.delete(name).await;
        platform.until_gone(name).await;
        assert_eq!(platform.provisioner.released(), []);
        assert_eq!(platform.provisioner.instances().len(), 1);
    }
    platform.until_ready("third").await;
    platform.delete("third").await;
    platform.until_gone("third").await;
    let released: Vec<_> = platform.provisioner.released().into_iter().map(|(_, policy)| policy).collect();
    assert_eq!(released, [DeprovisionPolicy::Delete]);
    assert_eq!(platform.leftovers().await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn conflicting_parameters_fail_the_newer_claim_only() {
    let platform = Platform::start().await;
    let with_version = |version: &str| {
        db_workload(&json!({"type": "postgres", "id": "orders", "params": {"version": version}}))
    };
    platform.apply("holder", with_version("16")).await;
    let before = platform.until_ready("holder").await;
    platform.apply("newcomer", with_version("17")).await;
    let message = platform.until_false("newcomer", ConditionType::ClaimsReady, Reason::BindingFailed).await;
    for part in ["`orders`", "`holder`", "`version`"] {
        assert!(message.contains(part), "{message}");
    }
    platform.idle().await;
    let after = platform.workloads().get("holder").await.unwrap();
    assert_eq!(after.status, before.status);
    assert_eq!(platform.runtime.running("default", "holder").unwrap().rollouts, 1);
    // It recovers once the parameters agree.
    platform.apply("newcomer", with_version("16")).await;
    platform.until_ready("newcomer").await;
    assert_eq!(platform.provisioner.instances().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_id_is_not_shared_across_namespaces_or_classes() {
    let platform = Platform::start().await;
    platform.apply("first", db_workload(&json!({"type": "postgres", "id": "orders"}))).await;
    platform
        .apply("second", db_workload(&json!({"type": "postgres", "id": "orders", "class": "large"})))
        .await;
    platform.until_ready("first").await;
    platform.until_ready("second").await;
    assert_eq!(platform.provisioner.instances().len(), 2);
    let namespace = platform.env.namespace("elsewhere").await;
    let elsewhere: kube::Api<orchestra_api::Workload> =
        kube::Api::namespaced(platform.env.client(), namespace.metadata.name.as_deref().unwrap());
    let object = json!({
        "apiVersion": "score.dev/v1b1", "kind": "Workload", "metadata": {"name": "first"},
        "spec": db_workload(&json!({"type": "postgres", "id": "orders"})),
    });
    let params = kube::api::PatchParams::apply("author").force();
    elsewhere.patch("first", &params, &kube::api::Patch::Apply(object)).await.unwrap();
    let provisioner = &platform.provisioner;
    platform.env.eventually("a third instance", async || provisioner.instances().len() == 3).await;
}
