//! Example of an external runtime: it "runs" a workload by writing its environment into a file.
//!
//! It follows `docs/spec/lifecycle.md` and uses only the API. It is simple rather than fast: every change reconciles
//! everything.
#![allow(clippy::print_stderr, reason = "command-line tool")]

use std::{
    fs, io::ErrorKind, os::unix::fs::OpenOptionsExt, path::PathBuf, pin::pin, sync::Arc, time::Duration,
};

use clap::Parser;
use futures_util::StreamExt;
use k8s_openapi::api::core::v1::Secret;
use kube::{
    Api, Client, ResourceExt,
    api::{ListParams, Patch, PatchParams, WatchParams},
};
use orchestra_api::{
    Placement, WorkloadExposure, WorkloadPlan,
    exposure::WorkloadExposureStatus,
    finalizer,
    plan::{InventoryItem, Kind, Segment, WorkloadPlanStatus},
};
use serde::de::DeserializeOwned;
use serde_json::{Value as Json, json};
use tokio::{
    sync::Notify,
    time::{sleep, timeout},
};

/// Runtime class.
const CLASS: &str = "example";
/// Finalizer of plans until their workload is stopped.
const FINALIZER: &str = "example.org/runtime";
/// Field manager.
const MANAGER: &str = "example.org";
/// Interval of reconciles without changes.
const RESYNC_INTERVAL: Duration = Duration::from_secs(5);
/// Pause before a watch is repeated: a server that is restarting is not overloaded.
const WATCH_RETRY_INTERVAL: Duration = Duration::from_millis(200);

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

#[derive(Parser)]
#[command(about)]
struct Arguments {
    /// Folder of the files
    #[arg(long)]
    folder: PathBuf,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let Arguments { folder } = Arguments::parse();
    let client = Client::try_default().await?;
    let changed = Arc::new(Notify::new());
    tokio::spawn(watch_changes(Api::<WorkloadPlan>::all(client.clone()), changed.clone()));
    tokio::spawn(watch_changes(Api::<WorkloadExposure>::all(client.clone()), changed.clone()));
    let runtime = Runtime { client, folder };
    loop {
        if let Err(error) = runtime.reconcile_all().await {
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

struct Runtime {
    client: Client,
    folder: PathBuf,
}

impl Runtime {
    async fn reconcile_all(&self) -> Result<()> {
        let plans = Api::<WorkloadPlan>::all(self.client.clone()).list(&ListParams::default()).await?;
        for plan in &plans.items {
            if let Err(error) = self.reconcile(plan).await {
                eprintln!("plan {}: {error}; retrying", plan.name_any());
            }
        }
        Ok(())
    }

    /// Reconciles a plan that is placed here, or was before.
    async fn reconcile(&self, plan: &WorkloadPlan) -> Result<()> {
        let is_finalized = finalizer::is_on(&plan.metadata, FINALIZER);
        let wanted = plan.spec.placement();
        let made_at = made_at(plan);
        let made_here = made_at.is_some_and(|place| place.runtime_class == CLASS);
        let stays = wanted.runtime_class == CLASS && plan.metadata.deletion_timestamp.is_none();
        if made_here && !(stays && made_at == Some(&wanted)) {
            self.stop(plan).await?;
            return if stays { Ok(()) } else { self.set_finalizers(plan, &[]).await };
        }
        if !stays {
            return if is_finalized { self.set_finalizers(plan, &[]).await } else { Ok(()) };
        }
        if made_at.is_some() && !made_here {
            // The previous runtime deletes its objects first, and then empties the inventory.
            return Ok(());
        }
        self.run(plan, &wanted).await
    }

    async fn run(&self, plan: &WorkloadPlan, here: &Placement) -> Result<()> {
        if plan.spec.kind == Kind::Job {
            // Reject before any effect; an earlier revision keeps running.
            let message = "This place runs services only: choose another profile.";
            let status = status_of(plan, "Failed", "RuntimeSelecting", message, here, &inventory_of(plan));
            return self.update_status(plan, status).await;
        }
        // Finalizer, then inventory, then files, so that nothing can leak.
        self.set_finalizers(plan, &[FINALIZER]).await?;
        let file = self.folder.join(format!(
            "{}.{}.{}",
            here.backend_id,
            plan.namespace().unwrap_or_default(),
            plan.name_any()
        ));
        let item = InventoryItem { kind: "File".to_owned(), name: file.display().to_string(), id: None };
        let inventory = [item];
        let is_noted = inventory_of(plan) == inventory;
        let runs = plan.status.as_ref().and_then(|status| status.observed_revision.as_ref())
            == Some(&plan.spec.revision);
        if !is_noted || !runs {
            let message = "This version is being started.";
            self.update_status(
                plan,
                status_of(plan, "Provisioning", "RuntimeProvisioning", message, here, &inventory),
            )
            .await?;
        }
        let environment = self.compose(plan).await?;
        write_private(&file, &environment)?;
        // Publish the address before the phase is Ready.
        let url = format!(
            "http://{}.{}.{}.example.org",
            plan.name_any(),
            plan.namespace().unwrap_or_default(),
            here.backend_id
        );
        let exposures =
            plan.spec.exposures.iter().map(|exposure| json!({"url": url, "priority": exposure.priority}));
        self.publish(plan, &exposures.collect::<Json>()).await?;
        self.update_status(plan, status_of(plan, "Ready", "Succeeded", "Running.", here, &inventory)).await
    }

    /// Deletes everything in the inventory, and empties it.
    async fn stop(&self, plan: &WorkloadPlan) -> Result<()> {
        for item in inventory_of(plan) {
            match fs::remove_file(&item.name) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
                _ => {}
            }
        }
        // Apply the empty list explicitly: another manager may own an omitted field.
        self.update_status(plan, json!({"inventory": []})).await
    }

    /// Variables of all containers, with resolved secrets.
    async fn compose(&self, plan: &WorkloadPlan) -> Result<String> {
        let secrets: Api<Secret> =
            Api::namespaced(self.client.clone(), &plan.namespace().unwrap_or_default());
        let mut lines = String::new();
        for (container, given) in &plan.spec.containers {
            for (name, text) in &given.variables {
                let mut value = String::new();
                for segment in text {
                    match segment {
                        Segment::Literal(text) => value.push_str(text),
                        Segment::ClaimOutput(output) => {
                            let secret = secrets.get(&output.secret_key_ref.name).await?;
                            let known = secret.data.unwrap_or_default().remove(&output.secret_key_ref.key);
                            let bytes = known.ok_or_else(|| format!("no secret for `{}`", output.claim))?;
                            value.push_str(&String::from_utf8(bytes.0)?);
                        }
                    }
                }
                lines.extend([container, "/", name, "=", &value, "\n"]);
            }
        }
        Ok(lines)
    }

    /// Publishes addresses on the exposure of the same Workload, while it belongs to this runtime.
    async fn publish(&self, plan: &WorkloadPlan, exposures: &Json) -> Result<()> {
        let api: Api<WorkloadExposure> =
            Api::namespaced(self.client.clone(), &plan.namespace().unwrap_or_default());
        let known = api.get_opt(&plan.name_any()).await?;
        let Some(exposure) = known.filter(|known| {
            known.spec.workload_ref == plan.spec.workload_ref && known.spec.runtime_class == CLASS
        }) else {
            return Ok(());
        };
        let status = json!({"exposures": exposures});
        let new: WorkloadExposureStatus = serde_json::from_value(status.clone())?;
        if exposure.status.as_ref() != Some(&new) {
            let body = json!({
                "apiVersion": "score.dev/v1b1", "kind": "WorkloadExposure",
                "metadata": {"name": exposure.name_any(), "uid": exposure.uid()}, "status": status,
            });
            api.patch_status(&exposure.name_any(), &apply(), &Patch::Apply(body)).await?;
        }
        Ok(())
    }

    /// Sets our finalizers on a plan; those of other managers stay.
    async fn set_finalizers(&self, plan: &WorkloadPlan, finalizers: &[&str]) -> Result<()> {
        if finalizer::is_on(&plan.metadata, FINALIZER) != finalizers.is_empty() {
            return Ok(());
        }
        let mut body = addressed(plan);
        body["metadata"]["finalizers"] = json!(finalizers);
        self.plans(plan).patch(&plan.name_any(), &apply(), &Patch::Apply(body)).await?;
        Ok(())
    }

    /// Applies the whole status if it has changed.
    async fn update_status(&self, plan: &WorkloadPlan, status: Json) -> Result<()> {
        let new: WorkloadPlanStatus = serde_json::from_value(status.clone())?;
        let known = self.plans(plan).get_opt(&plan.name_any()).await?.and_then(|known| known.status);
        if known.as_ref() != Some(&new) {
            let mut body = addressed(plan);
            body["status"] = status;
            self.plans(plan).patch_status(&plan.name_any(), &apply(), &Patch::Apply(body)).await?;
        }
        Ok(())
    }

    fn plans(&self, plan: &WorkloadPlan) -> Api<WorkloadPlan> {
        Api::namespaced(self.client.clone(), &plan.namespace().unwrap_or_default())
    }
}

/// Placement of the inventory.
fn made_at(plan: &WorkloadPlan) -> Option<&Placement> {
    plan.status.as_ref().filter(|status| !status.inventory.is_empty())?.placement.as_ref()
}

fn inventory_of(plan: &WorkloadPlan) -> Vec<InventoryItem> {
    plan.status.as_ref().map(|status| status.inventory.clone()).unwrap_or_default()
}

fn status_of(
    plan: &WorkloadPlan,
    phase: &str,
    reason: &str,
    message: &str,
    here: &Placement,
    inventory: &[InventoryItem],
) -> Json {
    json!({
        "phase": phase, "reason": reason, "message": message, "observedRevision": plan.spec.revision,
        "placement": here, "inventory": inventory,
    })
}

/// Apply patch of a plan with its UID as precondition: a later plan of the same name is not changed.
fn addressed(plan: &WorkloadPlan) -> Json {
    json!({
        "apiVersion": "score.dev/v1b1", "kind": "WorkloadPlan",
        "metadata": {"name": plan.name_any(), "uid": plan.uid()},
    })
}

/// Secrets are in it: it is for its owner only, from the beginning.
fn write_private(file: &PathBuf, text: &str) -> Result<()> {
    let draft = PathBuf::from(format!("{}.draft", file.display()));
    let mut options = fs::OpenOptions::new();
    let opened = options.write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
    std::io::Write::write_all(&mut &opened, text.as_bytes())?;
    Ok(fs::rename(&draft, file)?)
}

fn apply() -> PatchParams {
    PatchParams::apply(MANAGER).force()
}
