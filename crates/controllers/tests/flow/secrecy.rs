//! Secret values: only in Secrets and running containers; Secrets are read by name, never listed.

use k8s_openapi::api::{core::v1::ConfigMap, events::v1::Event};
use kube::{
    Api, Resource,
    api::{ListParams, Patch, PatchParams},
};
use orchestra_api::{PlatformPolicy, ResourceClaim, Workload, WorkloadExposure, WorkloadPlan};
use orchestra_controllers::metrics::Metrics;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::json;

use crate::flow::{
    counting::Counter,
    platform::{CANARY, Platform},
};

async fn dump<K>(platform: &Platform) -> String
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Serialize + std::fmt::Debug,
{
    let all = Api::<K>::all(platform.env.client()).list(&ListParams::default()).await.unwrap();
    serde_json::to_string(&all).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn secret_values_are_not_in_objects_events_or_metrics() {
    let mut platform = Platform::start().await;
    let metrics = Metrics::default();
    let counter = Counter::default();
    platform.start_controllers_with(counter.client(&platform.env), metrics.clone()).await;
    let spec = json!({
        "containers": {"app": {"image": "nginx",
            "variables": {"URL": "x://u:${resources.db.password}@${resources.db.host}"},
            "files": {"/etc/key": {"content": "${resources.db.password}"}},
        }},
        "resources": {"db": {"type": "postgres"}, "cache": {"type": "redis", "params": {"key": "a ${resources.db.password}"}}},
    });
    platform.apply("shop", spec).await;
    platform.until_ready("shop").await;
    let running = platform.runtime.running("default", "shop").unwrap();
    assert!(running.variables["app/URL"].contains(CANARY), "the container has it");
    platform.stop_controllers().await;
    let texts = [
        dump::<Workload>(&platform).await,
        dump::<ResourceClaim>(&platform).await,
        dump::<WorkloadPlan>(&platform).await,
        dump::<WorkloadExposure>(&platform).await,
        dump::<PlatformPolicy>(&platform).await,
        dump::<ConfigMap>(&platform).await,
        dump::<Event>(&platform).await,
        metrics.encode(),
    ];
    assert!(texts.iter().all(|text| !text.contains(CANARY)), "{texts:#?}");
    assert!(texts[1].contains("secretKeyRef"), "{}", texts[1]);
    // Secrets are read one by one, by name.
    let requests = counter.take();
    let secrets: Vec<_> = requests.iter().filter(|request| request.contains("/secrets")).collect();
    assert!(!secrets.is_empty());
    assert!(secrets.iter().all(|request| request.contains("/namespaces/default/secrets/")), "{secrets:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_static_dependency_waits_for_its_secret() {
    let platform = Platform::start().await;
    let spec = json!({
        "containers": {"app": {"image": "nginx", "variables": {"KEY": "${resources.api.key}"}}},
        "resources": {"api": {"type": "service"}},
    });
    platform.apply("shop", spec).await;
    let type_ = orchestra_api::ConditionType::ClaimsReady;
    let message = platform.until_false("shop", type_, orchestra_api::Reason::BindingPending).await;
    let message = if message.contains("static-key") {
        message
    } else {
        let claims = async || platform.claim_of("shop", "api").await.status.and_then(|status| status.message);
        platform.env.eventually("the claim names the missing secret", claims).await
    };
    assert!(message.contains("`static-key`"), "{message}");
    assert!(platform.plans().get_opt("shop").await.unwrap().is_none());
    let secrets: Api<k8s_openapi::api::core::v1::Secret> = Api::default_namespaced(platform.env.client());
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "static-key"}, "stringData": {"key": CANARY},
    });
    secrets.patch("static-key", &PatchParams::apply("other-manager"), &Patch::Apply(secret)).await.unwrap();
    platform.until_ready("shop").await;
    assert_eq!(platform.runtime.running("default", "shop").unwrap().variables["app/KEY"], CANARY);
}
