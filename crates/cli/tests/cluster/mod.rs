//! The orchestrator on a real API server, with real tokens: installation, permissions of its account, and messages to users.
//! Uses the cluster of `KUBECONFIG`, which must not run an orchestrator; it needs no node.

#![cfg(unix)]

pub(crate) mod fixture;
pub(crate) mod process;

use std::time::Instant;

use fixture::{Cluster, NAMESPACE};
use k8s_openapi::api::{
    apps::v1::Deployment,
    coordination::v1::Lease,
    core::v1::{ConfigMap, Secret},
};
use kube::{Api, api::ListParams};
use orchestra_api::{PlatformPolicy, ResourceClaim, Workload, WorkloadPlan};
use process::{orchestra, stderr};
use serde_json::json;

const SCORE: &str = "apiVersion: score.dev/v1b1\nmetadata: {name: web}\ncontainers: {app: {image: nginx}}\n";

/// One test, because the cluster has one orchestrator.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs KUBECONFIG"]
async fn the_orchestrator_runs_on_a_cluster() {
    let cluster = Cluster::from_environment().await;
    orchestra(&cluster.admin, &["uninstall"]).unwrap_or_default();

    install_is_idempotent_and_keeps_options(&cluster).await;
    the_orchestrator_config_is_kept(&cluster).await;
    let mut first = cluster.serve("first").await;
    leads(&cluster, "first").await;
    let mut second = cluster.serve("second").await;
    users_have_access_to_the_server_only(&cluster, &second.url).await;
    another_process_takes_over(&cluster, &mut first).await;
    uninstall_fails_while_workloads_exist(&cluster).await;
    second.terminate();
    uninstall_removes_everything(&cluster).await;
}

async fn install_is_idempotent_and_keeps_options(cluster: &Cluster) {
    let image = "registry.example.org/orchestra:7";
    let settings = ["install", "--no-wait", "--image", image, "--replicas", "3"];
    orchestra(&cluster.admin, &settings).unwrap();
    orchestra(&cluster.admin, &["install", "--no-wait", "--server-url", "https://o.example.org"]).unwrap();
    let deployments: Api<Deployment> = Api::namespaced(cluster.client.clone(), "score-system");
    let before = deployments.get("orchestra").await.unwrap();
    orchestra(&cluster.admin, &["install", "--no-wait"]).unwrap();
    let after = deployments.get("orchestra").await.unwrap();
    assert_eq!(before.metadata.resource_version, after.metadata.resource_version);
    let spec = json!(after.spec);
    assert_eq!(
        (&spec["replicas"], &spec["template"]["spec"]["containers"][0]["image"]),
        (&json!(3), &json!(image))
    );
    let arguments = spec["template"]["spec"]["containers"][0]["args"].to_string();
    assert!(arguments.contains("--server-url=https://o.example.org"), "{arguments}");

    let (_, preview) = stderr(&cluster.admin, &["install", "--dry-run"]);
    assert!(preview.lines().count() > 30, "{preview}");
    for line in preview.lines() {
        assert!(line.starts_with("unchanged "), "{line}");
    }
    let (_, preview) = stderr(&cluster.admin, &["install", "--dry-run", "--replicas", "4"]);
    let changed: Vec<&str> = preview.lines().filter(|line| !line.starts_with("unchanged ")).collect();
    assert_eq!(changed, ["would change Deployment score-system/orchestra"]);
}

async fn the_orchestrator_config_is_kept(cluster: &Cluster) {
    let document = "apiVersion: score.dev/v1b1\nkind: OrchestratorConfig\nspec: {}\n# ours\n";
    cluster.apply(&json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "orchestrator-config", "namespace": "score-system"}, "data": {"config.yaml": document},
    }))
    .await;
    orchestra(&cluster.admin, &["install", "--no-wait"]).unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(cluster.client.clone(), "score-system");
    let map = maps.get("orchestrator-config").await.unwrap();
    assert_eq!(map.data.unwrap()["config.yaml"], document);
}

async fn users_have_access_to_the_server_only(cluster: &Cluster, server: &str) {
    cluster.namespace(NAMESPACE).await;
    let developer = cluster.account("developer", NAMESPACE, "score-user").await;
    let stranger = cluster.account("stranger", NAMESPACE, "").await;
    let folder = tempfile::tempdir().unwrap();
    let score = folder.path().join("score.yaml");
    std::fs::write(&score, SCORE).unwrap();
    let score = score.to_str().unwrap();

    orchestra(&developer, &["apply", score]).unwrap();
    cluster
        .until("the workload has conditions", async |cluster| {
            let workloads: Api<Workload> = Api::namespaced(cluster.client.clone(), NAMESPACE);
            workloads.get("web").await.unwrap().status.is_some_and(|status| !status.conditions.is_empty())
        })
        .await;
    for command in [&["plan", score][..], &["explain", "web"], &["logs", "web"], &["describe", "web"]] {
        let args: Vec<&str> = command.iter().copied().chain(["--server", server]).collect();
        orchestra(&developer, &args).unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let (code, error) = stderr(&stranger, &args);
        assert_eq!(code, 1, "{command:?}: {error}");
        let refusal = error.to_lowercase();
        assert!(refusal.contains("forbidden") || refusal.contains("permission denied"), "{error}");
    }
    // They cannot read the objects that the server reads for them.
    let client = Cluster::client_of(&developer).await;
    let list = ListParams::default();
    let forbidden = [
        Api::<WorkloadPlan>::namespaced(client.clone(), NAMESPACE).list(&list).await.map(drop),
        Api::<ResourceClaim>::namespaced(client.clone(), NAMESPACE).list(&list).await.map(drop),
        Api::<PlatformPolicy>::all(client.clone()).list(&list).await.map(drop),
        Api::<Secret>::namespaced(client.clone(), NAMESPACE).list(&list).await.map(drop),
        Api::<Secret>::namespaced(client.clone(), "score-system").get("orchestra-serving").await.map(drop),
    ];
    for answer in forbidden {
        assert!(matches!(&answer, Err(kube::Error::Api(status)) if status.code == 403), "{answer:?}");
    }
    // Every authenticated user can read the address.
    let maps: Api<ConfigMap> = Api::namespaced(Cluster::client_of(&stranger).await, "score-system");
    let published = maps.get("orchestra-server").await.unwrap().data.unwrap();
    assert!(published["url"].starts_with("https://") && published["ca.crt"].contains("CERTIFICATE"));

    let (code, error) = stderr(&developer, &["explain", "web", "--server", server, "--token", "nonsense"]);
    assert_eq!(code, 1);
    assert!(!error.contains("nonsense"), "the token is printed: {error}");
}

async fn another_process_takes_over(cluster: &Cluster, first: &mut process::Process) {
    let died = Instant::now();
    first.kill();
    leads(cluster, "second").await;
    println!("failover after a kill: {} ms", died.elapsed().as_millis());
}

/// Waits until the process with this identity leads.
async fn leads(cluster: &Cluster, identity: &str) {
    let leases: Api<Lease> = Api::namespaced(cluster.client.clone(), "score-system");
    cluster
        .until(&format!("{identity} leads"), async |_| {
            let lease = leases.get_opt("orchestra").await.unwrap();
            lease.and_then(|lease| lease.spec?.holder_identity).as_deref() == Some(identity)
        })
        .await;
}

async fn uninstall_fails_while_workloads_exist(cluster: &Cluster) {
    let (code, error) = stderr(&cluster.admin, &["uninstall"]);
    assert_eq!(code, 1, "{error}");
    assert!(error.contains(&format!("1 workload in {NAMESPACE} (1)")), "{error}");
    let deployments: Api<Deployment> = Api::namespaced(cluster.client.clone(), "score-system");
    assert!(deployments.get_opt("orchestra").await.unwrap().is_some(), "nothing is removed");
    orchestra(&cluster.admin, &["delete", "-n", NAMESPACE, "web"]).unwrap();
}

async fn uninstall_removes_everything(cluster: &Cluster) {
    orchestra(&cluster.admin, &["uninstall", "--keep-crds"]).unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(cluster.client.clone(), "score-system");
    assert!(maps.get_opt("orchestrator-config").await.unwrap().is_some(), "the orchestrator config is kept");
    Api::<Workload>::all(cluster.client.clone()).list(&ListParams::default()).await.unwrap();
    orchestra(&cluster.admin, &["uninstall"]).unwrap();
    let (code, error) = stderr(&cluster.admin, &["uninstall"]);
    assert_eq!((code, error.contains("is not installed")), (0, true), "{error}");
    let namespaces: Api<k8s_openapi::api::core::v1::Namespace> = Api::all(cluster.client.clone());
    assert!(namespaces.get_opt("score-system").await.unwrap().is_none());
    cluster.clear().await;
}
