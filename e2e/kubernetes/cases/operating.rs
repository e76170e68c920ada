//! Failures and upgrades of the orchestrator, which must not affect Workloads.

use std::{collections::BTreeMap, time::Instant};

use futures_util::future::try_join_all;
use orchestra_e2e::platform::Error;
use serde_json::Value as Json;

use super::{changes::answers, install::running};
use crate::{
    cluster,
    document::{page, workload},
    space::Space,
    suite::Skip,
    wait::{holds, same, until},
};

const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/score-system/leases/orchestra";

async fn holder(space: &Space) -> Result<String, Error> {
    let lease = space.cluster.get(LEASE).await?;
    let holder = lease["spec"]["holderIdentity"].as_str().filter(|holder| !holder.is_empty());
    Ok(holder.ok_or("no replica is the leader")?.to_owned())
}

fn idle(name: &str) -> Result<Json, Error> {
    workload(name, r#"{containers: {app: {image: PROBE, command: [hold, sleep, "3600"]}}}"#)
}

pub(super) async fn leader(space: &Space) -> Result<(), Error> {
    let first = holder(space).await?;
    let pods = space.cluster.list("/api/v1/namespaces/score-system/pods").await?;
    let names = pods.iter().filter_map(|pod| pod["metadata"]["name"].as_str());
    let leading = names
        .clone()
        .find(|name| first.contains(name))
        .ok_or_else(|| format!("{first} is not a pod of the orchestrator"))?;
    let documents: Vec<Json> = (0..20).map(|number| idle(&format!("w{number}"))).collect::<Result<_, _>>()?;
    let (early, late) = documents.split_at(8);
    try_join_all(early.iter().map(|document| space.apply(document))).await?;
    let killed = Instant::now();
    space
        .cluster
        .run(&format!("kubectl -n score-system delete pod {leading} --force --grace-period=0 2>&1"))
        .await?;
    try_join_all(late.iter().map(|document| space.apply(document))).await?;
    until("another pod leads", async || holds("the first one still leads", holder(space).await? != first))
        .await?;
    space.note(&format!("another pod leads after {:.1} s", killed.elapsed().as_secs_f32()));
    for number in 0..20 {
        space.until_ready(&format!("w{number}")).await?;
    }
    space.note(&format!("all 20 are ready after {:.1} s", killed.elapsed().as_secs_f32()));
    same("what runs", space.list("apps/v1", "deployments").await?.len(), 20)?;
    until("both replicas are ready", async || running(space).await.map(drop)).await
}

/// Needs a hook of the cluster provider.
pub(super) async fn api_server(space: &Space) -> Result<(), Error> {
    space.run(&page("shop", "before the restart")?).await?;
    // The namespace controller skips objects of kinds that are not served yet after the restart.
    until("no namespace is terminating", async || {
        let all = space.cluster.list("/api/v1/namespaces").await?;
        let leaving = all.iter().filter(|namespace| namespace["status"]["phase"] == "Terminating").count();
        same("namespaces", leaving, 0)
    })
    .await?;
    match space.cluster.provider("E2E_RESTART_API").await {
        None => return Err(Skip("E2E_RESTART_API is not set: no command to restart the API server").into()),
        Some(restarted) => restarted?,
    };
    until("the API responds", async || space.cluster.text("/readyz").await.map(drop)).await?;
    until("the change is accepted", async || space.apply(&page("shop", "after the restart")?).await).await?;
    space.until_ready("shop").await?;
    answers(space, "shop", "after the restart").await?;
    for pod in space.cluster.list("/api/v1/namespaces/score-system/pods").await? {
        let name = &pod["metadata"]["name"];
        same(
            format!("restarts of {name}"),
            &pod["status"]["containerStatuses"][0]["restartCount"],
            &0.into(),
        )?;
    }
    Ok(())
}

/// Restart counts of containers, by ID.
async fn restarts(space: &Space) -> Result<BTreeMap<String, u64>, Error> {
    let pods = space.list("v1", "pods").await?;
    let counted = pods.iter().map(|pod| {
        let uid = pod["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
        (uid, pod["status"]["containerStatuses"][0]["restartCount"].as_u64().unwrap_or_default())
    });
    Ok(counted.collect())
}

async fn generations(space: &Space) -> Result<BTreeMap<String, Option<u64>>, Error> {
    let all = space.list("apps/v1", "deployments").await?;
    let name = |object: &Json| object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    Ok(all.iter().map(|object| (name(object), object["metadata"]["generation"].as_u64())).collect())
}

/// The earlier version is installed by its own program, so it needs an empty cluster.
pub(super) async fn upgrade(space: &Space) -> Result<(), Error> {
    until("earlier cases have cleaned up", async || {
        let pods = space.cluster.list("/api/v1/pods").await?;
        let others =
            |pod: &&Json| pod["metadata"]["namespace"].as_str().is_some_and(|name| name.starts_with("e2e-"));
        same("others", pods.iter().filter(others).count(), 0)?;
        same("workloads", space.cluster.list("/apis/score.dev/v1b1/workloads").await?.len(), 0)
    })
    .await?;
    space.cluster.run("orchestra uninstall").await?;
    let before = cluster::program_before();
    let program = before.as_deref().unwrap_or("orchestra");
    space.note(&before.as_deref().map_or("from the same program".to_owned(), |path| {
        format!("from {}", path.rsplit('/').next().unwrap_or(path))
    }));
    space.cluster.run(&format!("{program} install --image {}", cluster::image_before())).await?;
    same("the image before", running(space).await?, cluster::image_before())?;
    let started = Instant::now();
    let documents: Vec<Json> =
        (0..100).map(|number| idle(&format!("w{number}"))).collect::<Result<_, _>>()?;
    for some in documents.chunks(10) {
        try_join_all(some.iter().map(|document| space.apply(document))).await?;
    }
    for number in 0..100 {
        space.until_ready(&format!("w{number}")).await?;
    }
    space.note(&format!("100 ready after {:.0} s", started.elapsed().as_secs_f32()));
    let (before, versions) = (restarts(space).await?, generations(space).await?);
    same("running pods before", before.len(), 100)?;
    space.cluster.run(&format!("orchestra install --image {}", cluster::image())).await?;
    same("the image after", running(space).await?, cluster::image())?;
    // A new Workload shows that the new leader reconciles.
    space.run(&idle("after")?).await?;
    space.delete("after").await?;
    until("the last workload is deleted", async || same("running pods", restarts(space).await?.len(), 100))
        .await?;
    same("restarts and replacements", restarts(space).await?, before)?;
    same("changed versions", generations(space).await?, versions)?;
    for number in 0..100 {
        space.until_ready(&format!("w{number}")).await?;
    }
    Ok(())
}
