//! Engine `template`: dependencies of Workloads as objects of the cluster, rendered from Score's provisioner files.
//!
//! ```text
//! instance ── files: entry ── core: render, admit, seal ──► instance_secret: seed, state, record ──► objects ──► ready?
//! ```
//!
//! Pure functions of `orchestra_core` render the entry. The result is stored first (`instance_secret`: nothing random is used
//! before it is stored, nothing is created before it is recorded), then applied (`objects`), then observed. No state is in memory
//! only, so a restarted platform continues where the last one stopped.

pub mod files;
mod instance_secret;
mod objects;
mod run;
mod watch;

use std::{
    collections::BTreeSet,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use self::{
    files::ProvisionerFiles,
    objects::{Objects, Owner},
    run::{Run, RunError},
};
use crate::{
    DriverError, NamespacedName, ProvisionContext, Provisioner, Released, api_error, events::events_of,
    provision_context::InstanceSecret,
};
use futures_util::{
    future::BoxFuture,
    stream::{self, BoxStream, StreamExt as _},
};
use kube::{Client, Error};
use orchestra_api::{claim::DeprovisionPolicy, condition::Reason, name};
use orchestra_core::{
    Denied,
    config::builtin::TEMPLATE,
    denial::Denial,
    observe::kubernetes::{Cause, Pod, Rollout, RolloutKind, events},
    provision::{
        self, Bound, Instance, Provision, Release,
        template::{Disposition, Item, Progress, Record, Rendered, admit, disposition, progress, prunable},
    },
};
use serde_json::Value as Json;

/// Kind of volumes, which are deleted only with their instance.
const VOLUME: &str = "PersistentVolumeClaim";

/// Engine `template`.
pub struct Template {
    client: Client,
    objects: Objects,
    files: ProvisionerFiles,
    /// Instances that were ensured since the platform started.
    instances: Arc<Mutex<BTreeSet<NamespacedName>>>,
}

impl fmt::Debug for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Template")
    }
}

impl Template {
    /// Engine on the cluster of a client. Sends no request yet.
    pub fn open(client: Client) -> Self {
        Self {
            objects: Objects::new(client.clone()),
            files: ProvisionerFiles::new(client.clone()),
            instances: Arc::default(),
            client,
        }
    }

    async fn provide(
        &self,
        instance: &Instance,
        ctx: &dyn ProvisionContext,
    ) -> Result<Provision, DriverError> {
        let id = (instance.namespace.clone(), instance.id.clone());
        self.instances.lock().unwrap_or_else(PoisonError::into_inner).insert(id);
        let run = match Run::prepare(instance, &self.files, &self.client, ctx).await {
            Ok(run) => run,
            Err(error) => return outcome(instance, error),
        };
        let owner = Owner { namespace: &instance.namespace, instance: &instance.id };
        match run.render_stateless() {
            // Nothing is created or generated: nothing has to be stored.
            Ok(Some(rendered)) => {
                self.prune(owner, run::recorded(ctx).await?, &rendered, ctx).await?;
                return Ok(bound(&run, &rendered, None));
            }
            Ok(None) => {}
            Err(error) => return outcome(instance, error),
        }
        let first = run.render_and_store(ctx, false).await;
        let (instance_secret, rendered) = match first {
            Err(RunError::NewSecrets) => {
                let volumes = self.objects.of(owner, "v1", VOLUME).await?;
                if !volumes.is_empty() {
                    return Err(lost(instance, &volumes));
                }
                match run.render_and_store(ctx, true).await {
                    Ok(stored) => stored,
                    Err(error) => return outcome(instance, error),
                }
            }
            Err(error) => return outcome(instance, error),
            Ok(stored) => stored,
        };
        let mut live = Vec::new();
        for object in &rendered.objects {
            live.push(self.objects.apply(owner, object).await?);
        }
        self.prune(owner, rendered.saved.record.clone(), &rendered, ctx).await?;
        for object in &live {
            match progress(object, run.conditions()) {
                Progress::Ready => {}
                Progress::Failed(message) => {
                    return Ok(Provision::Failed(Reason::BindingFailed, message.to_owned()));
                }
                Progress::Waiting(message) => {
                    return Ok(self.waiting(owner, object, message).await);
                }
            }
        }
        Ok(bound(&run, &rendered, Some(&instance_secret)))
    }

    /// Deletes what an earlier version of the entry created, except data and passwords.
    async fn prune(
        &self,
        owner: Owner<'_>,
        mut record: Record,
        rendered: &Rendered,
        ctx: &dyn ProvisionContext,
    ) -> Result<(), DriverError> {
        let stale = prunable(&record, &rendered.objects);
        if stale.is_empty() {
            return Ok(());
        }
        for item in stale {
            if !self.objects.delete(owner, &item).await? {
                record.objects.remove(&item);
            }
        }
        ctx.update_secret(&|is| Ok(instance_secret::noted(is, &record))).await.map(|_| ())
    }

    /// Status of an object that is not ready, with the cause from its pods or controller.
    async fn waiting(&self, owner: Owner<'_>, object: &Json, otherwise: &str) -> Provision {
        let Ok(pods) = self.objects.pods(owner).await else {
            return Provision::Binding(otherwise.to_owned());
        };
        let pods = pods.iter().map(|pod| Pod::read(&pod["metadata"], pod)).filter(|pod| !pod.is_deleting);
        let pods: Vec<Pod> = pods.collect();
        if pods.is_empty()
            && let Some(cause @ Cause::Denied { .. }) = self.not_made(owner, object).await
        {
            let (reason, message) = cause.describe();
            return Provision::Blocked(reason, message);
        }
        let why = pods.iter().find_map(|pod| pod.cause.as_deref());
        Provision::Binding(why.map_or_else(
            || otherwise.to_owned(),
            |cause| format!("{otherwise} {}", cause.describe_dependency()),
        ))
    }

    /// Cause why a controller creates no pods.
    async fn not_made(&self, owner: Owner<'_>, object: &Json) -> Option<Cause> {
        match object["kind"].as_str()? {
            "Deployment" => {
                Rollout::read(RolloutKind::Deployment, &object["metadata"], object).cause.map(|cause| *cause)
            }
            "StatefulSet" | "Job" => {
                let uid = object["metadata"]["uid"].as_str()?;
                events::cause(&events_of(self.client.clone(), owner.namespace, uid).await?)?
            }
            _ => None,
        }
    }

    async fn delete_instance(
        &self,
        release: &Release,
        ctx: &dyn ProvisionContext,
    ) -> Result<Released, DriverError> {
        let owner = Owner { namespace: &release.namespace, instance: &release.id };
        let record = run::recorded(ctx).await?;
        let mut items = record.objects.clone();
        for (api_version, kind) in admit::KINDS.iter().filter(|(_, kind)| *kind != "Secret") {
            items.extend(self.objects.of(owner, api_version, kind).await?);
        }
        let mut is_deleting = false;
        for item in &items {
            match disposition(&item.kind, release.policy, &record.keep) {
                Disposition::Keep => {}
                Disposition::Orphan => self.objects.orphan(owner, item).await?,
                Disposition::Delete => is_deleting |= self.objects.delete(owner, item).await?,
            }
        }
        if is_deleting {
            return Ok(Released::Waiting("Deleting its objects.".to_owned()));
        }
        if release.policy == DeprovisionPolicy::Delete {
            self.objects.delete_secrets(owner).await?;
            ctx.delete_secret().await?;
        }
        let id = (release.namespace.clone(), release.id.clone());
        self.instances.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
        Ok(Released::Done)
    }
}

impl Provisioner for Template {
    fn name(&self) -> &str {
        TEMPLATE
    }

    fn capabilities(&self) -> provision::Engine {
        provision::Engine { additive: false, reads_params: true }
    }

    fn ensure<'a>(
        &'a self,
        instance: &'a Instance,
        ctx: &'a dyn ProvisionContext,
    ) -> BoxFuture<'a, Result<Provision, DriverError>> {
        Box::pin(self.provide(instance, ctx))
    }

    fn release<'a>(
        &'a self,
        release: &'a Release,
        ctx: &'a dyn ProvisionContext,
    ) -> BoxFuture<'a, Result<Released, DriverError>> {
        Box::pin(self.delete_instance(release, ctx))
    }

    fn changes(&self) -> BoxStream<'static, NamespacedName> {
        let instances = Arc::clone(&self.instances);
        let files = self.files.follow().flat_map(move |()| {
            // A changed file may concern any instance.
            stream::iter(instances.lock().unwrap_or_else(PoisonError::into_inner).clone())
        });
        stream::select(files, watch::objects(&self.client)).boxed()
    }
}

/// Outcome of a run that failed.
fn outcome(instance: &Instance, error: RunError) -> Result<Provision, DriverError> {
    match error {
        RunError::Pending(message) => Ok(Provision::Pending(message)),
        RunError::Driver(error) => Err(error),
        error @ (RunError::NoEntry(_) | RunError::InvalidTemplate { .. }) => Err(refused(format!(
            "The template for `{}` is invalid: the platform's administrators find the error in the log of the orchestrator, and with `orchestra provisioners test`.",
            instance.type_
        ))
        .with_source(error)),
        RunError::NewSecrets => Err(DriverError::transient(
            Reason::BindingPending,
            "Its secret was changed concurrently; retrying.",
        )),
    }
}

/// Error for an instance whose data exists without its password.
fn lost(instance: &Instance, volumes: &[Item]) -> DriverError {
    let names: Vec<&str> = volumes.iter().map(|item| item.name.as_str()).collect();
    unwatched(format!(
        "The data of this `{}` exists, but the secret `{}` with its password was deleted: the platform's administrators must restore that secret, or delete the volume {} with its data.",
        instance.type_,
        name::secret(&instance.type_, &instance.id),
        provision::params::listed(names)
    ))
}

fn bound(run: &Run<'_>, rendered: &Rendered, secret: Option<&InstanceSecret>) -> Provision {
    let mut versions = run.versions();
    if let Some(version) = secret.and_then(|secret| instance_secret::version(&secret.contents)) {
        versions.insert("outputs".to_owned(), version);
    }
    let warning = rendered.warning.as_ref().map(|warning| format!(" {warning}")).unwrap_or_default();
    Provision::Bound(Bound {
        outputs: rendered.sealed.outputs.clone(),
        versions,
        message: format!("Ready to use.{warning}"),
    })
}

/// Error of a read of config maps, which users know as `what`.
fn unreadable_config_map(name: &str, what: &str, error: Error) -> DriverError {
    let (status, source) = match api_error::answer("ConfigMap", name, error) {
        Ok(answer) => answer,
        Err(error) => return error,
    };
    let describe = |denial, denied| match denial {
        Denial::Permission => Denied {
            message: format!(
                "Permission denied: the orchestrator may not read {what}; the platform's administrators must grant its role."
            ),
            ..denied
        },
        Denial::Terminating | Denial::Quota | Denial::Policy | Denial::Invalid => denied,
    };
    api_error::driver_error(&status, Reason::BindingPending, describe).with_source(source)
}

/// Error for a request that cannot succeed.
fn refused(message: String) -> DriverError {
    DriverError::refused(Reason::BindingFailed, message)
}

/// Error for a request that cannot succeed until somebody fixes what is not watched.
fn unwatched(message: String) -> DriverError {
    DriverError::unwatched(Reason::BindingFailed, message)
}

#[cfg(test)]
mod tests;
