//! Setup of the orchestrator on an embedded or real server: CRDs, roles, accounts, orchestrator config.
//!
//! Accounts and roles matter only on a server with RBAC; elsewhere every client is the administrator.

pub mod access;
pub mod embedded;
pub mod manifests;
pub mod rights;

use std::{
    fmt::{Debug, Display},
    path::PathBuf,
    time::Duration,
};

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::{
    Api, Client, Resource, ResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams},
    core::NamespaceResourceScope,
};
use orchestra_api::{ResourceClaim, Workload, WorkloadPlan};
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::time::{Instant, sleep};

pub use access::Access;
pub use embedded::Embedded;

/// Any error.
pub type Error = Box<dyn std::error::Error + Send + Sync>;

/// Timeout of a wait.
const WAIT_TIMEOUT: Duration = Duration::from_mins(1);
/// Polling interval.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Project folder.
pub fn project() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Applies an orchestrator config, and discards the previous one.
pub async fn configure(client: &Client, document: &str) -> Result<(), Error> {
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "score-system");
    ignore_missing(maps.delete("orchestrator-config-in-force", &DeleteParams::default()).await.map(drop))?;
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "orchestrator-config"},
        "data": {"config.yaml": document},
    });
    maps.patch("orchestrator-config", &PatchParams::apply("e2e").force(), &Patch::Apply(map)).await?;
    Ok(())
}

/// Deletes a namespace, also one that a failed run left behind without controllers.
pub async fn clear(client: &Client, name: &str) -> Result<(), Error> {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    ignore_missing(namespaces.delete(name, &DeleteParams::default()).await.map(drop))?;
    eventually("the namespace is deleted", async || {
        if namespaces.get_opt(name).await?.is_none() {
            return Ok(());
        }
        remove_finalizers::<Workload>(client, name).await?;
        remove_finalizers::<ResourceClaim>(client, name).await?;
        remove_finalizers::<WorkloadPlan>(client, name).await?;
        Err("it still exists".into())
    })
    .await
}

async fn remove_finalizers<K>(client: &Client, namespace: &str) -> Result<(), Error>
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone + Debug + DeserializeOwned,
{
    let api: Api<K> = Api::namespaced(client.clone(), namespace);
    for held in
        api.list(&ListParams::default()).await?.iter().filter(|object| !object.finalizers().is_empty())
    {
        let patch = Patch::Merge(json!({"metadata": {"finalizers": null}}));
        ignore_missing(api.patch(&held.name_any(), &PatchParams::default(), &patch).await.map(drop))?;
    }
    Ok(())
}

/// Treats 404 of a deletion as success.
pub fn ignore_missing(answer: kube::Result<()>) -> kube::Result<()> {
    match answer {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        answer => answer,
    }
}

/// Polls until a check succeeds.
pub async fn eventually<T>(
    what: impl Display,
    mut poll: impl AsyncFnMut() -> Result<T, Error>,
) -> Result<T, Error> {
    let end = Instant::now() + WAIT_TIMEOUT;
    loop {
        match poll().await {
            Ok(found) => return Ok(found),
            Err(error) if Instant::now() > end => return Err(format!("{what}: {error}").into()),
            Err(_) => sleep(POLL_INTERVAL).await,
        }
    }
}
