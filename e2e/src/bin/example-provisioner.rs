//! A provisioner as others may write one: queues, which are nothing but a token in a Secret.
//!
//! It follows `docs/spec/lifecycle.md` and uses nothing but the API. It is small rather than fast: whatever changes, it
//! looks at everything.
#![allow(clippy::print_stderr, reason = "a command speaks to its user")]

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

/// The type that it provides. The platform's document says `{type: queue, engine: external}`.
const TYPE: &str = "queue";
/// Keeps a claim until its queue is gone.
const FINALIZER: &str = "queue.example.org/provisioner";
/// Under which name it writes.
const MANAGER: &str = "queue.example.org";
/// The label that tells which claims share one queue, and which Secret belongs to it.
const INSTANCE: &str = "score.dev/instance";
/// How soon it looks again, whether or not something has changed.
const RESYNC: Duration = Duration::from_secs(5);

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let client = Client::try_default().await?;
    let changed = Arc::new(Notify::new());
    tokio::spawn(follow(Api::<ResourceClaim>::all(client.clone()), changed.clone()));
    tokio::spawn(follow(Api::<WorkloadPlan>::all(client.clone()), changed.clone()));
    loop {
        if let Err(error) = look(&client).await {
            eprintln!("{error}; it is tried again");
        }
        // Running out of time is the other reason to look.
        let _ = timeout(RESYNC, changed.notified()).await;
    }
}

/// Tells of every change of a kind.
async fn follow<K: Clone + std::fmt::Debug + DeserializeOwned + Send + 'static>(
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

async fn look(client: &Client) -> Result<()> {
    let claims = Api::<ResourceClaim>::all(client.clone()).list(&ListParams::default()).await?;
    let plans = Api::<WorkloadPlan>::all(client.clone()).list(&ListParams::default()).await?.items;
    let mut instances: BTreeMap<(String, String), Vec<ResourceClaim>> = BTreeMap::new();
    for claim in claims.items.into_iter().filter(is_mine) {
        let instance = claim.labels().get(INSTANCE).cloned().unwrap_or_default();
        instances.entry((claim.namespace().unwrap_or_default(), instance)).or_default().push(claim);
    }
    for ((namespace, id), claims) in instances {
        let queue = Queue { client, namespace, id };
        if let Err(error) = queue.settle(&claims, &plans).await {
            eprintln!("queue {}: {error}; it is tried again", queue.id);
        }
    }
    Ok(())
}

/// Claims that an engine of the orchestrator has taken charge of are its own, whatever their type.
fn is_mine(claim: &ResourceClaim) -> bool {
    claim.spec.type_ == TYPE && !claim.finalizers().iter().any(|holder| holder == "score.dev/provisioner")
}

/// Whether something that runs may be using a claim: its plan names it, or has not yet replaced one that did.
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

/// One queue, which several claims may share.
struct Queue<'a> {
    client: &'a Client,
    namespace: String,
    id: String,
}

impl Queue<'_> {
    async fn settle(&self, claims: &[ResourceClaim], plans: &[WorkloadPlan]) -> Result<()> {
        let (dying, mut living): (Vec<_>, Vec<_>) =
            claims.iter().partition(|claim| claim.metadata.deletion_timestamp.is_some());
        let held = dying.into_iter().filter(|claim| claim.finalizers().iter().any(|held| held == FINALIZER));
        let (used, free): (Vec<_>, Vec<_>) = held.partition(|claim| is_used(claim, plans));
        if living.is_empty() && used.is_empty() {
            // The last to leave takes it down, as the most careful wishes.
            let policy = free.iter().map(|claim| claim.spec.deprovision_policy).max();
            if policy == Some(DeprovisionPolicy::Delete) {
                self.remove_token().await?;
            }
        }
        for claim in free {
            self.hold(claim, &[]).await?;
        }
        living.sort_by_key(|claim| (claim.creation_timestamp(), claim.name_any()));
        let Some(holder) = living.first() else { return Ok(()) };
        for claim in &living {
            if claim.spec.params.is_some() && claim.spec.params != holder.spec.params {
                let message =
                    format!("`{}` shares this queue with other parameters.", holder.spec.workload_ref.name);
                self.say(claim, failed(claim, &message)).await?;
                continue;
            }
            // First the hold, then the thing: what is made is never forgotten.
            self.hold(claim, &[FINALIZER]).await?;
            let status = self.provide(claim, holder).await?;
            self.say(claim, status).await?;
        }
        Ok(())
    }

    async fn provide(&self, claim: &ResourceClaim, holder: &ResourceClaim) -> Result<Json> {
        let secret = self.keep_token().await?;
        if secret.labels().get(INSTANCE) != Some(&self.id) {
            return Ok(failed(
                claim,
                "A Secret of another stands in the way: the platform team has to remove it.",
            ));
        }
        let shards = holder.spec.params.as_ref().and_then(|params| params.get("shards")).cloned();
        let outputs = json!({
            "url": {"value": format!("amqp://{}.queues.example.org", self.id)},
            "shards": {"value": shards.unwrap_or(json!(1))},
            "token": {"secretKeyRef": {"name": secret.name_any(), "key": "token"}},
        });
        // The version of the Secret changes with the token, and says nothing about it.
        let mut revision = DefaultHasher::new();
        (outputs.to_string(), secret.resource_version()).hash(&mut revision);
        Ok(json!({
            "phase": "Bound", "reason": "Succeeded", "message": "The queue takes messages.",
            "outputsAvailable": true, "outputs": outputs,
            "outputsRevision": format!("{:016x}", revision.finish()),
            "observedGeneration": claim.metadata.generation,
        }))
    }

    /// Makes the token once; it stays for as long as the queue.
    async fn keep_token(&self) -> Result<Secret> {
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

    /// Sets the finalizers that are ours on a claim: others keep theirs.
    async fn hold(&self, claim: &ResourceClaim, finalizers: &[&str]) -> Result<()> {
        if claim.finalizers().iter().any(|held| held == FINALIZER) != finalizers.is_empty() {
            return Ok(());
        }
        let body = addressed(claim, json!({"finalizers": finalizers}), None);
        self.claims().patch(&claim.name_any(), &apply(), &Patch::Apply(body)).await?;
        Ok(())
    }

    /// Writes the whole status, and only if it says something new.
    async fn say(&self, claim: &ResourceClaim, status: Json) -> Result<()> {
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

/// A claim that cannot be provided as it is asked for. What it gave before stays known: whatever uses it runs on.
fn failed(claim: &ResourceClaim, message: &str) -> Json {
    let mut status = json!(claim.status.clone().unwrap_or_default());
    status["phase"] = json!("Failed");
    status["reason"] = json!("BindingFailed");
    status["message"] = json!(message);
    status["outputsAvailable"] = json!(false);
    status["observedGeneration"] = json!(claim.metadata.generation);
    status
}

/// A part of a claim, addressed by uid: another claim of the same name is not meant.
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
