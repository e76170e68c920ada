//! Provision context that the claim controller gives to engines: Secret of the instance, Workloads of the namespace.

use std::sync::Arc;

use futures_util::{
    future::BoxFuture,
    stream::{self, BoxStream, StreamExt},
};
use k8s_openapi::api::core::v1::Secret;
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, ListParams, PostParams},
};
use orchestra_api::{
    ConditionStatus, ConditionType, Reason, Workload,
    claim::{DeprovisionPolicy, Output},
    label,
};
use orchestra_controllers::{Controllers, Options};
use orchestra_core::provision::{Bound, Engine, Instance, Provision, Release};
use orchestra_drivers::{
    DriverError, ProvisionContext, Provisioner, Released, SecretText, provision_context::SecretData,
};
use serde_json::{Value as Json, json};

use crate::flow::platform::Platform;

const CONFIG: &str = "
apiVersion: score.dev/v1b1
kind: OrchestratorConfig
spec:
  profiles: [{name: web, backends: [{backendId: here, runtimeClass: scripted}]}]
  provisioners: [{type: vault, engine: process}, {type: service, engine: process}]
";

/// Engine with a password per instance, and with the ports of Workloads.
struct Local;

impl Provisioner for Local {
    fn name(&self) -> &'static str {
        "process"
    }

    fn capabilities(&self) -> Engine {
        Engine { additive: false, reads_params: true }
    }

    fn ensure<'a>(
        &'a self,
        instance: &'a Instance,
        ctx: &'a dyn ProvisionContext,
    ) -> BoxFuture<'a, Result<Provision, DriverError>> {
        Box::pin(async move {
            if instance.type_ == "service" {
                let workload = &instance.dependents[0].key;
                return Ok(
                    match ctx.workload_ports(workload).and_then(|ports| Some(ports.get("web")?.port)) {
                        Some(port) => {
                            let outputs = [("port".to_owned(), Output::Value(json!(port)))].into();
                            Provision::Bound(Bound { outputs, ..Bound::default() })
                        }
                        None => Provision::Pending(format!("There are {:?}.", ctx.workload_names())),
                    },
                );
            }
            let generate = |current: &SecretData| {
                let mut contents = current.clone();
                let value = || SecretText::new(instance.claims[0].clone().into_bytes());
                contents.entry("password".to_owned()).or_insert_with(value);
                Ok(contents)
            };
            let secret = ctx.update_secret(&generate).await?;
            let outputs = [("password".to_owned(), Output::SecretKeyRef(secret.key("password")))].into();
            let versions = [(secret.name, secret.version)].into();
            Ok(Provision::Bound(Bound { outputs, versions, message: "Ready.".to_owned() }))
        })
    }

    fn release<'a>(
        &'a self,
        release: &'a Release,
        ctx: &'a dyn ProvisionContext,
    ) -> BoxFuture<'a, Result<Released, DriverError>> {
        Box::pin(async move {
            if release.policy == DeprovisionPolicy::Delete {
                ctx.delete_secret().await?;
            }
            Ok(Released::Done)
        })
    }

    fn changes(&self) -> BoxStream<'static, (String, String)> {
        stream::pending().boxed()
    }
}

async fn start() -> Platform {
    let mut platform = Platform::new(Platform::environment().await, "default");
    platform.configure(CONFIG).await;
    let options = Options { provisioners: vec![Arc::new(Local)], ..platform.options() };
    platform.controllers = Some(Controllers::start(platform.env.client(), options).await.unwrap());
    platform
}

fn vault(policy: &str) -> Json {
    json!({
        "containers": {"app": {"image": "nginx", "variables": {"KEY": "${resources.vault.password}"}}},
        "resources": {"vault": {"type": "vault", "metadata": {"annotations": {"score.dev/deprovision": policy}}}},
    })
}

async fn secrets(platform: &Platform) -> Vec<Secret> {
    platform.api::<Secret>().list(&ListParams::default()).await.unwrap().items
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_secret_of_an_instance_is_deleted_with_it_unless_it_is_retained() {
    let platform = start().await;
    platform.apply("shop", vault("Retain")).await;
    platform.until_ready("shop").await;
    let kept = secrets(&platform).await;
    assert_eq!(kept.len(), 1, "{kept:#?}");
    assert_eq!(kept[0].labels()[label::MANAGED_BY], "orchestra");
    assert!(kept[0].labels().contains_key(label::INSTANCE));
    assert!(kept[0].owner_references().is_empty(), "it outlives its claim");
    platform.delete("shop").await;
    platform.until_gone("shop").await;
    assert_eq!(secrets(&platform).await, kept);
    platform.apply("shop", vault("Delete")).await;
    platform.until_ready("shop").await;
    assert_eq!(secrets(&platform).await, kept, "a new claim gets the retained secret");
    platform.delete("shop").await;
    platform.until_gone("shop").await;
    assert_eq!(secrets(&platform).await, []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_foreign_secret_is_reported_and_not_changed() {
    let platform = start().await;
    platform.apply("shop", vault("Delete")).await;
    platform.until_ready("shop").await;
    let name = secrets(&platform).await[0].name_any();
    platform.delete("shop").await;
    platform.until_gone("shop").await;
    let api: Api<Secret> = platform.api();
    let foreign: Secret =
        serde_json::from_value(json!({"metadata": {"name": name}, "stringData": {"password": "mine"}}))
            .unwrap();
    let foreign = api.create(&PostParams::default(), &foreign).await.unwrap();
    platform.apply("shop", vault("Delete")).await;
    let workload = platform
        .until("shop", ConditionType::ClaimsReady, ConditionStatus::False, Reason::BindingFailed)
        .await;
    let message = workload.status.unwrap().claims[0].message.clone();
    assert!(message.contains(&format!("`{name}`")) && message.contains("rename or delete"), "{message}");
    platform.delete("shop").await;
    platform.until_gone("shop").await;
    assert_eq!(secrets(&platform).await, [foreign]);
}

fn referring(to: &str, port: Option<u16>) -> Json {
    let ports = port.map(|port| json!({"web": {"port": port}})).unwrap_or(json!({}));
    json!({
        "service": {"ports": ports},
        "containers": {"app": {"image": "nginx", "variables": {"PORT": format!("${{resources.{to}.port}}")}}},
        "resources": {to: {"type": "service"}},
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_workloads_that_refer_to_each_other_follow_port_changes() {
    let platform = start().await;
    let variable =
        |name: &str| platform.runtime.running("default", name).unwrap().variables["app/PORT"].clone();
    platform.apply("front", referring("back", Some(8080))).await;
    let is_pending = async || {
        let front = platform.workloads().get("front").await.map_err(|error| error.to_string())?;
        let claims = front.status.unwrap_or_default().claims;
        let message = claims.first().map(|claim| claim.message.clone()).unwrap_or_default();
        if message == "There are [\"front\"]." { Ok(true) } else { Err(message) }
    };
    platform.env.eventually("the claim is pending", is_pending).await;
    platform.apply("back", referring("front", Some(9090))).await;
    platform.until_ready("front").await;
    platform.until_ready("back").await;
    assert_eq!((variable("front"), variable("back")), ("9090".to_owned(), "8080".to_owned()));
    platform.apply("back", referring("front", Some(9191))).await;
    platform
        .env
        .eventually("the new port is used", async || Ok::<_, String>(variable("front") == "9191"))
        .await;
    let workloads: Api<Workload> = platform.api();
    workloads.delete("back", &DeleteParams::default()).await.unwrap();
    platform.until("front", ConditionType::ClaimsReady, ConditionStatus::False, Reason::BindingPending).await;
}
