//! The engine `template`: what Workloads depend on, as objects of the cluster, made from Score's provisioner files.
//!
//! ```text
//! instance ── files: which entry? ── core: render, admit, seal ──► kept: seed, state, what is made ──► objects ──► ready?
//! ```
//!
//! What an entry gives is decided by pure functions of `orchestra_core`. Here it is kept first ([`kept`]: nothing random is
//! used before it is stored, nothing is made before it is noted), then made ([`objects`]), then looked at. Nothing that
//! counts is remembered here: a platform that was killed goes on where it was.

pub mod files;
mod kept;
mod objects;
mod run;
mod watch;

use std::{
    collections::BTreeSet,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use self::{
    files::Files,
    objects::{Objects, Owner},
    run::{Run, Stop},
};
use crate::{DriverError, Neighbourhood, Provisioner, Released, events::told_about, neighbourhood::Kept};
use futures_util::{
    future::BoxFuture,
    stream::{self, BoxStream, StreamExt as _},
};
use kube::Client;
use orchestra_api::{claim::DeprovisionPolicy, condition::Reason, name};
use orchestra_core::{
    config::builtin::TEMPLATE,
    observe::kubernetes::{Cause, Maker, Pod, Rollout, news},
    provision::{
        self, Bound, Instance, Provision, Release,
        template::{Fate, Item, Progress, Rendered, admit, fate, progress},
    },
};
use serde_json::Value as Json;

/// A namespace, and the identity of an instance in it.
type Id = (String, String);

/// The kind of volumes, which go only with their instance.
const VOLUME: &str = "PersistentVolumeClaim";

/// The engine `template`.
pub struct Template {
    client: Client,
    objects: Objects,
    files: Files,
    /// The instances that were asked for since the platform began.
    known: Arc<Mutex<BTreeSet<Id>>>,
}

impl fmt::Debug for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Template")
    }
}

impl Template {
    /// The engine of the cluster behind a client. Nothing is asked of it yet.
    pub fn open(client: Client) -> Self {
        Self {
            objects: Objects::new(client.clone()),
            files: Files::new(client.clone()),
            known: Arc::default(),
            client,
        }
    }

    async fn provide(
        &self,
        instance: &Instance,
        around: &dyn Neighbourhood,
    ) -> Result<Provision, DriverError> {
        let id = (instance.namespace.clone(), instance.id.clone());
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(id);
        let run = match Run::prepare(instance, &self.files, &self.client, around).await {
            Ok(run) => run,
            Err(stop) => return stopped(instance, stop),
        };
        match run.alone() {
            // Nothing is made, drawn or remembered: nothing has to be kept.
            Ok(Some(rendered)) => return Ok(bound(&run, &rendered, None)),
            Ok(None) => {}
            Err(stop) => return stopped(instance, stop),
        }
        let owner = Owner { namespace: &instance.namespace, instance: &instance.id };
        let first = run.keep(around, false).await;
        let (kept, rendered) = match first {
            Err(Stop::Beginning) => {
                let volumes = self.objects.of(owner, "v1", VOLUME).await?;
                if !volumes.is_empty() {
                    return Ok(lost(instance, &volumes));
                }
                match run.keep(around, true).await {
                    Ok(kept) => kept,
                    Err(stop) => return stopped(instance, stop),
                }
            }
            Err(stop) => return stopped(instance, stop),
            Ok(kept) => kept,
        };
        let mut live = Vec::new();
        for object in &rendered.objects {
            live.push(self.objects.settle(owner, object).await?);
        }
        self.prune(owner, &rendered, around).await?;
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
        Ok(bound(&run, &rendered, Some(&kept)))
    }

    /// Removes what an earlier version of the entry made, but for volumes.
    async fn prune(
        &self,
        owner: Owner<'_>,
        rendered: &Rendered,
        around: &dyn Neighbourhood,
    ) -> Result<(), DriverError> {
        let wanted: BTreeSet<Item> = rendered.objects.iter().map(Item::of).collect();
        let mut record = rendered.past.record.clone();
        let stale: Vec<Item> =
            record.made.difference(&wanted).filter(|item| item.kind != VOLUME).cloned().collect();
        if stale.is_empty() {
            return Ok(());
        }
        for item in stale {
            if !self.objects.delete(owner, &item).await? {
                record.made.remove(&item);
            }
        }
        around.keep(&|is| Ok(kept::noted(is, &record))).await.map(|_| ())
    }

    /// Why something does not start, as far as what runs tells, or what should run it.
    async fn waiting(&self, owner: Owner<'_>, object: &Json, otherwise: &str) -> Provision {
        let Ok(pods) = self.objects.pods(owner).await else {
            return Provision::Binding(otherwise.to_owned());
        };
        let pods = pods.iter().map(|pod| Pod::read(&pod["metadata"], pod)).filter(|pod| !pod.is_leaving);
        let pods: Vec<Pod> = pods.collect();
        if pods.is_empty()
            && let Some(cause @ Cause::Denied { .. }) = self.not_made(owner, object).await
        {
            let (reason, message) = cause.told();
            return Provision::Hindered(reason, message);
        }
        let why = pods.iter().find_map(|pod| pod.cause.as_deref());
        Provision::Binding(
            why.map_or_else(|| otherwise.to_owned(), |cause| format!("{otherwise} {}", told(cause))),
        )
    }

    /// Why something that makes copies makes none.
    async fn not_made(&self, owner: Owner<'_>, object: &Json) -> Option<Cause> {
        match object["kind"].as_str()? {
            "Deployment" => {
                Rollout::read(Maker::Deployment, &object["metadata"], object).cause.map(|cause| *cause)
            }
            "StatefulSet" | "Job" => {
                let uid = object["metadata"]["uid"].as_str()?;
                news::cause(&told_about(self.client.clone(), owner.namespace, uid).await?)?
            }
            _ => None,
        }
    }

    async fn take_down(
        &self,
        release: &Release,
        around: &dyn Neighbourhood,
    ) -> Result<Released, DriverError> {
        let owner = Owner { namespace: &release.namespace, instance: &release.id };
        let record = run::recorded(around).await?;
        let mut items = record.made.clone();
        for (api_version, kind) in admit::KINDS.iter().filter(|(_, kind)| *kind != "Secret") {
            items.extend(self.objects.of(owner, api_version, kind).await?);
        }
        let mut is_leaving = false;
        for item in &items {
            match fate(&item.kind, release.policy, &record.keep) {
                Fate::Kept => {}
                Fate::LetGo => self.objects.let_go(owner, item).await?,
                Fate::Removed => is_leaving |= self.objects.delete(owner, item).await?,
            }
        }
        if is_leaving {
            return Ok(Released::Waiting("It is being taken down.".to_owned()));
        }
        if release.policy == DeprovisionPolicy::Delete {
            self.objects.forget_secrets(owner).await?;
            around.forget().await?;
        }
        let id = (release.namespace.clone(), release.id.clone());
        self.known.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
        Ok(Released::Done)
    }
}

impl Provisioner for Template {
    fn engine(&self) -> &str {
        TEMPLATE
    }

    fn traits(&self) -> provision::Engine {
        provision::Engine { additive: false, reads_params: true }
    }

    fn ensure<'a>(
        &'a self,
        instance: &'a Instance,
        around: &'a dyn Neighbourhood,
    ) -> BoxFuture<'a, Result<Provision, DriverError>> {
        Box::pin(self.provide(instance, around))
    }

    fn release<'a>(
        &'a self,
        release: &'a Release,
        around: &'a dyn Neighbourhood,
    ) -> BoxFuture<'a, Result<Released, DriverError>> {
        Box::pin(self.take_down(release, around))
    }

    fn changes(&self) -> BoxStream<'static, (String, String)> {
        let known = Arc::clone(&self.known);
        let files = self.files.follow().flat_map(move |()| {
            // Another file may mean another template for anything.
            stream::iter(known.lock().unwrap_or_else(PoisonError::into_inner).clone())
        });
        stream::select(files, watch::objects(&self.client)).boxed()
    }
}

/// What a run that stopped means.
fn stopped(instance: &Instance, stop: Stop) -> Result<Provision, DriverError> {
    match stop {
        Stop::Pending(message) => Ok(Provision::Pending(message)),
        Stop::Driver(error) => Err(error),
        Stop::Wrong(why) => {
            tracing::warn!(
                type_ = instance.type_,
                namespace = instance.namespace,
                "a template is wrong: {why}"
            );
            Err(refused(format!(
                "The platform's template for `{}` cannot be used: the platform team finds why in the platform's log, and with `orchestra provisioners test`.",
                instance.type_
            )))
        }
        Stop::Beginning => Err(refused("It was begun twice at the same time.".to_owned())),
    }
}

/// There is data, and nobody knows its password any more.
fn lost(instance: &Instance, volumes: &[Item]) -> Provision {
    let names: Vec<&str> = volumes.iter().map(|item| item.name.as_str()).collect();
    Provision::Failed(
        Reason::BindingFailed,
        format!(
            "The data of this `{}` is there, but the secret `{}` with its password is gone: the platform team has to restore that secret, or to delete the volume {} and with it the data.",
            instance.type_,
            name::secret(&instance.type_, &instance.id),
            provision::params::listed(names)
        ),
    )
}

fn bound(run: &Run<'_>, rendered: &Rendered, kept: Option<&Kept>) -> Provision {
    let mut versions = run.versions();
    if let Some(version) = kept.and_then(|kept| kept::version(&kept.contents)) {
        versions.insert("outputs".to_owned(), version);
    }
    let warning = rendered.warning.as_ref().map(|warning| format!(" {warning}")).unwrap_or_default();
    Provision::Bound(Bound {
        outputs: rendered.sealed.outputs.clone(),
        versions,
        message: format!("Ready to use.{warning}"),
    })
}

/// Why something of the platform's own does not start: nothing that an author could mend.
fn told(cause: &Cause) -> String {
    match cause {
        Cause::Image { .. } => "Its image cannot be fetched: the platform team has to see to it.".to_owned(),
        Cause::Crash(crash) if crash.out_of_memory => {
            "It took more memory than it may: ask for a larger class.".to_owned()
        }
        Cause::Crash(crash) => format!(
            "It does not stay up (exit code {}): the platform team has to see to it.",
            crash.exit_code
        ),
        other => other.told().1,
    }
}

/// It cannot be had as it is asked for.
fn refused(message: String) -> DriverError {
    DriverError::Refused { reason: Reason::BindingFailed, message }
}
