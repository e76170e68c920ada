//! Watches: which change enqueues what.
//!
//! ```text
//! Workload ─────────► workload          ResourceClaim ─► claim (its instance), workload
//! PlatformPolicy ───► workload, policy  WorkloadPlan ──► plan, workload, claim (those it used)
//! Namespace ────────► workload          WorkloadExposure ► workload, plan
//! config ───────────► workload, claim   runtimes ► plan, provisioners ► claim
//! ```
//!
//! A Workload also enqueues the claims of its namespace that refer to Workloads, if it appears, disappears, or changes its ports.
//! Policies count Workloads with a delay, after any change of what is decided about them.
//!
//! [`orchestra_core::watch`] leaves out and delays reconciles that would find nothing to do. Nothing is polled except the Secrets
//! behind bound claims.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use k8s_openapi::api::core::v1::Namespace;
use kube::{Api, Client, Resource, ResourceExt};
use orchestra_api::{PlatformPolicy, ResourceClaim, Workload, WorkloadExposure, WorkloadPlan};
use orchestra_core::{
    provision::service_ref,
    watch::{self, Enqueue, Origin},
};
use tokio::task::JoinHandle;

use crate::{
    claim::ClaimController,
    context::{Context, by_workload, refers_to_workloads},
    engine::{
        cache::{Cache, Change, Event, Kind},
        deserialize_guard::DeserializeGuard,
        key::Key,
        reflector::{Selection, reflect},
        shutdown::Shutdown,
        worker::Handle,
    },
    metrics::Metrics,
    object_metrics::ObjectMetrics,
    policy::AllPolicies,
};

/// Minimum time between two counts of the Workloads of all policies.
const COUNT_INTERVAL: Duration = Duration::from_secs(1);
/// Addition to that for each Workload, so that counting stays a small part of the work.
const COUNT_INTERVAL_PER_WORKLOAD: Duration = Duration::from_micros(500);

/// Queues of the controllers.
#[derive(Clone, Debug)]
pub(crate) struct Handles {
    pub(crate) workloads: Handle<Key>,
    pub(crate) claims: Handle<Key>,
    pub(crate) plans: Handle<Key>,
    pub(crate) policies: Handle<AllPolicies>,
}

impl Handles {
    /// Enqueues the instance behind a claim.
    fn enqueue_instance(&self, claim: &ResourceClaim) {
        if let Some(key) = ClaimController::key(claim) {
            self.claims.enqueue(key);
        }
    }
}

/// Mapping of changes to queues. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct Watches {
    context: Context,
    /// Set when all caches are synced. Until then nothing is enqueued, then everything is.
    handles: Arc<OnceLock<Handles>>,
    object_metrics: ObjectMetrics,
}

impl Watches {
    pub(crate) fn new(context: Context, metrics: Metrics) -> Self {
        Self { context, handles: Arc::default(), object_metrics: ObjectMetrics::new(metrics) }
    }

    /// Starts the reflectors of all kinds.
    pub(crate) fn start(
        &self,
        client: &Client,
        metrics: &Metrics,
        shutdown: &Shutdown,
    ) -> [JoinHandle<()>; 6] {
        let Context { workloads, policies, claims, plans, exposures, namespaces, .. } = &self.context;
        let reflectors = Reflectors { client, metrics, shutdown, watches: self };
        [
            reflectors.start(workloads, |watches, event| on_change(event, |change| watches.workload(change))),
            reflectors.start(policies, Self::policy),
            reflectors.start(claims, |watches, event| on_change(event, |change| watches.claim(change))),
            reflectors.start(plans, |watches, event| on_change(event, |change| watches.plan(change))),
            reflectors.start(exposures, |watches, event| on_change(event, |change| watches.exposure(change))),
            reflectors
                .start(namespaces, |watches, event| on_change(event, |change| watches.namespace(change))),
        ]
    }

    pub(crate) async fn synced(&self) {
        let Context { workloads, policies, claims, plans, exposures, namespaces, .. } = &self.context;
        tokio::join!(
            workloads.synced(),
            policies.synced(),
            claims.synced(),
            plans.synced(),
            exposures.synced(),
            namespaces.synced()
        );
    }

    /// Enqueues everything that exists, and from now on what changes.
    pub(crate) fn enable(&self, handles: Handles) {
        let _ = self.handles.set(handles);
        self.config_changed();
        if let Some(handles) = self.handles.get() {
            enqueue_all(&self.context.plans, &handles.plans);
            handles.policies.enqueue(AllPolicies);
        }
    }

    /// Has the Workloads of all policies counted, when changes have been gathered.
    fn count_policies(&self, handles: &Handles) {
        let workloads = u32::try_from(self.context.workloads.len()).unwrap_or(u32::MAX);
        let delay = COUNT_INTERVAL.max(COUNT_INTERVAL_PER_WORKLOAD.saturating_mul(workloads));
        handles.policies.enqueue_after(AllPolicies, delay);
    }

    pub(crate) fn config_changed(&self) {
        let Some(handles) = self.handles.get() else { return };
        enqueue_all(&self.context.workloads, &handles.workloads);
        self.count_policies(handles);
        for claim in self.context.claims.all() {
            handles.enqueue_instance(&claim);
        }
    }

    fn workload(&self, change: &Change<Workload>) {
        self.object_metrics.workload(change);
        let Some(handles) = self.handles.get() else { return };
        if !change.echo {
            handles.workloads.enqueue(Key::of(&change.object));
        }
        if described(change).is_more_than_status() {
            self.count_policies(handles);
            self.enqueue_referring_claims(change, handles);
        }
    }

    /// Enqueues claims that refer to Workloads, if this one appeared, disappeared, or changed its ports.
    fn enqueue_referring_claims(&self, change: &Change<Workload>, handles: &Handles) {
        let was = change.previous.as_ref().and_then(service_ref::ports);
        let is = service_ref::ports(&change.object).filter(|_| !change.gone);
        if was != is || change.gone {
            let namespace = change.object.namespace().unwrap_or_default();
            for claim in self.context.claims.indexed(&refers_to_workloads(&namespace)) {
                handles.enqueue_instance(&claim);
            }
        }
    }

    fn policy(&self, event: &Event<PlatformPolicy>) {
        let Some(handles) = self.handles.get() else { return };
        let is_relevant = match event {
            Event::Changed(change) => described(change).is_more_than_status(),
            Event::InvalidChanged => true,
        };
        if is_relevant {
            enqueue_all(&self.context.workloads, &handles.workloads);
            handles.policies.enqueue(AllPolicies);
        }
    }

    fn claim(&self, change: &Change<ResourceClaim>) {
        self.object_metrics.claim(change);
        let Some(handles) = self.handles.get() else { return };
        let claim = &change.object;
        if described(change).origin() != Origin::OwnReport {
            handles.enqueue_instance(claim);
        }
        if described(change).is_more_than_status() {
            self.count_policies(handles);
        }
        let workload = Key::new(&claim.namespace().unwrap_or_default(), &claim.spec.workload_ref.name);
        handles.workloads.enqueue_in_progress(workload);
    }

    fn plan(&self, change: &Change<WorkloadPlan>) {
        self.object_metrics.plan(change);
        let Some(handles) = self.handles.get() else { return };
        let key = Key::of(&change.object);
        // Claims that were kept for what ran may be released now.
        for claim in self.context.claims.indexed(&by_workload(&key.namespace, &key.name)) {
            if claim.metadata.deletion_timestamp.is_some() {
                handles.enqueue_instance(&claim);
            }
        }
        let origin = described(change).origin();
        enqueue(&handles.workloads, &key, watch::plan_to_workload(origin, &change.object));
        if described(change).is_more_than_status() {
            self.count_policies(handles);
        }
        if origin != Origin::OwnReport {
            handles.plans.enqueue(key);
        }
    }

    fn exposure(&self, change: &Change<WorkloadExposure>) {
        let Some(handles) = self.handles.get() else { return };
        let key = Key::of(&change.object);
        let plan = self.context.plans.get(&key.namespace, &key.name);
        let workload = self.context.workloads.get(&key.namespace, &key.name);
        let described = described(change);
        let reaction =
            watch::exposure_to_workload(described.origin(), &change.object, plan.as_ref(), workload.as_ref());
        enqueue(&handles.workloads, &key, reaction);
        if described.is_more_than_status() {
            self.count_policies(handles);
        }
        if watch::exposure_to_plan(&described, plan.as_ref()) {
            handles.plans.enqueue(key);
        }
    }

    fn namespace(&self, change: &Change<Namespace>) {
        let Some(handles) = self.handles.get() else { return };
        self.count_policies(handles);
        let name = change.object.name_any();
        for (namespace, workload) in self.context.workloads.keys() {
            if namespace == name {
                handles.workloads.enqueue(Key { namespace, name: workload });
            }
        }
    }
}

/// Handles changes of objects. Those that cannot be deserialized have no effect.
fn on_change<K>(event: &Event<K>, handle: impl FnOnce(&Change<K>)) {
    if let Event::Changed(change) = event {
        handle(change);
    }
}

/// Metadata of a change.
fn described<K: Resource>(change: &Change<K>) -> watch::Change<'_> {
    watch::Change {
        previous: change.previous.as_ref().map(Resource::meta),
        current: change.object.meta(),
        gone: change.gone,
        echo: change.echo,
    }
}

fn enqueue(handle: &Handle<Key>, key: &Key, reaction: Enqueue) {
    match reaction {
        Enqueue::No => {}
        Enqueue::Now => handle.enqueue_in_progress(key.clone()),
        Enqueue::After(delay) => handle.enqueue_in_progress_after(key.clone(), delay),
    }
}

fn enqueue_all<K: Kind>(cache: &Cache<K>, handle: &Handle<Key>) {
    for (namespace, name) in cache.keys() {
        handle.enqueue(Key { namespace, name });
    }
}

struct Reflectors<'a> {
    client: &'a Client,
    metrics: &'a Metrics,
    shutdown: &'a Shutdown,
    watches: &'a Watches,
}

impl Reflectors<'_> {
    fn start<K: Kind>(&self, cache: &Cache<K>, on_event: fn(&Watches, &Event<K>)) -> JoinHandle<()> {
        let api: Api<DeserializeGuard<K>> = Api::all(self.client.clone());
        let (cache, metrics, shutdown) = (cache.clone(), self.metrics.clone(), self.shutdown.clone());
        let watches = self.watches.clone();
        tokio::spawn(reflect(cache, api, Selection::default(), metrics, shutdown, move |event| {
            on_event(&watches, &event);
        }))
    }
}
