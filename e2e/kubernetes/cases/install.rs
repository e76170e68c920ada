//! Setting the orchestrator up, and taking it away.

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

/// The image that runs, if all replicas of the orchestrator are ready with it.
pub(super) async fn running(space: &Space) -> Result<String, Error> {
    let all = space.cluster.list(SYSTEM).await?;
    let live = all.first().ok_or("there is no orchestrator")?;
    same("ready replicas", &live["status"]["readyReplicas"], &json!(2))?;
    same("updated replicas", &live["status"]["updatedReplicas"], &json!(2))?;
    Ok(live["spec"]["template"]["spec"]["containers"][0]["image"].as_str().unwrap_or_default().to_owned())
}

pub(super) async fn install(space: &Space) -> Result<(), Error> {
    let image = cluster::image();
    let said = space
        .cluster
        .run(&format!("orchestra install --image {image} --server-url {}", cluster::SERVER))
        .await?;
    holds("it says nothing", !said.trim().is_empty())?;
    same("the image", running(space).await?, image.clone())?;
    // Once more changes nothing, and needs nothing to be told again.
    space.cluster.run("orchestra install").await?;
    same("the image after a second time", running(space).await?, image)?;
    let checked = space.cluster.run("orchestra doctor").await?;
    holds("doctor says nothing", !checked.trim().is_empty())
}

pub(super) async fn configure(space: &Space) -> Result<(), Error> {
    space.cluster.run("orchestra install --config e2e/kubernetes/platform.yaml").await?;
    same("the image", running(space).await?, cluster::image())?;
    let path = "/api/v1/namespaces/score-system/configmaps/orchestrator-config-in-force";
    until("the document is in force", async || {
        contains("it", &space.cluster.get(path).await?["data"].to_string(), "apps.example.test")
    })
    .await?;
    // Without the option the document stays.
    space.cluster.run("orchestra install").await?;
    let path = "/api/v1/namespaces/score-system/configmaps/orchestrator-config";
    contains("the document", &space.cluster.get(path).await?["data"].to_string(), "apps.example.test")
}

pub(super) async fn uninstall(space: &Space) -> Result<(), Error> {
    space.run(&page("shop", "in the way")?).await?;
    let refused = space.cluster.fails("orchestra uninstall").await?;
    contains("why it does not go", &refused, &space.name)?;
    space.delete("shop").await?;
    until("other namespaces go", async || {
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
        // The suite has accounts of its own.
        let left: Vec<_> = left.into_iter().filter(|name| !name.starts_with("score-e2e")).collect();
        same(path, left, Vec::new())?;
    }
    until("the kinds go", async || {
        holds("they are there", space.cluster.get("/apis/score.dev/v1b1").await.is_err())
    })
    .await
}

/// The chart is made from the same files as what the command installs.
pub(super) async fn helm(space: &Space) -> Result<(), Error> {
    let Some(helm) = setting("E2E_HELM") else {
        return Err(Skip("E2E_HELM does not say where Helm is").into());
    };
    space.cluster.run("orchestra uninstall").await?;
    let image = cluster::image();
    let release = "orchestra -n score-system";
    let chart = format!("{release} deploy/helm/orchestra --wait --timeout 50s --set image={image}");
    space.cluster.run(&format!("{helm} install {chart} --create-namespace")).await?;
    same("the image", running(space).await?, image)?;
    space.cluster.run("orchestra doctor").await?;
    space.run(&page("shop", "by a chart")?).await?;
    // The same once more changes nothing that runs.
    let before = space.cluster.list(SYSTEM).await?[0]["metadata"]["generation"].clone();
    space.cluster.run(&format!("{helm} upgrade {chart}")).await?;
    same("the version", &space.cluster.list(SYSTEM).await?[0]["metadata"]["generation"], &before)?;
    space.cluster.run(&format!("{helm} uninstall {release} --wait --timeout 50s")).await?;
    same("what is left of it", space.cluster.list(SYSTEM).await?.len(), 0)?;
    // With the chart the definitions do not go, and so no Workload does.
    space.workload("shop").await?;
    space.cluster.run(&format!("{helm} install {chart}")).await?;
    space.until_ready("shop").await?;
    space.delete("shop").await?;
    space.cluster.run(&format!("{helm} uninstall {release} --wait --timeout 50s")).await?;
    space.cluster.run("orchestra uninstall").await.map(drop)
}
