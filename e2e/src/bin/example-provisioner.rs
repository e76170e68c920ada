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
    finalizer,
    plan::Phase,
};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Json, json};
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
/// Pause before a watch is repeated: a server that is restarting is not overloaded.
const WATCH_RETRY_INTERVAL: Duration = Duration::from_millis(200);

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
        sleep(WATCH_RETRY_INTERVAL).await;
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
    claim.spec.type_ == TYPE && !finalizer::is_on(&claim.metadata, finalizer::PROVISIONER)
}

/// True if a running version of the Workload may use the claim: its plan names the claim, or may not have replaced a version
/// that did.
fn is_in_use(claim: &ResourceClaim, plans: &[WorkloadPlan]) -> bool {
    let plan = plans.iter().find(|plan| {
        plan.namespace() == claim.namespace() && plan.spec.workload_ref == claim.spec.workload_ref
    });
    plan.is_some_and(|plan| {
        let may_run_older = match &plan.status {
            Some(status) => {
                status.phase != Phase::Ready || status.observed_revision.as_ref() != Some(&plan.spec.revision)
            }
            None => finalizer::is_on(&plan.metadata, finalizer::RUNTIME),
        };
        may_run_older || plan.spec.claims.iter().any(|used| used.name == claim.name_any())
    })
}

/// First difference between a claim and the one that decides. A claim without `params` or `metadata` accepts any.
fn difference(claim: &ResourceClaim, first: &ResourceClaim) -> Option<String> {
    let parts = [
        ("params", &claim.spec.params, &first.spec.params),
        ("metadata", &claim.spec.metadata, &first.spec.metadata),
    ];
    parts.into_iter().find_map(|(part, own, decided)| {
        let (own, none) = (own.as_ref()?, Map::new());
        let decided = decided.as_ref().unwrap_or(&none);
        let key = own.keys().chain(decided.keys()).find(|key| own.get(*key) != decided.get(*key))?;
        Some(format!("`{key}` in its {part}"))
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
        let (deleted, mut current): (Vec<_>, Vec<_>) =
            claims.iter().partition(|claim| claim.metadata.deletion_timestamp.is_some());
        let finalized = deleted.into_iter().filter(|claim| finalizer::is_on(&claim.metadata, FINALIZER));
        // A deletion that has started is finished: it removes the token first.
        let has_token = self.secrets().get_opt(&self.name()).await?.is_some();
        let (in_use, free): (Vec<_>, Vec<_>) =
            finalized.partition(|claim| has_token && is_in_use(claim, plans));
        // A deleted claim is provided while it is in use.
        current.extend(in_use);
        if current.is_empty() {
            // The last claim deletes the queue, with the most conservative policy.
            let policy = free.iter().map(|claim| claim.spec.deprovision_policy).max();
            if policy == Some(DeprovisionPolicy::Delete) {
                self.remove_token().await?;
            }
        }
        for claim in free {
            self.set_finalizers(claim, &[]).await?;
        }
        current.sort_by_key(|claim| (claim.creation_timestamp(), claim.name_any()));
        let Some(first) = current.first() else { return Ok(()) };
        for claim in &current {
            if let Some(difference) = difference(claim, first) {
                let message = format!(
                    "This queue is already used by workload `{}` with a different {difference}: use the same value, or another id.",
                    first.spec.workload_ref.name
                );
                self.update_status(claim, failed(claim, &message)).await?;
                continue;
            }
            // Add the finalizer before creating the queue, so that it cannot leak.
            self.set_finalizers(claim, &[FINALIZER]).await?;
            let status = self.provide(claim, first).await?;
            self.update_status(claim, status).await?;
        }
        Ok(())
    }

    async fn provide(&self, claim: &ResourceClaim, first: &ResourceClaim) -> Result<Json> {
        let secret = self.ensure_token().await?;
        if secret.labels().get(INSTANCE) != Some(&self.id) {
            return Ok(failed(
                claim,
                "A Secret of this name already exists and is not managed by this provisioner; delete it.",
            ));
        }
        let shards = first.spec.params.as_ref().and_then(|params| params.get("shards")).cloned();
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
        let secrets = self.secrets();
        if let Some(existing) = secrets.get_opt(&self.name()).await? {
            return Ok(existing);
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
        let secrets = self.secrets();
        let existing = secrets.get_opt(&self.name()).await?;
        if existing.is_some_and(|existing| existing.labels().get(INSTANCE) == Some(&self.id)) {
            secrets.delete(&self.name(), &DeleteParams::default()).await?;
        }
        Ok(())
    }

    fn name(&self) -> String {
        format!("queue-{}", self.id)
    }

    /// Sets our finalizers on a claim; those of other managers stay.
    async fn set_finalizers(&self, claim: &ResourceClaim, finalizers: &[&str]) -> Result<()> {
        if finalizer::is_on(&claim.metadata, FINALIZER) != finalizers.is_empty() {
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

    fn secrets(&self) -> Api<Secret> {
        Api::namespaced(self.client.clone(), &self.namespace)
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

/// Apply patch of a claim with its UID as precondition: a later claim of the same name is not changed.
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
