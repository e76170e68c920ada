//! All controllers together: who is woken by what, and how they begin and end.
//!
//! ```text
//! Workload ─────────► workload          ResourceClaim ─► claim (its instance), workload
//! PlatformPolicy ───► workload, policy  WorkloadPlan ──► plan, workload, claim (those it used)
//! Namespace ────────► workload          WorkloadExposure ► workload, plan
//! the document ─────► workload, claim   runtimes ► plan, provisioners ► claim
//! ```
//!
//! A Workload also wakes the claims of its namespace that are about Workloads, if it comes, goes, or offers other ports.
//! Policies count Workloads at leisure, after any change of what is decided about these.
//!
//! Nothing is polled but the Secrets behind what is bound, now and then: each wakes what its change can concern.

use std::{
    fmt,
    num::NonZeroUsize,
    sync::{Arc, OnceLock},
    time::Duration,
};

use futures_util::{StreamExt, stream::BoxStream};
use k8s_openapi::{api::core::v1::Namespace, jiff::Timestamp};
use kube::{Api, Client, Resource, ResourceExt};
use orchestra_api::{PlatformPolicy, ResourceClaim, Workload, WorkloadExposure, WorkloadPlan, plan::Phase};
use orchestra_core::{config::Ground, endpoint, provision::neighbour};
use orchestra_drivers::{Provisioner, Runtime};
use tokio::task::JoinHandle;

use crate::{
    cache::{Cache, Change, Kind},
    claim::ClaimController,
    feed::{Selection, feed},
    key::Key,
    legible::Legible,
    metrics::Metrics,
    patience::MOMENT,
    plan::{PlanController, is_under_way},
    policy::{AllPolicies, PolicyController},
    record::Recorder,
    secrets::NamespaceSecrets,
    settings::{Keeper, Settings},
    stop::{self, Stop, Stopper},
    tally::Tally,
    work::{self, Handle, Worker},
    workload::WorkloadController,
    world::{World, about_workloads, by_workload},
    write::Writer,
};

/// How long an address that we publish waits for the report that what is behind it runs, which comes next and wakes at
/// once.
const PUBLISHING: Duration = Duration::from_secs(2);
/// How long changes are gathered before policies are counted anew: at least this,
const COUNTING: Duration = Duration::from_secs(1);
/// and the longer, the more Workloads there are, so that counting stays a small part of the work.
const COUNTING_EACH: Duration = Duration::from_micros(500);

/// How the controllers run.
pub struct Options {
    /// What runs plans.
    pub runtimes: Vec<Arc<dyn Runtime>>,
    /// What provides what claims ask for.
    pub provisioners: Vec<Arc<dyn Provisioner>>,
    /// How many objects each controller works on at a time.
    pub concurrency: NonZeroUsize,
    /// Which process this is.
    pub identity: String,
    /// The time of day.
    pub clock: fn() -> Timestamp,
    /// Where everything is counted.
    pub metrics: Metrics,
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options").field("identity", &self.identity).finish_non_exhaustive()
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            runtimes: Vec::new(),
            provisioners: Vec::new(),
            concurrency: NonZeroUsize::MIN.saturating_add(15),
            identity: "orchestra".to_owned(),
            clock: Timestamp::now,
            metrics: Metrics::default(),
        }
    }
}

/// The controllers, at work.
#[derive(Debug)]
pub struct Controllers {
    world: World,
    handles: Handles,
    stopper: Stopper,
    tasks: Vec<JoinHandle<()>>,
    /// Ends last, since the others have something to tell until they end.
    recording: (Stopper, JoinHandle<()>),
}

/// How each controller is woken.
#[derive(Clone, Debug)]
struct Handles {
    workloads: Handle<Key>,
    claims: Handle<Key>,
    plans: Handle<Key>,
    policies: Handle<AllPolicies>,
}

impl Handles {
    /// Wakes the instance behind a claim.
    fn wake_instance(&self, claim: &ResourceClaim) {
        if let Some(key) = ClaimController::key(claim) {
            self.claims.wake(key);
        }
    }
}

impl Controllers {
    /// Starts all controllers. They work once everything is known.
    pub async fn start(client: Client, options: Options) -> kube::Result<Self> {
        let Options { runtimes, provisioners, concurrency, identity, clock, metrics } = options;
        let (stopper, stop) = stop::channel();
        let ground = Ground::of(runtimes.iter().map(|runtime| runtime.class()));
        let world = World { settings: Settings::on(ground), ..World::new(clock) };
        let (silence, silenced) = stop::channel();
        let (recorder, recording) = Recorder::start(client.clone(), "orchestrator", &identity, silenced);
        let keeper =
            Keeper::load(world.settings.clone(), client.clone(), recorder.clone(), metrics.clone()).await?;
        let waker =
            Waker { world: world.clone(), handles: Arc::default(), tally: Tally::new(metrics.clone()) };
        let mut tasks: Vec<_> = waker.feeds(&client, &metrics, &stop).into();
        {
            let waker = waker.clone();
            let following = keeper.follow(stop.clone(), move || waker.document_changed());
            tasks.push(tokio::spawn(following));
        }
        waker.synced().await;

        let work = work::Options { concurrency, metrics, ..work::Options::default() };
        let secrets = NamespaceSecrets::new(client.clone());
        let writer = |controller| Writer::new(client.clone(), controller);
        let told_by_runtimes: Vec<_> = runtimes.iter().map(|runtime| runtime.changes()).collect();
        let told_by_provisioners: Vec<_> =
            provisioners.iter().map(|provisioner| provisioner.changes()).collect();
        let classes = runtimes.iter().map(|runtime| runtime.class().to_owned()).collect();
        let workload = WorkloadController::new(world.clone(), writer("workload"), recorder, classes);
        // Whoever wants a thousand Workloads at once has the first of them soon.
        let beginning = NonZeroUsize::new(concurrency.get() / 8);
        let apart = work::Options { beginning, ..work.clone() };
        let (workloads, task) = Worker::start(Arc::new(workload), apart, stop.clone());
        tasks.push(task);
        let claim = ClaimController::new(world.clone(), writer("claim"), secrets.clone(), provisioners);
        let (claims, task) = Worker::start(Arc::new(claim), work.clone(), stop.clone());
        tasks.push(task);
        let plan = PlanController::new(world.clone(), writer("plan"), secrets, runtimes);
        let (plans, task) = Worker::start(Arc::new(plan), work.clone(), stop.clone());
        tasks.push(task);
        let policy = PolicyController::new(world.clone(), client);
        let (policies, task) = Worker::start(Arc::new(policy), work, stop.clone());
        tasks.push(task);
        let handles = Handles { workloads, claims, plans, policies };
        tasks.extend(told_by_runtimes.into_iter().map(|told| relay(told, handles.plans.clone(), &stop)));
        tasks.extend(told_by_provisioners.into_iter().map(|told| relay(told, handles.claims.clone(), &stop)));
        waker.begin(handles.clone());
        Ok(Self { world, handles, stopper, tasks, recording: (silence, recording) })
    }

    /// What the controllers know.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// Waits until no controller has anything to do.
    pub async fn idle(&self) {
        let Handles { workloads, claims, plans, policies: _ } = &self.handles;
        tokio::join!(workloads.idle(), claims.idle(), plans.idle());
    }

    /// Breaks all controllers off, in the middle of whatever they do.
    pub fn abort(self) {
        self.tasks.iter().for_each(JoinHandle::abort);
        self.recording.1.abort();
    }

    /// Ends all controllers: nothing new is begun, and what is in progress is brought to its end.
    pub async fn stop(self) {
        self.stopper.stop();
        for task in self.tasks {
            // One that panicked has ended as well.
            let _ = task.await;
        }
        let (silence, recording) = self.recording;
        silence.stop();
        let _ = recording.await;
    }
}

/// Wakes a controller when a driver has something to tell.
fn relay(mut told: BoxStream<'static, (String, String)>, handle: Handle<Key>, stop: &Stop) -> JoinHandle<()> {
    let stop = stop.clone();
    tokio::spawn(async move {
        let relaying = async {
            while let Some((namespace, name)) = told.next().await {
                handle.wake(Key { namespace, name });
            }
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = stop.requested() => {}
            () = relaying => {}
        }
    })
}

/// Knows whom a change concerns.
#[derive(Clone, Debug)]
struct Waker {
    world: World,
    /// Set once everything is known; until then nobody is woken, and then everybody is.
    handles: Arc<OnceLock<Handles>>,
    tally: Tally,
}

impl Waker {
    fn feeds(&self, client: &Client, metrics: &Metrics, stop: &Stop) -> [JoinHandle<()>; 6] {
        let World { workloads, policies, claims, plans, exposures, namespaces, .. } = &self.world;
        let feeds = Feeds { client, metrics, stop };
        let me = || self.clone();
        [
            feeds.start::<Workload>(workloads, {
                let me = me();
                move |change| me.workload(&change)
            }),
            feeds.start::<PlatformPolicy>(policies, {
                let me = me();
                move |change| me.policy(&change)
            }),
            feeds.start::<ResourceClaim>(claims, {
                let me = me();
                move |change| me.claim(&change)
            }),
            feeds.start::<WorkloadPlan>(plans, {
                let me = me();
                move |change| me.plan(&change)
            }),
            feeds.start::<WorkloadExposure>(exposures, {
                let me = me();
                move |change| me.exposure(&change)
            }),
            feeds.start::<Namespace>(namespaces, {
                let me = me();
                move |change| me.namespace(&change)
            }),
        ]
    }

    async fn synced(&self) {
        let World { workloads, policies, claims, plans, exposures, namespaces, .. } = &self.world;
        tokio::join!(
            workloads.synced(),
            policies.synced(),
            claims.synced(),
            plans.synced(),
            exposures.synced(),
            namespaces.synced()
        );
    }

    /// From now on changes wake; and what there is already, is looked at.
    fn begin(&self, handles: Handles) {
        let _ = self.handles.set(handles);
        self.document_changed();
        if let Some(handles) = self.handles.get() {
            wake_all(&self.world.plans, &handles.plans);
            handles.policies.wake(AllPolicies);
        }
    }

    /// Has the policies counted anew, when changes have been gathered.
    fn count_policies(&self, handles: &Handles) {
        let workloads = u32::try_from(self.world.workloads.len()).unwrap_or(u32::MAX);
        handles.policies.wake_in(AllPolicies, COUNTING.max(COUNTING_EACH.saturating_mul(workloads)));
    }

    fn document_changed(&self) {
        let Some(handles) = self.handles.get() else { return };
        wake_all(&self.world.workloads, &handles.workloads);
        self.count_policies(handles);
        for claim in self.world.claims.all() {
            handles.wake_instance(&claim);
        }
    }

    fn workload(&self, change: &Change<Workload>) {
        self.tally.workload(change);
        let Some(handles) = self.handles.get() else { return };
        if !change.echo {
            handles.workloads.wake(Key::of(&change.object));
        }
        if is_other(change) {
            self.count_policies(handles);
            self.neighbour(change, handles);
        }
    }

    /// Claims that are about Workloads are looked at again, if another one can be found here than before.
    fn neighbour(&self, change: &Change<Workload>, handles: &Handles) {
        let was = change.previous.as_ref().and_then(neighbour::ports);
        let is = neighbour::ports(&change.object).filter(|_| !change.gone);
        if was != is || change.gone {
            let namespace = change.object.namespace().unwrap_or_default();
            for claim in self.world.claims.indexed(&about_workloads(&namespace)) {
                handles.wake_instance(&claim);
            }
        }
    }

    fn policy(&self, change: &Change<PlatformPolicy>) {
        let Some(handles) = self.handles.get() else { return };
        if is_other(change) {
            wake_all(&self.world.workloads, &handles.workloads);
            handles.policies.wake(AllPolicies);
        }
    }

    fn claim(&self, change: &Change<ResourceClaim>) {
        self.tally.claim(change);
        let Some(handles) = self.handles.get() else { return };
        let claim = &change.object;
        if !is_own_report(change) {
            handles.wake_instance(claim);
        }
        if is_other(change) {
            self.count_policies(handles);
        }
        handles
            .workloads
            .pursue(Key::new(&claim.namespace().unwrap_or_default(), &claim.spec.workload_ref.name));
    }

    fn plan(&self, change: &Change<WorkloadPlan>) {
        self.tally.plan(change);
        let Some(handles) = self.handles.get() else { return };
        let key = Key::of(&change.object);
        // Claims that were kept for what ran may be free now.
        for claim in self.world.claims.indexed(&by_workload(&key.namespace, &key.name)) {
            if claim.metadata.deletion_timestamp.is_some() {
                handles.wake_instance(&claim);
            }
        }
        if is_own_report(change) && is_under_way(change.object.status.as_ref()) {
            handles.workloads.pursue_in(key.clone(), MOMENT);
        } else if !is_own_making(change) {
            handles.workloads.pursue(key.clone());
        }
        if is_other(change) {
            self.count_policies(handles);
        }
        if !is_own_report(change) {
            handles.plans.wake(key);
        }
    }

    fn exposure(&self, change: &Change<WorkloadExposure>) {
        let Some(handles) = self.handles.get() else { return };
        let key = Key::of(&change.object);
        if is_own_report(change) && !self.runs(&key) {
            handles.workloads.pursue_in(key.clone(), PUBLISHING);
        } else if !(is_own_making(change) || is_own_report(change) && self.is_mirrored(&change.object)) {
            handles.workloads.pursue(key.clone());
        }
        if is_other(change) {
            self.count_policies(handles);
            // Most often it is made before its plan, which wakes in its turn.
            let plan = || self.world.plans.get(&key.namespace, &key.name);
            let is_early = || plan().is_none_or(|plan| plan.status.is_none());
            if !is_own_making(change) || !is_early() {
                handles.plans.wake(key);
            }
        }
    }

    /// Whether a Workload has said already where it is reached.
    fn is_mirrored(&self, exposure: &WorkloadExposure) -> bool {
        let published = exposure.status.as_ref().map(|status| status.exposures.as_slice());
        let workload =
            self.world.workloads.get(&exposure.namespace().unwrap_or_default(), &exposure.name_any());
        workload
            .and_then(|workload| workload.status)
            .is_some_and(|said| said.endpoint == endpoint::mirror(published, said.endpoint.as_deref()))
    }

    /// Whether it was said that a plan is in force and runs.
    fn runs(&self, key: &Key) -> bool {
        let status = self.world.plans.get(&key.namespace, &key.name).and_then(|plan| plan.status);
        status.is_some_and(|status| status.phase == Phase::Ready)
    }

    fn namespace(&self, change: &Change<Namespace>) {
        let Some(handles) = self.handles.get() else { return };
        self.count_policies(handles);
        let name = change.object.name_any();
        for (namespace, workload) in self.world.workloads.keys() {
            if namespace == name {
                handles.workloads.wake(Key { namespace, name: workload });
            }
        }
    }
}

/// Whether this is only what our own controllers have reported.
fn is_own_report<K: Resource>(change: &Change<K>) -> bool {
    change.echo && !is_other(change)
}

/// Whether this is what the workload controller has just made, as it made it: that is no news to it.
fn is_own_making<K: Resource>(change: &Change<K>) -> bool {
    change.echo && change.previous.is_none() && !change.gone
}

/// Whether more than the status has changed.
fn is_other<K: Resource>(change: &Change<K>) -> bool {
    let was = change.previous.as_ref().map(Resource::meta);
    let is = change.object.meta();
    change.gone
        || was.is_none_or(|was| {
            (was.generation, &was.labels, &was.annotations, &was.deletion_timestamp)
                != (is.generation, &is.labels, &is.annotations, &is.deletion_timestamp)
        })
}

fn wake_all<K: Kind>(cache: &Cache<K>, handle: &Handle<Key>) {
    for (namespace, name) in cache.keys() {
        handle.wake(Key { namespace, name });
    }
}

struct Feeds<'a> {
    client: &'a Client,
    metrics: &'a Metrics,
    stop: &'a Stop,
}

impl Feeds<'_> {
    fn start<K: Kind>(
        &self,
        cache: &Cache<K>,
        on_change: impl FnMut(Change<K>) + Send + 'static,
    ) -> JoinHandle<()> {
        let api: Api<Legible<K>> = Api::all(self.client.clone());
        let (cache, metrics, stop) = (cache.clone(), self.metrics.clone(), self.stop.clone());
        tokio::spawn(feed(cache, api, Selection::default(), metrics, stop, on_change))
    }
}
