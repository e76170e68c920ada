//! Tutorial: hello, a slow dependency, a change, and deletion without leftovers.

use orchestra_api::{ConditionStatus, ConditionType, Reason};
use orchestra_testkit::scripted::ProvisionScript;
use serde_json::json;

use crate::common::{CANARY, Platform};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_workload_becomes_ready_with_an_endpoint_and_leaves_nothing_behind() {
    let platform = Platform::start().await;
    platform
        .apply(
            "hello-web",
            json!({
                "containers": {"app": {"image": "nginx", "variables": {"WHO": "${metadata.name}"}}},
                "service": {"ports": {"www": {"port": 80}}},
            }),
        )
        .await;
    let workload = platform.until_ready("hello-web").await;
    let endpoint = workload.status.unwrap().endpoint;
    assert_eq!(endpoint.as_deref(), Some("http://hello-web.default.example.test"));
    let running = platform.runtime.running("default", "hello-web").unwrap();
    assert_eq!(running.variables["app/WHO"], "hello-web");
    platform.delete("hello-web").await;
    platform.until_gone("hello-web").await;
    assert_eq!(platform.leftovers().await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_workload_waits_for_its_dependency_and_recovers() {
    let platform = Platform::start().await;
    platform.provisioner.script("postgres", ProvisionScript::Make);
    let spec = |more: &str| {
        json!({
            "containers": {"app": {"image": "nginx", "variables": {
                "URL": "postgres://u:${resources.db.password}@${resources.db.host}:${resources.db.port}/", "MORE": more,
            }}},
            "service": {"ports": {"www": {"port": 80}}},
            "resources": {"db": {"type": "postgres"}},
        })
    };
    platform.apply("node-postgres-app", spec("one")).await;
    let (status, reason) = (ConditionStatus::False, Reason::BindingPending);
    platform.until("node-postgres-app", ConditionType::ClaimsReady, status, reason).await;
    let waiting = platform
        .until(
            "node-postgres-app",
            ConditionType::RuntimeReady,
            ConditionStatus::False,
            Reason::ProjectionError,
        )
        .await;
    let conditions = waiting.status.unwrap().conditions;
    let runtime = conditions.iter().find(|condition| condition.type_ == ConditionType::RuntimeReady).unwrap();
    assert!(runtime.message.contains("`host` of resource `db`"), "{}", runtime.message);
    assert!(platform.plans().get_opt("node-postgres-app").await.unwrap().is_none());

    platform.provisioner.script("postgres", ProvisionScript::Bind);
    platform.until_ready("node-postgres-app").await;
    let first = platform.runtime.running("default", "node-postgres-app").unwrap();
    assert_eq!(first.variables["app/URL"], format!("postgres://u:{CANARY}@postgres.example.test:5432/"));

    platform.apply("node-postgres-app", spec("two")).await;
    platform.until_ready("node-postgres-app").await;
    let second = platform.runtime.running("default", "node-postgres-app").unwrap();
    assert_eq!((second.variables["app/MORE"].as_str(), second.rollouts), ("two", 2));

    platform.delete("node-postgres-app").await;
    platform.until_gone("node-postgres-app").await;
    assert_eq!(platform.leftovers().await, Vec::<String>::new());
}
