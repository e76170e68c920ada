//! Example of an external provisioner: its queues are tokens in Secrets.
//!
//! It follows `docs/spec/lifecycle.md` and uses only the API. It is simple rather than fast: every change reconciles
//! everything.
#![allow(clippy::print_stderr, reason = "command-line tool")]

use std::{
    collections::{BTreeMap, hash_map::DefaultHasher},
    fs::File,
    hash::{Hash, Hasher},
    io::Read,
    pin::pin,
    sync::Arc,
    time::Duration,
};

use futures_util::StreamExt;
use k8s_openapi::api::core::v1::Secret;
use kube::{
    Api, Client, ResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams, WatchParams},
};
use orchestra_api::{
    ResourceClaim, WorkloadPlan,
    claim::{DeprovisionPolicy, ResourceClaimStatus},
    plan::Phase,
};
use serde::de::DeserializeOwned;
use serde_json::{Value as Json, json};
use tokio::{
    sync::Notify,
    time::{sleep, timeout},
};

/// Type that it provides. The orchestrator config has the entry `{type: queue, engine: external}`.
const TYPE: &str = "queue";
/// Finalizer of claims until their queue is deleted.
const FINALIZER: &str = "queue.example.org/provisioner";
/// Field manager.
const MANAGER: &str = "queue.example.org";
/// Label of the claims that share a queue, and of its Secret.
const INSTANCE: &str = "score.dev/instance";
/// Interval of reconciles without changes.
const RESYNC_INTERVAL: Duration = Duration::from_secs(5);

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let client = Client::try_default().await?;
    let changed = Arc::new(Notify::new());
    tokio::spawn(watch_changes(Api::<ResourceClaim>::all(client.clone()), changed.clone()));
    tokio::spawn(watch_changes(Api::<WorkloadPlan>::all(client.clone()), changed.clone()));
    loop {
        if let Err(error) = reconcile_all(&client).await {
            eprintln!("{error}; retrying");
        }
        // A timeout triggers a reconcile too.
        let _ = timeout(RESYNC_INTERVAL, changed.notified()).await;
    }
}

/// Notifies of every change of a kind.
async fn watch_changes<K: Clone + std::fmt::Debug + DeserializeOwned + Send + 'static>(
    api: Api<K>,
    changed: Arc<Notify>,
) {
    loop {
        if let Ok(events) = api.watch(&WatchParams::default(), "0").await {
            let mut events = pin!(events);
            while let Some(Ok(_)) = events.next().await {
                changed.notify_one();
            }
        }
        sleep(Duration::from_millis(200)).await;
    }
}

async fn reconcile_all(client: &Client) -> Result<()> {
    let claims = Api::<ResourceClaim>::all(client.clone()).list(&ListParams::default()).await?;
    let plans = Api::<WorkloadPlan>::all(client.clone()).list(&ListParams::default()).await?.items;
    let mut instances: BTreeMap<(String, String), Vec<ResourceClaim>> = BTreeMap::new();
    for claim in claims.items.into_iter().filter(is_mine) {
        let instance = claim.labels().get(INSTANCE).cloned().unwrap_or_default();
        instances.entry((claim.namespace().unwrap_or_default(), instance)).or_default().push(claim);
    }
    for ((namespace, id), claims) in instances {
        let queue = Queue { client, namespace, id };
        if let Err(error) = queue.reconcile(&claims, &plans).await {
            eprintln!("queue {}: {error}; retrying", queue.id);
        }
    }
    Ok(())
}

/// True unless a built-in engine manages the claim.
fn is_mine(claim: &ResourceClaim) -> bool {
    claim.spec.type_ == TYPE && !claim.finalizers().iter().any(|holder| holder == "score.dev/provisioner")
}

/// True if a running Workload may use the claim: its plan refers to it, or has not yet replaced one that did.
fn is_used(claim: &ResourceClaim, plans: &[WorkloadPlan]) -> bool {
    let plan = plans.iter().find(|plan| {
        plan.namespace() == claim.namespace() && plan.spec.workload_ref == claim.spec.workload_ref
    });
    plan.is_some_and(|plan| {
        let may_run_older = plan.status.as_ref().is_some_and(|status| {
            status.phase != Phase::Ready || status.observed_revision.as_ref() != Some(&plan.spec.revision)
        });
        may_run_older || plan.spec.claims.iter().any(|used| used.name == claim.name_any())
    })
}

/// Queue, which several claims may share.
struct Queue<'a> {
    client: &'a Client,
    namespace: String,
    id: String,
}

impl Queue<'_> {
    async fn reconcile(&self, claims: &[ResourceClaim], plans: &[WorkloadPlan]) -> Result<()> {
        let (dying, mut living): (Vec<_>, Vec<_>) =
            claims.iter().partition(|claim| claim.metadata.deletion_timestamp.is_some());
        let held = dying.into_iter().filter(|claim| claim.finalizers().iter().any(|held| held == FINALIZER));
        let (used, free): (Vec<_>, Vec<_>) = held.partition(|claim| is_used(claim, plans));
        if living.is_empty() && used.is_empty() {
            // The last claim deletes the queue, with the most conservative policy.
            let policy = free.iter().map(|claim| claim.spec.deprovision_policy).max();
            if policy == Some(DeprovisionPolicy::Delete) {
                self.remove_token().await?;
            }
        }
        for claim in free {
            self.set_finalizers(claim, &[]).await?;
        }
        living.sort_by_key(|claim| (claim.creation_timestamp(), claim.name_any()));
        let Some(holder) = living.first() else { return Ok(()) };
        for claim in &living {
            if claim.spec.params.is_some() && claim.spec.params != holder.spec.params {
                let message =
                    format!("`{}` shares this queue with other parameters.", holder.spec.workload_ref.name);
                self.update_status(claim, failed(claim, &message)).await?;
                continue;
            }
            // Add the finalizer before creating the queue, so that it cannot leak.
            self.set_finalizers(claim, &[FINALIZER]).await?;
            let status = self.provide(claim, holder).await?;
            self.update_status(claim, status).await?;
        }
        Ok(())
    }

    async fn provide(&self, claim: &ResourceClaim, holder: &ResourceClaim) -> Result<Json> {
        let secret = self.ensure_token().await?;
        if secret.labels().get(INSTANCE) != Some(&self.id) {
            return Ok(failed(
                claim,
                "A Secret of this name already exists and is not managed by this provisioner; delete it.",
            ));
        }
        let shards = holder.spec.params.as_ref().and_then(|params| params.get("shards")).cloned();
        let outputs = json!({
            "url": {"value": format!("amqp://{}.queues.example.org", self.id)},
            "shards": {"value": shards.unwrap_or(json!(1))},
            "token": {"secretKeyRef": {"name": secret.name_any(), "key": "token"}},
        });
        // The version of the Secret changes with the token, and does not reveal it.
        let mut revision = DefaultHasher::new();
        (outputs.to_string(), secret.resource_version()).hash(&mut revision);
        Ok(json!({
            "phase": "Bound", "reason": "Succeeded", "message": "The queue takes messages.",
            "outputsAvailable": true, "outputs": outputs,
            "outputsRevision": format!("{:016x}", revision.finish()),
            "observedGeneration": claim.metadata.generation,
        }))
    }

    /// Creates the token once; it lives as long as the queue.
    async fn ensure_token(&self) -> Result<Secret> {
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), &self.namespace);
        if let Some(known) = secrets.get_opt(&self.name()).await? {
            return Ok(known);
        }
        let mut random = [0_u8; 16];
        File::open("/dev/urandom")?.read_exact(&mut random)?;
        let token = random.iter().fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"));
        let secret: Secret = serde_json::from_value(json!({
            "metadata": {"name": self.name(), "labels": {INSTANCE: self.id}}, "stringData": {"token": token},
        }))?;
        Ok(secrets.create(&PostParams::default(), &secret).await?)
    }

    async fn remove_token(&self) -> Result<()> {
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), &self.namespace);
        let ours = secrets
            .get_opt(&self.name())
            .await?
            .filter(|known| known.labels().get(INSTANCE) == Some(&self.id));
        if ours.is_some() {
            secrets.delete(&self.name(), &DeleteParams::default()).await?;
        }
        Ok(())
    }

    fn name(&self) -> String {
        format!("queue-{}", self.id)
    }

    /// Sets our finalizers on a claim; those of other managers stay.
    async fn set_finalizers(&self, claim: &ResourceClaim, finalizers: &[&str]) -> Result<()> {
        if claim.finalizers().iter().any(|held| held == FINALIZER) != finalizers.is_empty() {
            return Ok(());
        }
        let body = addressed(claim, json!({"finalizers": finalizers}), None);
        self.claims().patch(&claim.name_any(), &apply(), &Patch::Apply(body)).await?;
        Ok(())
    }

    /// Applies the whole status if it has changed.
    async fn update_status(&self, claim: &ResourceClaim, status: Json) -> Result<()> {
        let new: ResourceClaimStatus = serde_json::from_value(status.clone())?;
        if claim.status.as_ref() != Some(&new) {
            let body = addressed(claim, json!({}), Some(status));
            self.claims().patch_status(&claim.name_any(), &apply(), &Patch::Apply(body)).await?;
        }
        Ok(())
    }

    fn claims(&self) -> Api<ResourceClaim> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }
}

/// Status of a claim that cannot be provided as requested. Earlier outputs stay, so that running Workloads are not affected.
fn failed(claim: &ResourceClaim, message: &str) -> Json {
    let mut status = json!(claim.status.clone().unwrap_or_default());
    status["phase"] = json!("Failed");
    status["reason"] = json!("BindingFailed");
    status["message"] = json!(message);
    status["outputsAvailable"] = json!(false);
    status["observedGeneration"] = json!(claim.metadata.generation);
    status
}

/// Apply patch of a claim with its UID as precondition: a later claim of the same name is not meant.
fn addressed(claim: &ResourceClaim, mut metadata: Json, status: Option<Json>) -> Json {
    metadata["name"] = json!(claim.name_any());
    metadata["uid"] = json!(claim.uid());
    let mut body = json!({"apiVersion": "score.dev/v1b1", "kind": "ResourceClaim", "metadata": metadata});
    if let Some(status) = status {
        body["status"] = status;
    }
    body
}

fn apply() -> PatchParams {
    PatchParams::apply(MANAGER).force()
}
