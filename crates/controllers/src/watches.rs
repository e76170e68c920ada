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
//! [`orchestra_core::watch`] decides: it leaves out and delays reconciles that would find nothing to do. Nothing is polled except the Secrets
//! behind bound claims.

use std::sync::{Arc, OnceLock};

use k8s_openapi::api::core::v1::Namespace;
use kube::{Api, Client, Resource, ResourceExt};
use orchestra_api::{PlatformPolicy, ResourceClaim, Workload, WorkloadExposure, WorkloadPlan};
use orchestra_core::watch::{self, Enqueue};
use tokio::task::JoinHandle;

use crate::{
    claim::ClaimController,
    context::{Context, by_workload, refers_to_workloads},
    engine::{
        cache::{Cache, Event, Kind, ObjectChange},
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
        self.claims.enqueue(ClaimController::key(claim));
    }

    /// Enqueues the instance behind a claim, after those whose claims have changed.
    fn resync_instance(&self, claim: &ResourceClaim) {
        self.claims.enqueue_resync(ClaimController::key(claim));
    }
}

/// Mapping of changes to queues. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct Watches {
    context: Context,
    /// Set when this process leads and all caches are synced. Until then nothing is enqueued, then everything is.
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

    /// Enqueues everything that exists, unsettled objects first, and from now on what changes.
    pub(crate) fn enable(&self, handles: Handles) {
        let _ = self.handles.set(handles);
        self.object_metrics.publish();
        let Some(handles) = self.handles.get() else { return };
        let Context { workloads, plans, claims, .. } = &self.context;
        for workload in workloads.all().iter().filter(|workload| !watch::is_settled_workload(workload)) {
            handles.workloads.enqueue(Key::of(workload));
        }
        for plan in plans.all().iter().filter(|plan| !watch::is_settled_plan(plan)) {
            handles.plans.enqueue(Key::of(plan));
        }
        for claim in claims.all().iter().filter(|claim| !watch::is_settled_claim(claim)) {
            handles.enqueue_instance(claim);
        }
        self.config_changed();
        resync(plans, &handles.plans);
        handles.policies.enqueue(AllPolicies);
    }

    /// Enqueues the plan or the instance that a driver reports as changed.
    pub(crate) fn driver_changed(&self, queue: impl FnOnce(&Handles) -> &Handle<Key>, key: Key) {
        if let Some(handles) = self.handles.get() {
            queue(handles).enqueue(key);
        }
    }

    /// Has the Workloads of all policies counted, when changes have been gathered.
    fn count_policies(&self, handles: &Handles) {
        handles.policies.enqueue_after(AllPolicies, watch::count_delay(self.context.workloads.len()));
    }

    pub(crate) fn config_changed(&self) {
        let Some(handles) = self.handles.get() else { return };
        resync(&self.context.workloads, &handles.workloads);
        self.count_policies(handles);
        for claim in self.context.claims.all() {
            handles.resync_instance(&claim);
        }
    }

    fn workload(&self, change: &ObjectChange<Workload>) {
        self.object_metrics.workload(change);
        let Some(handles) = self.handles.get() else { return };
        let described = described(change);
        if watch::workload_to_workload(&described) {
            handles.workloads.enqueue(Key::of(&change.object));
        }
        if watch::to_policies(&described) {
            self.count_policies(handles);
        }
        if watch::workload_to_referring_claims(&described, change.previous.as_ref(), &change.object) {
            let namespace = change.object.namespace().unwrap_or_default();
            for claim in self.context.claims.indexed(&refers_to_workloads(&namespace)) {
                handles.enqueue_instance(&claim);
            }
        }
    }

    fn policy(&self, event: &Event<PlatformPolicy>) {
        let Some(handles) = self.handles.get() else { return };
        let is_relevant = match event {
            Event::Changed(change) => watch::policy_to_all(&described(change)),
            Event::InvalidChanged => true,
        };
        if is_relevant {
            resync(&self.context.workloads, &handles.workloads);
            handles.policies.enqueue(AllPolicies);
        }
    }

    fn claim(&self, change: &ObjectChange<ResourceClaim>) {
        self.object_metrics.claim(change);
        let Some(handles) = self.handles.get() else { return };
        let claim = &change.object;
        if watch::claim_to_instance(&described(change)) {
            handles.enqueue_instance(claim);
        }
        if watch::to_policies(&described(change)) {
            self.count_policies(handles);
        }
        let workload = Key::new(&claim.namespace().unwrap_or_default(), &claim.spec.workload_ref.name);
        handles.workloads.enqueue_in_progress(workload);
    }

    fn plan(&self, change: &ObjectChange<WorkloadPlan>) {
        self.object_metrics.plan(change);
        let Some(handles) = self.handles.get() else { return };
        let key = Key::of(&change.object);
        for claim in self.context.claims.indexed(&by_workload(&key.namespace, &key.name)) {
            if watch::plan_to_instance(&claim) {
                handles.enqueue_instance(&claim);
            }
        }
        let described = described(change);
        enqueue(&handles.workloads, &key, watch::plan_to_workload(described.origin(), &change.object));
        if watch::to_policies(&described) {
            self.count_policies(handles);
        }
        if watch::plan_to_plan(&described) {
            handles.plans.enqueue(key);
        }
    }

    fn exposure(&self, change: &ObjectChange<WorkloadExposure>) {
        let Some(handles) = self.handles.get() else { return };
        let key = Key::of(&change.object);
        let plan = self.context.plans.get(&key.namespace, &key.name);
        let workload = self.context.workloads.get(&key.namespace, &key.name);
        let described = described(change);
        let reaction =
            watch::exposure_to_workload(described.origin(), &change.object, plan.as_ref(), workload.as_ref());
        enqueue(&handles.workloads, &key, reaction);
        if watch::to_policies(&described) {
            self.count_policies(handles);
        }
        if watch::exposure_to_plan(&described, plan.as_ref()) {
            handles.plans.enqueue(key);
        }
    }

    fn namespace(&self, change: &ObjectChange<Namespace>) {
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
fn on_change<K>(event: &Event<K>, handle: impl FnOnce(&ObjectChange<K>)) {
    if let Event::Changed(change) = event {
        handle(change);
    }
}

/// Metadata of a change.
fn described<K: Resource>(change: &ObjectChange<K>) -> watch::WatchedChange<'_> {
    watch::WatchedChange {
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

/// Enqueues all objects of a kind, after those that have changed themselves.
fn resync<K: Kind>(cache: &Cache<K>, handle: &Handle<Key>) {
    for (namespace, name) in cache.keys() {
        handle.enqueue_resync(Key { namespace, name });
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
