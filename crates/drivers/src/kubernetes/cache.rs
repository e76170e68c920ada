//! Informer cache of the cluster: for each Workload a summary of its objects and pods.
//!
//! Watches fill it, and so do the answers to our own writes, which gives read-your-writes. Events with an older resource
//! version are ignored.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use jiff::Timestamp;
use orchestra_core::{
    observe::{
        kubernetes::{Cause, Crash, Pod, ProbeFailure, Progress, RECOVERY_TIME, Rollout, RolloutKind},
        owned_fields::FieldsHash,
    },
    render::kubernetes::exposure::RouteFact,
};

use super::{
    kind::Kind,
    object_state::{Facts, ObjectState, WatchedObject},
};

use crate::NamespacedName;

/// Cache of the cluster. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct Cache(Arc<Mutex<CacheState>>);

#[derive(Debug, Default)]
struct CacheState {
    workloads: HashMap<NamespacedName, WorkloadEntry>,
    /// Routes of claims, by namespace and instance.
    routes: HashMap<NamespacedName, Vec<Versioned<ObjectState>>>,
    /// Workloads that publish the routes of claims.
    publishers: HashMap<NamespacedName, BTreeSet<NamespacedName>>,
    /// Number of lists of each kind.
    rounds: HashMap<Kind, u32>,
}

/// Cached state of a Workload.
#[derive(Debug, Default)]
struct WorkloadEntry {
    objects: Vec<Versioned<ObjectState>>,
    pods: Vec<Versioned<Pod>>,
    /// Desired and stored hash of objects in which the server defaults or normalises fields.
    defaulted: Vec<(Kind, Box<str>, FieldsHash, FieldsHash)>,
    /// Last rendered objects.
    rendered: Option<Arc<Rendered>>,
}

/// Rendered objects of a revision.
#[derive(Debug)]
pub(super) struct Rendered {
    pub(super) revision: Box<str>,
    /// Kind and name of each object, with the hash of its desired fields.
    pub(super) objects: Box<[(Kind, Box<str>, FieldsHash)]>,
}

#[derive(Debug)]
struct Versioned<T> {
    value: T,
    version: u64,
    round: u32,
}

/// Object that does not run, without a known cause.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Unexplained {
    pub(super) id: NamespacedName,
    pub(super) uid: Box<str>,
}

/// Snapshot of a Workload.
#[derive(Clone, Debug, Default)]
pub(super) struct View {
    pub(super) objects: Vec<ObjectState>,
    pub(super) pods: Vec<Pod>,
}

impl Cache {
    fn state(&self) -> MutexGuard<'_, CacheState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores an object. Returns the Workloads whose status may have changed.
    pub(super) fn store(&self, kind: Kind, watched: &WatchedObject) -> Vec<NamespacedName> {
        let mut state = self.state();
        let round = state.rounds.get(&kind).copied().unwrap_or_default();
        if let Some(instance) = &watched.instance {
            // Other objects of claims do not concern the runtime.
            if !matches!(kind, Kind::Ingress | Kind::HttpRoute) {
                return Vec::new();
            }
            let at = (watched.namespace.clone(), instance.clone());
            let live = watched.state(kind);
            let routes = state.routes.entry(at.clone()).or_default();
            let is_changed =
                upsert(routes, live, watched.version, round, |a, b| a.kind == b.kind && a.name == b.name);
            return if is_changed { state.publishers_of(&at) } else { Vec::new() };
        }
        let Some(workload) = &watched.workload else { return Vec::new() };
        let id = (watched.namespace.clone(), workload.clone());
        let entry = state.workloads.entry(id.clone()).or_default();
        let is_changed = if kind == Kind::Pod {
            let pod = Pod::read(&watched.json["metadata"], &watched.json);
            let pod = entry.with_cached_causes(pod);
            upsert(&mut entry.pods, pod, watched.version, round, |a, b| a.uid == b.uid)
        } else {
            let mut live = watched.state(kind);
            live.event_cause = entry.cached_cause(&live);
            upsert(&mut entry.objects, live, watched.version, round, |a, b| {
                a.kind == b.kind && a.name == b.name
            })
        };
        if is_changed { vec![id] } else { Vec::new() }
    }

    /// Removes an object of which only the metadata is watched, if its version is newer than the cached one. Returns the Workloads
    /// whose status may have changed.
    pub(super) fn invalidate(&self, kind: Kind, watched: &WatchedObject) -> Vec<NamespacedName> {
        let Some(workload) = &watched.workload else { return Vec::new() };
        let id = (watched.namespace.clone(), workload.clone());
        let mut state = self.state();
        let round = state.rounds.get(&kind).copied().unwrap_or_default();
        let objects = state.workloads.get_mut(&id).into_iter().flat_map(|entry| &mut entry.objects);
        let mut cached =
            objects.filter(|cached| cached.value.kind == kind && &*cached.value.uid == watched.uid());
        let Some(cached) = cached.next() else { return Vec::new() };
        cached.round = round;
        if watched.version <= cached.version {
            return Vec::new();
        }
        state.drop_from(&id, kind, watched.uid());
        vec![id]
    }

    /// Removes an object that was deleted. Returns the Workloads whose status may have changed.
    pub(super) fn remove(&self, kind: Kind, watched: &WatchedObject) -> Vec<NamespacedName> {
        let mut state = self.state();
        let uid = watched.uid();
        if let Some(instance) = &watched.instance {
            let at = (watched.namespace.clone(), instance.clone());
            if let Some(routes) = state.routes.get_mut(&at) {
                routes.retain(|route| &*route.value.uid != uid);
            }
            return state.publishers_of(&at);
        }
        let Some(workload) = &watched.workload else { return Vec::new() };
        let id = (watched.namespace.clone(), workload.clone());
        state.drop_from(&id, kind, uid);
        vec![id]
    }

    /// Removes an object after our own delete.
    pub(super) fn deleted(&self, id: &NamespacedName, live: &ObjectState) {
        self.state().drop_from(id, live.kind, &live.uid);
    }

    /// Starts a relist of a kind.
    pub(super) fn relist_started(&self, kind: Kind) {
        *self.state().rounds.entry(kind).or_default() += 1;
    }

    /// Ends a relist of a kind: objects that are not in the list are removed.
    pub(super) fn relist_done(&self, kind: Kind) -> Vec<NamespacedName> {
        let mut state = self.state();
        let round = state.rounds.get(&kind).copied().unwrap_or_default();
        let mut changed = Vec::new();
        for (id, entry) in &mut state.workloads {
            let before = entry.objects.len() + entry.pods.len();
            if kind == Kind::Pod {
                entry.pods.retain(|pod| pod.round == round);
            }
            entry.objects.retain(|object| object.value.kind != kind || object.round == round);
            if entry.objects.len() + entry.pods.len() != before {
                changed.push(id.clone());
            }
        }
        let mut gone = Vec::new();
        for (instance, routes) in &mut state.routes {
            let before = routes.len();
            routes.retain(|route| route.value.kind != kind || route.round == round);
            if routes.len() != before {
                gone.push(instance.clone());
            }
        }
        changed.extend(gone.iter().flat_map(|instance| state.publishers_of(instance)));
        state.routes.retain(|_, routes| !routes.is_empty());
        state.workloads.retain(|_, entry| !entry.is_empty());
        changed
    }

    /// Object of a Workload.
    pub(super) fn object(&self, id: &NamespacedName, kind: Kind, name: &str) -> Option<ObjectState> {
        let state = self.state();
        let objects = &state.workloads.get(id)?.objects;
        objects
            .iter()
            .find(|live| live.value.kind == kind && &*live.value.name == name)
            .map(|live| live.value.clone())
    }

    /// True if an object differs from the desired fields only by defaulted fields.
    pub(super) fn is_defaulted(&self, id: &NamespacedName, live: &ObjectState, wanted: FieldsHash) -> bool {
        let state = self.state();
        let defaulted = state.workloads.get(id).into_iter().flat_map(|entry| &entry.defaulted);
        let mut defaulted = defaulted.filter(|(kind, name, ..)| *kind == live.kind && *name == live.name);
        defaulted.any(|(.., asked, got)| *asked == wanted && Some(*got) == live.fields_hash)
    }

    /// Records the hashes of an object with defaulted fields.
    pub(super) fn set_defaulted(&self, id: &NamespacedName, live: &ObjectState, wanted: FieldsHash) {
        let mut state = self.state();
        let entry = state.workloads.entry(id.clone()).or_default();
        entry.defaulted.retain(|(kind, name, ..)| *kind != live.kind || *name != live.name);
        if let Some(got) = live.fields_hash.filter(|got| *got != wanted) {
            entry.defaulted.push((live.kind, live.name.clone(), wanted, got));
        }
    }

    /// Rendered objects of this revision.
    pub(super) fn rendered(&self, id: &NamespacedName, revision: &str) -> Option<Arc<Rendered>> {
        let state = self.state();
        state.workloads.get(id)?.rendered.clone().filter(|rendered| *rendered.revision == *revision)
    }

    /// Records the rendered objects.
    pub(super) fn set_rendered(&self, id: &NamespacedName, rendered: Rendered) {
        self.state().workloads.entry(id.clone()).or_default().rendered = Some(Arc::new(rendered));
    }

    /// Snapshot of a Workload.
    pub(super) fn view(&self, id: &NamespacedName) -> View {
        let state = self.state();
        let Some(entry) = state.workloads.get(id) else { return View::default() };
        View {
            objects: entry.objects.iter().map(|live| live.value.clone()).collect(),
            pods: entry.pods.iter().map(|pod| pod.value.clone()).collect(),
        }
    }

    /// Routes of an instance. The Workload is notified of their changes from now on.
    pub(super) fn routes(&self, id: &NamespacedName, instance: &str) -> Vec<RouteFact> {
        let mut state = self.state();
        let at = (id.0.clone(), instance.to_owned());
        state.publishers.entry(at.clone()).or_default().insert(id.clone());
        let routes = state.routes.get(&at).into_iter().flatten();
        let facts = routes.filter_map(|route| match &route.value.facts {
            Facts::Route(fact) => Some((**fact).clone()),
            _ => None,
        });
        facts.collect()
    }

    /// Removes a Workload.
    pub(super) fn forget(&self, id: &NamespacedName) {
        let mut state = self.state();
        state.workloads.remove(id);
        state.publishers.retain(|_, publishers| {
            publishers.remove(id);
            !publishers.is_empty()
        });
    }

    /// Objects that do not run, without a known cause.
    pub(super) fn unexplained(&self, now: Timestamp) -> BTreeSet<Unexplained> {
        let state = self.state();
        let mut unexplained = BTreeSet::new();
        for (id, entry) in &state.workloads {
            let uids = entry.pods.iter().filter(|pod| pod.value.needs_events(now)).map(|pod| &pod.value.uid);
            let makers =
                entry.objects.iter().filter(|live| is_unexplained(&live.value)).map(|live| &live.value.uid);
            unexplained
                .extend(uids.chain(makers).map(|uid| Unexplained { id: id.clone(), uid: uid.clone() }));
        }
        unexplained
    }

    /// Sets the cause of an object that does not run. Returns whether it has changed.
    pub(super) fn set_cause(&self, object: &Unexplained, cause: Option<Cause>) -> bool {
        let mut state = self.state();
        let Some(entry) = state.workloads.get_mut(&object.id) else { return false };
        let of_pods = entry
            .pods
            .iter_mut()
            .filter(|pod| pod.value.uid == object.uid)
            .map(|pod| &mut pod.value.event_cause);
        let of_makers = entry.objects.iter_mut().filter(|live| live.value.uid == object.uid);
        let of_makers = of_makers.map(|live| &mut live.value.event_cause);
        let Some(current) = of_pods.chain(of_makers).next() else { return false };
        let mut cause = cause.map(Box::new);
        // The first output of a command stays, so that the message is stable.
        if let (Some(Cause::Probe(probe)), Some(Cause::Probe(cached))) =
            (cause.as_deref_mut(), current.as_deref())
            && probe.is_like(cached)
        {
            probe.found.clone_from(&cached.found);
        }
        let is_changed = *current != cause;
        *current = cause;
        is_changed
    }

    /// Records the last log line of a crashed container.
    pub(super) fn last_line(&self, id: &NamespacedName, uid: &str, line: &str) {
        self.crashes(id, uid, |crash| crash.last_line = Some(line.into()));
    }

    /// Records the probe that failed before a container was killed.
    pub(super) fn killed_by(&self, id: &NamespacedName, uid: &str, check: &ProbeFailure) {
        self.crashes(id, uid, |crash| crash.killed_by = Some(Box::new(check.clone())));
    }

    fn crashes(&self, id: &NamespacedName, uid: &str, mut note: impl FnMut(&mut Crash)) {
        let mut state = self.state();
        let Some(entry) = state.workloads.get_mut(id) else { return };
        let pods = entry.pods.iter_mut().filter(|pod| &*pod.value.uid == uid);
        for cause in pods.filter_map(|pod| pod.value.cause.as_deref_mut()) {
            if let Cause::Crash(crash) = cause {
                note(crash);
            }
        }
    }

    /// Workloads whose crashed containers have now run long enough to count as recovered.
    pub(super) fn recovered(&self, since: Timestamp, now: Timestamp) -> Vec<NamespacedName> {
        let state = self.state();
        let has_recovered = |pod: &Versioned<Pod>| {
            let at = pod.value.restarted.and_then(|at| at.checked_add(RECOVERY_TIME).ok());
            at.is_some_and(|at| at > since && at <= now)
        };
        let recovered = state.workloads.iter().filter(|(_, entry)| entry.pods.iter().any(has_recovered));
        recovered.map(|(id, _)| id.clone()).collect()
    }
}

impl CacheState {
    fn publishers_of(&self, instance: &NamespacedName) -> Vec<NamespacedName> {
        self.publishers.get(instance).into_iter().flatten().cloned().collect()
    }

    fn drop_from(&mut self, id: &NamespacedName, kind: Kind, uid: &str) {
        let Some(entry) = self.workloads.get_mut(id) else { return };
        if kind == Kind::Pod {
            entry.pods.retain(|pod| &*pod.value.uid != uid);
        } else {
            entry.objects.retain(|live| &*live.value.uid != uid);
        }
        if entry.is_empty() {
            self.workloads.remove(id);
        }
    }
}

impl WorkloadEntry {
    fn is_empty(&self) -> bool {
        self.objects.is_empty() && self.pods.is_empty()
    }

    /// Pod with its cached causes from events and logs.
    fn with_cached_causes(&self, mut pod: Pod) -> Pod {
        let Some(before) = self.pods.iter().find(|before| before.value.uid == pod.uid) else { return pod };
        if !pod.is_ready {
            pod.event_cause = pod.event_cause.or_else(|| before.value.event_cause.clone());
        }
        if let (Some(Cause::Crash(crash)), Some(Cause::Crash(cached))) =
            (pod.cause.as_deref_mut(), before.value.cause.as_deref())
            && crash.container == cached.container
        {
            // The first line stays: the message changes only with the exit code.
            crash.last_line.clone_from(&cached.last_line);
            if crash.started_at == cached.started_at {
                crash.killed_by.clone_from(&cached.killed_by);
            }
        }
        pod
    }

    /// The cause from events stays until the pods are created.
    fn cached_cause(&self, live: &ObjectState) -> Option<Box<Cause>> {
        let before = self.objects.iter().find(|before| before.value.uid == live.uid)?;
        before.value.event_cause.clone().filter(|_| is_unexplained(live))
    }
}

/// True if a controller does not create its pods for an unknown reason.
fn is_unexplained(live: &ObjectState) -> bool {
    match &live.facts {
        Facts::Rollout(rollout) => {
            rollout.kind != RolloutKind::Deployment
                && rollout.total < rollout.desired
                && !is_finished(rollout)
                && !live.is_deleting
        }
        _ => false,
    }
}

fn is_finished(rollout: &Rollout) -> bool {
    rollout.kind == RolloutKind::Job && rollout.progress != Progress::Running
}

/// Stores a value, unless it is older than the cached one. Returns whether it has changed.
fn upsert<T: PartialEq>(
    all: &mut Vec<Versioned<T>>,
    value: T,
    version: u64,
    round: u32,
    is_same: fn(&T, &T) -> bool,
) -> bool {
    let Some(cached) = all.iter_mut().find(|cached| is_same(&cached.value, &value)) else {
        all.push(Versioned { value, version, round });
        return true;
    };
    cached.round = round;
    if version < cached.version {
        return false;
    }
    cached.version = version;
    let is_changed = cached.value != value;
    cached.value = value;
    is_changed
}

#[cfg(test)]
mod tests;
