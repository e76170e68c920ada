//! Installation and uninstallation of the orchestrator.

use orchestra_e2e::platform::Error;
use serde_json::json;

use crate::{
    cluster::{self, setting},
    document::page,
    space::Space,
    suite::Skip,
    wait::{contains, holds, same, until},
};

const SYSTEM: &str = "/apis/apps/v1/namespaces/score-system/deployments";

/// Image of the orchestrator, if all replicas are ready with it.
pub(super) async fn running(space: &Space) -> Result<String, Error> {
    let all = space.cluster.list(SYSTEM).await?;
    let live = all.first().ok_or("there is no orchestrator")?;
    same("ready replicas", &live["status"]["readyReplicas"], &json!(2))?;
    same("updated replicas", &live["status"]["updatedReplicas"], &json!(2))?;
    Ok(live["spec"]["template"]["spec"]["containers"][0]["image"].as_str().unwrap_or_default().to_owned())
}

pub(super) async fn install(space: &Space) -> Result<(), Error> {
    let image = cluster::image();
    let output = space
        .cluster
        .run(&format!("orchestra install --image {image} --server-url {}", cluster::SERVER))
        .await?;
    holds("install printed nothing", !output.trim().is_empty())?;
    same("the image", running(space).await?, image.clone())?;
    // A second install keeps the options of the first and changes nothing.
    space.cluster.run("orchestra install").await?;
    same("the image after a second time", running(space).await?, image)?;
    let checked = space.cluster.run("orchestra doctor").await?;
    holds("doctor printed nothing", !checked.trim().is_empty())
}

pub(super) async fn configure(space: &Space) -> Result<(), Error> {
    space.cluster.run("orchestra install --config e2e/kubernetes/platform.yaml").await?;
    same("the image", running(space).await?, cluster::image())?;
    let path = "/api/v1/namespaces/score-system/configmaps/orchestrator-config-in-force";
    until("the config is in force", async || {
        contains("it", &space.cluster.get(path).await?["data"].to_string(), "apps.example.test")
    })
    .await?;
    // Without the option the config stays.
    space.cluster.run("orchestra install").await?;
    let path = "/api/v1/namespaces/score-system/configmaps/orchestrator-config";
    contains("the document", &space.cluster.get(path).await?["data"].to_string(), "apps.example.test")
}

pub(super) async fn uninstall(space: &Space) -> Result<(), Error> {
    space.run(&page("shop", "in the way")?).await?;
    let refused = space.cluster.fails("orchestra uninstall").await?;
    contains("the reason of the refusal", &refused, &space.name)?;
    space.delete("shop").await?;
    until("other namespaces are deleted", async || {
        let all = space.cluster.list("/apis/score.dev/v1b1/workloads").await?;
        same("workloads", all.len(), 0)
    })
    .await?;
    space.cluster.run("orchestra uninstall").await?;
    for path in [
        "/apis/rbac.authorization.k8s.io/v1/clusterroles",
        "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    ] {
        let all = space.cluster.list(path).await?;
        let ours = |name: &str| name.starts_with("score-") || name.starts_with("orchestra");
        let left: Vec<_> =
            all.iter().filter_map(|it| it["metadata"]["name"].as_str()).filter(|name| ours(name)).collect();
        // Accounts of the suite.
        let left: Vec<_> = left.into_iter().filter(|name| !name.starts_with("score-e2e")).collect();
        same(path, left, Vec::new())?;
    }
    until("the CRDs are deleted", async || {
        holds("they are still served", space.cluster.get("/apis/score.dev/v1b1").await.is_err())
    })
    .await
}

/// The chart is generated from the files that the command installs.
pub(super) async fn helm(space: &Space) -> Result<(), Error> {
    let Some(helm) = setting("E2E_HELM") else {
        return Err(Skip("E2E_HELM is not set: no Helm").into());
    };
    space.cluster.run("orchestra uninstall").await?;
    let image = cluster::image();
    let release = "orchestra -n score-system";
    let chart = format!("{release} deploy/helm/orchestra --wait --timeout 50s --set image={image}");
    space.cluster.run(&format!("{helm} install {chart} --create-namespace")).await?;
    same("the image", running(space).await?, image)?;
    space.cluster.run("orchestra doctor").await?;
    space.run(&page("shop", "by a chart")?).await?;
    // An upgrade without changes restarts nothing.
    let before = space.cluster.list(SYSTEM).await?[0]["metadata"]["generation"].clone();
    space.cluster.run(&format!("{helm} upgrade {chart}")).await?;
    same("the version", &space.cluster.list(SYSTEM).await?[0]["metadata"]["generation"], &before)?;
    // A real API server accepts the objects of the chart with every value set.
    let all =
        "kubectl apply --server-side --force-conflicts --dry-run=server -f e2e/kubernetes/helm/rendered.yaml";
    same("objects of the chart", space.cluster.run(all).await?.lines().count(), 5)?;
    space.cluster.run(&format!("{helm} uninstall {release} --wait --timeout 50s")).await?;
    same("what is left of it", space.cluster.list(SYSTEM).await?.len(), 0)?;
    // Uninstalling the chart keeps the CRDs, and so the Workloads.
    space.workload("shop").await?;
    space.cluster.run(&format!("{helm} install {chart}")).await?;
    space.until_ready("shop").await?;
    space.delete("shop").await?;
    space.cluster.run(&format!("{helm} uninstall {release} --wait --timeout 50s")).await?;
    space.cluster.run("orchestra uninstall").await.map(drop)
}
