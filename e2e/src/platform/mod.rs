//! The orchestrator on a server, as a platform team would set it up: kinds, roles, accounts, the platform's document.
//!
//! The same is done on the embedded server and on a real one. Only where a server controls access do accounts and
//! roles mean something; elsewhere everybody is the administrator.

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

/// Whatever went wrong.
pub type Error = Box<dyn std::error::Error + Send + Sync>;

/// How long something is waited for before that counts as a failure.
const PATIENCE: Duration = Duration::from_mins(1);
/// How often it is looked at.
const PACE: Duration = Duration::from_millis(50);

/// The folder of the project.
pub fn project() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Puts a platform's document in force, and forgets the one before.
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

/// Removes a namespace, also one that a failed run has left behind and nobody looks after.
pub async fn clear(client: &Client, name: &str) -> Result<(), Error> {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    ignore_missing(namespaces.delete(name, &DeleteParams::default()).await.map(drop))?;
    eventually("the namespace goes", async || {
        if namespaces.get_opt(name).await?.is_none() {
            return Ok(());
        }
        let_go::<Workload>(client, name).await?;
        let_go::<ResourceClaim>(client, name).await?;
        let_go::<WorkloadPlan>(client, name).await?;
        Err("it is still there".into())
    })
    .await
}

async fn let_go<K>(client: &Client, namespace: &str) -> Result<(), Error>
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

/// What is not there needs no deletion.
pub fn ignore_missing(answer: kube::Result<()>) -> kube::Result<()> {
    match answer {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        answer => answer,
    }
}

/// Looks again and again until a look answers without an error.
pub async fn eventually<T>(
    what: impl Display,
    mut look: impl AsyncFnMut() -> Result<T, Error>,
) -> Result<T, Error> {
    let end = Instant::now() + PATIENCE;
    loop {
        match look().await {
            Ok(found) => return Ok(found),
            Err(error) if Instant::now() > end => return Err(format!("{what}: {error}").into()),
            Err(_) => sleep(PACE).await,
        }
    }
}
