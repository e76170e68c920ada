//! Scenarios: what users do to a platform.

use k8s_openapi::api::core::v1::Namespace;
use kube::{Api, api::DeleteParams};
use orchestra_api::{ConditionStatus, ConditionType, Reason};
use orchestra_testkit::scripted::ProvisionScript;
use serde_json::{Value as Json, json};

use crate::common::{CONFIG, Platform};

/// Sequence of changes to a platform.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Scenario {
    Create,
    Update,
    Rename,
    Late,
    Move,
    Share,
    Delete,
    NamespaceDelete,
    ConfigChange,
}

impl Scenario {
    pub(crate) const ALL: [Self; 9] = [
        Self::Create,
        Self::Update,
        Self::Rename,
        Self::Late,
        Self::Move,
        Self::Share,
        Self::Delete,
        Self::NamespaceDelete,
        Self::ConfigChange,
    ];

    pub(crate) async fn run(self, platform: &Platform) {
        match self {
            Self::Create => create(platform).await,
            Self::Update => {
                platform.apply("web", db_workload("db", "one")).await;
                platform.until_ready("web").await;
                platform.apply("web", db_workload("db", "two")).await;
                platform.until_ready("web").await;
            }
            Self::Rename => {
                platform.apply("web", db_workload("db", "one")).await;
                platform.until_ready("web").await;
                platform.apply("web", db_workload("database", "one")).await;
                platform.until_ready("web").await;
            }
            Self::Late => late(platform).await,
            Self::Move => {
                platform.apply("web", with_service()).await;
                platform.until_ready("web").await;
                let there = json!({"score.dev/move": "there"});
                platform.apply_annotated("web", there, with_service()).await;
                platform
                    .env
                    .eventually("web runs there", async || {
                        let running = platform.runtime.running(&platform.namespace, "web");
                        running.filter(|running| running.backend == "there")
                    })
                    .await;
            }
            Self::Share => {
                platform.apply("one", with_shared()).await;
                platform.apply("two", with_shared()).await;
                platform.until_ready("one").await;
                platform.until_ready("two").await;
                platform.delete("one").await;
                platform.until_gone("one").await;
            }
            Self::Delete => {
                create(platform).await;
                platform.delete("web").await;
                platform.until_gone("web").await;
            }
            Self::NamespaceDelete => {
                create(platform).await;
                let namespaces: Api<Namespace> = Api::all(platform.env.client());
                namespaces.delete(&platform.namespace, &DeleteParams::default()).await.unwrap();
                platform.until_gone("web").await;
            }
            Self::ConfigChange => {
                platform.apply("web", with_service()).await;
                platform.until_ready("web").await;
                let changed = CONFIG.replace("https://any.example.test", "https://other.example.test");
                platform.configure(&changed).await;
                platform
                    .env
                    .eventually("web runs with the other service", async || {
                        let running = platform.runtime.running(&platform.namespace, "web");
                        running.filter(|running| running.variables["app/URL"].contains("other"))
                    })
                    .await;
                platform.until_ready("web").await;
            }
        }
    }
}

/// Workload with two dependencies, one of which depends on the other.
async fn create(platform: &Platform) {
    let spec = json!({
        "containers": {"app": {"image": "nginx", "variables": {
            "PASSWORD": "${resources.db.password}", "CACHE": "${resources.cache.host}",
        }}},
        "service": {"ports": {"www": {"port": 80}}},
        "resources": {
            "db": {"type": "postgres"},
            "cache": {"type": "redis", "params": {"behind": "${resources.db.host}"}},
        },
    });
    platform.apply("web", spec).await;
    platform.until_ready("web").await;
}

async fn late(platform: &Platform) {
    platform.provisioner.script("postgres", ProvisionScript::Make);
    platform.apply("web", db_workload("db", "one")).await;
    let (status, reason) = (ConditionStatus::False, Reason::BindingPending);
    platform.until("web", ConditionType::ClaimsReady, status, reason).await;
    platform.provisioner.script("postgres", ProvisionScript::Bind);
    platform.until_ready("web").await;
}

fn db_workload(key: &str, more: &str) -> Json {
    json!({
        "containers": {"app": {"image": "nginx", "variables": {
            "PASSWORD": format!("${{resources.{key}.password}}"), "MORE": more,
        }}},
        "service": {"ports": {"www": {"port": 80}}},
        "resources": {key: {"type": "postgres"}},
    })
}

fn with_service() -> Json {
    json!({
        "containers": {"app": {"image": "nginx", "variables": {"URL": "${resources.api.url}"}}},
        "service": {"ports": {"www": {"port": 80}}},
        "resources": {"api": {"type": "link"}},
    })
}

fn with_shared() -> Json {
    json!({
        "containers": {"app": {"image": "nginx", "variables": {"PASSWORD": "${resources.db.password}"}}},
        "resources": {"db": {"type": "postgres", "id": "orders"}},
    })
}
