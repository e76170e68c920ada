//! External engines and runtimes: our controllers leave their claims and plans alone.

use orchestra_api::{ConditionType, Reason};
use serde_json::json;

use crate::flow::{
    platform::{CONFIG, Platform},
    support::{db_workload, web_workload},
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_with_the_engine_external_is_left_to_its_controller() {
    let platform = Platform::start().await;
    platform.apply("shop", db_workload(&json!({"type": "queue"}))).await;
    platform.until_false("shop", ConditionType::ClaimsReady, Reason::BindingPending).await;
    platform.idle().await;
    let claim = platform.claim_of("shop", "db").await;
    assert_eq!((&claim.status, &claim.metadata.finalizers), (&None, &None));
    let status = json!({
        "phase": "Bound", "outputsAvailable": true, "outputs": {"host": {"value": "queue.example.test"}},
        "observedGeneration": claim.metadata.generation,
    });
    platform.write_status(&platform.claims(), &claim, status).await;
    platform.until_ready("shop").await;
    assert_eq!(
        platform.runtime.running("default", "shop").unwrap().variables["app/HOST"],
        "queue.example.test"
    );
    assert_eq!(platform.provisioner.instances().len(), 0);
    platform.delete("shop").await;
    platform.until_gone("shop").await;
    assert_eq!(platform.leftovers().await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_of_an_external_runtime_is_left_to_its_controller() {
    let platform = Platform::start().await;
    platform.configure(&CONFIG.replace("runtimeClass: scripted", "runtimeClass: other")).await;
    // The config is in force once a plan follows it.
    let mut name = String::new();
    for n in 0.. {
        assert!(n < 50, "the config is not in force");
        name = format!("shop-{n}");
        platform.apply(&name, web_workload()).await;
        platform.idle().await;
        let plans = platform.plans();
        let plan = platform.env.eventually("there is a plan", async || plans.get_opt(&name).await).await;
        if plan.spec.runtime_class == "other" {
            break;
        }
    }
    let message = platform.until_false(&name, ConditionType::RuntimeReady, Reason::RuntimeProvisioning).await;
    assert!(message.contains("`other`"), "{message}");
    platform.idle().await;
    let plan = platform.plans().get(&name).await.unwrap();
    assert_eq!((&plan.status, &plan.metadata.finalizers), (&None, &None));
    assert_eq!(platform.runtime.running("default", &name), None);
    // Its runtime publishes an address and reports readiness.
    let exposure = platform.exposures().get(&name).await.unwrap();
    assert_eq!(exposure.status, None);
    let published = json!({"exposures": [{"url": "https://other.example.test", "priority": 1}]});
    platform.write_status(&platform.exposures(), &exposure, published).await;
    let status = json!({"phase": "Ready", "observedRevision": plan.spec.revision});
    platform.write_status(&platform.plans(), &plan, status).await;
    platform.until_ready(&name).await;
    let workload = platform.workloads().get(&name).await.unwrap();
    assert_eq!(workload.status.unwrap().endpoint.as_deref(), Some("https://other.example.test"));
    // A reason outside of the runtime's reasons is replaced.
    let status =
        json!({"phase": "Failed", "reason": "BindingFailed", "observedRevision": plan.spec.revision});
    platform.write_status(&platform.plans(), &plan, status).await;
    platform.until_false(&name, ConditionType::Ready, Reason::RuntimeDegraded).await;
}
