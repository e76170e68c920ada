//! Supervisor of one Workload: a task that observes its programs, decides ([`orchestra_core::observe::process`]), acts, and
//! waits for the next event.
//!
//! All of its state is on disk or in the desired version. After a crash of the platform, the next supervisor adopts the runs
//! and reads the saved state.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, SystemTime},
};

use orchestra_api::plan::{ExposureTarget, WorkloadPlanSpec};
use orchestra_core::observe::process::{
    self as decisions,
    rollback::Rollback,
    rollout::{self, LastGood, Next, Observed, Step, Versions, WorkloadState},
    status::{self, Snapshot},
};
use orchestra_score::model::Protocol;
use tokio::{
    sync::{mpsc, watch},
    time::{Instant, sleep},
};

use super::{
    forward::{self, Forward},
    local_bindings::{self, LocalBinding},
    port_owner,
    prepare::PreparedPrograms,
    runs::{ContainerEvent, Runs},
    state,
};
use crate::{NamespacedName, Observation};

/// Surroundings of a supervised Workload.
#[derive(Clone, Debug)]
pub(super) struct WorkloadSite {
    /// Data folder of the platform.
    pub(super) data: PathBuf,
    /// Namespace and name.
    pub(super) id: NamespacedName,
    /// Folder of its runs.
    pub(super) folder: PathBuf,
    /// True if this machine enforces limits.
    pub(super) has_limits: bool,
}

/// A version of a Workload, ready to be started.
#[derive(Clone, PartialEq)]
pub(super) struct Version {
    pub(super) plan: WorkloadPlanSpec,
    pub(super) programs: PreparedPrograms,
}

/// Desired version.
#[derive(Clone, PartialEq)]
pub(super) struct Desired {
    /// The version to run.
    pub(super) version: Arc<Version>,
    /// The last good version, to go back to if that one does not become ready.
    pub(super) fallback: Fallback,
}

/// Last good version, if it differs from the desired one.
#[derive(Clone, PartialEq)]
pub(super) enum Fallback {
    /// There is none.
    None,
    /// It can be started.
    Prepared(Arc<Version>),
    /// It cannot be started, for the reason in this sentence.
    Unavailable(String),
}

impl Desired {
    /// The versions to decide about.
    fn versions(&self) -> Versions<'_> {
        let last_good = match &self.fallback {
            Fallback::None => LastGood::None,
            Fallback::Prepared(good) => LastGood::Prepared(&good.plan),
            Fallback::Unavailable(why) => LastGood::Unavailable(why),
        };
        Versions { desired: &self.version.plan, last_good }
    }

    /// The version in force.
    fn in_force(&self, rollback: Rollback<'_>) -> &Arc<Version> {
        match (&self.fallback, rollback) {
            (Fallback::Prepared(good), Rollback::Done(_)) => good,
            _ => &self.version,
        }
    }
}

/// Handle of a supervisor.
#[derive(Debug)]
pub(super) struct Supervisor {
    desired: watch::Sender<Option<Desired>>,
    status: watch::Receiver<Option<Observation>>,
    removed: Arc<AtomicBool>,
}

impl std::fmt::Debug for Desired {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Prepared programs hold secrets.
        f.debug_struct("Desired").field("revision", &self.version.plan.revision).finish_non_exhaustive()
    }
}

impl Supervisor {
    /// Starts to supervise a Workload; `None` removes it. `notify` is called when the status has changed.
    pub(super) fn start(
        site: WorkloadSite,
        runs: Runs,
        events: mpsc::UnboundedReceiver<ContainerEvent>,
        desired: Option<Desired>,
        notify: impl Fn() + Send + 'static,
    ) -> Self {
        let uid = desired.as_ref().map(|desired| desired.version.plan.workload_ref.uid.clone());
        let (sender, receiver) = watch::channel(desired);
        let (publisher, status) = watch::channel(None);
        let removed = Arc::new(AtomicBool::new(false));
        let task = Task {
            state: state::read(&site.folder, &uid.unwrap_or_default()),
            site,
            desired: receiver,
            events,
            runs,
            status: publisher,
            removed: Arc::clone(&removed),
            notify: Box::new(notify),
            forwards: BTreeMap::new(),
            started: None,
            adopted: None,
        };
        tokio::spawn(task.run());
        Self { desired: sender, status, removed }
    }

    /// Sets the desired version; `None` removes the Workload.
    pub(super) fn set_desired(&self, desired: Option<Desired>) {
        self.desired.send_if_modified(|now| {
            let differs = *now != desired;
            *now = desired;
            differs
        });
    }

    /// Status, from the first observation on.
    pub(super) fn status(&self) -> watch::Receiver<Option<Observation>> {
        self.status.clone()
    }

    /// True if everything is removed.
    pub(super) fn is_removed(&self) -> bool {
        self.removed.load(Ordering::Acquire)
    }
}

struct Task {
    site: WorkloadSite,
    desired: watch::Receiver<Option<Desired>>,
    events: mpsc::UnboundedReceiver<ContainerEvent>,
    runs: Runs,
    state: WorkloadState,
    status: watch::Sender<Option<Observation>>,
    removed: Arc<AtomicBool>,
    notify: Box<dyn Fn() + Send>,
    forwards: BTreeMap<(u16, u16), Forward>,
    /// The revision that was started last, and when.
    started: Option<(String, Instant)>,
    /// Since when programs of an earlier platform are adopted and their state is unknown.
    adopted: Option<Instant>,
}

impl Task {
    async fn run(mut self) {
        self.runs.adopt().await;
        self.adopted = self.runs.any_up().then(Instant::now);
        loop {
            let desired = self.desired.borrow_and_update().clone();
            let requeue = match &desired {
                Some(desired) => self.reconcile(desired).await,
                None if self.runs.stop_all() => None,
                None => return self.remove().await,
            };
            tokio::select! {
                changed = self.desired.changed() => {
                    if changed.is_err() {
                        // The platform shuts down. Programs keep running.
                        return;
                    }
                }
                Some(event) = self.events.recv() => self.runs.handle(&event).await,
                () = pause(requeue) => {}
            }
        }
    }

    /// Acts on the current state. Returns the delay after which to reconcile again.
    async fn reconcile(&mut self, desired: &Desired) -> Option<Duration> {
        let version = Arc::clone(desired.in_force(desired.versions().rollback(&self.state)));
        let plan = &version.plan;
        if self.started.as_ref().is_none_or(|(revision, _)| *revision != plan.revision) {
            self.started = Some((plan.revision.clone(), Instant::now()));
            self.runs.set_failures(&self.state.failures_of(&plan.revision));
        }
        let decision = decisions::decide(plan, &self.runs.states(&version, SystemTime::now()));
        for container in &decision.stop {
            self.runs.stop(container);
        }
        let mut port_conflict = None;
        if plan.lifecycle.suspend {
            self.close_forwards().await;
        } else if !self.runs.any_other(&plan.revision) {
            // Also for adopted programs: their forwards ended with the earlier platform.
            port_conflict = self.forward_ports(plan, !decision.start.is_empty()).await;
        }
        let observed = Observed {
            elapsed: self.started.as_ref().map_or(Duration::ZERO, |(_, at)| at.elapsed()),
            failures: self.runs.failures(),
            port_conflict,
            adopted: self.adopted.map(|since| since.elapsed()),
        };
        let Step { state, next } = rollout::advance(desired.versions(), &self.state, &decision, &observed);
        self.save(state);
        match next {
            Next::RollBack => Some(Duration::ZERO),
            Next::Start => {
                // The time that the previous version took to stop does not count.
                self.started = Some((plan.revision.clone(), Instant::now()));
                for container in &decision.start {
                    self.runs.start(container, &version).await;
                }
                Some(Duration::ZERO)
            }
            Next::PublishPortConflict { conflict, requeue } => {
                self.publish(self.observe(desired, |snapshot| status::port_conflict(snapshot, conflict)));
                Some(requeue)
            }
            Next::Publish { requeue } => {
                self.adopted = None;
                self.publish(self.observe(desired, |snapshot| status::observe(snapshot, decision)));
                requeue
            }
            Next::KeepPublished { requeue } => Some(requeue),
        }
    }

    fn save(&mut self, state: WorkloadState) {
        if state == self.state {
            return;
        }
        self.state = state;
        if let Err(error) = state::save(&self.site.folder, &self.state) {
            tracing::warn!(workload = self.site.id.1, %error, "the state of a workload cannot be written");
        }
    }

    /// Forwards the ports of a plan. Returns a sentence if a port is not available.
    async fn forward_ports(&mut self, plan: &WorkloadPlanSpec, is_starting: bool) -> Option<String> {
        let tcp = plan.ports.values().filter(|port| port.protocol == Protocol::Tcp);
        let wanted: BTreeSet<_> = tcp.map(|port| (port.port, port.target_port)).collect();
        let others: Vec<_> = self.forwards.keys().filter(|ports| !wanted.contains(ports)).copied().collect();
        for ports in others {
            if let Some(forward) = self.forwards.remove(&ports) {
                forward.close().await;
            }
        }
        for &(port, target) in &wanted {
            if is_starting
                && !self.runs.any_up()
                && let Err(error) = forward::check_free(target).await
            {
                return Some(port_conflict(target, &error));
            }
            if port != target && !self.forwards.contains_key(&(port, target)) {
                match Forward::open(port, target).await {
                    Ok(forward) => drop(self.forwards.insert((port, target), forward)),
                    Err(error) => return Some(port_conflict(port, &error)),
                }
            }
        }
        None
    }

    async fn close_forwards(&mut self) {
        for forward in std::mem::take(&mut self.forwards).into_values() {
            forward.close().await;
        }
    }

    /// Composes a status from what was observed.
    fn observe(&self, desired: &Desired, status: impl FnOnce(&Snapshot<'_>) -> Observation) -> Observation {
        let versions = desired.versions();
        let plan = versions.in_force(&self.state);
        status(&Snapshot {
            desired_revision: &desired.version.plan.revision,
            plan,
            rollback: versions.rollback(&self.state),
            published: self.status.borrow().as_ref(),
            routes: &self.routes(plan),
            has_limits: self.site.has_limits,
        })
    }

    /// Addresses of the routes of a plan, by claim key.
    fn routes(&self, plan: &WorkloadPlanSpec) -> BTreeMap<String, String> {
        let route = |claim: &str| match local_bindings::find(&self.site.data, &self.site.id.0, claim) {
            Ok(Some(LocalBinding::Route(address))) => Some(address),
            _ => None,
        };
        let exposed = plan.exposures.iter().filter_map(|exposure| match &exposure.target {
            ExposureTarget::ClaimKey(key) => plan.claims.iter().find(|claim| claim.key == *key),
            ExposureTarget::Port(_) => None,
        });
        exposed.filter_map(|claim| Some((claim.key.clone(), route(&claim.name)?))).collect()
    }

    fn publish(&self, observation: Observation) {
        let is_new = self.status.send_if_modified(|last| {
            let is_new = last.as_ref() != Some(&observation);
            *last = Some(observation);
            is_new
        });
        if is_new {
            (self.notify)();
        }
    }

    /// Removes the folder of a Workload whose programs have all exited.
    async fn remove(mut self) {
        self.close_forwards().await;
        if let Err(error) = fs::remove_dir_all(&self.site.folder)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(workload = self.site.id.1, %error, "the folder of a workload cannot be removed");
        }
        self.removed.store(true, Ordering::Release);
        (self.notify)();
    }
}

/// Sentence about a port that is not available.
fn port_conflict(port: u16, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::AddrInUse => {
            let owner = port_owner::find(port).unwrap_or_else(|| "another program".to_owned());
            format!("Port {port} is already in use by {owner}: stop it, or choose another port.")
        }
        io::ErrorKind::PermissionDenied => {
            format!("Port {port} is privileged: choose a port from 1024 on, or run as root.")
        }
        _ => format!("Port {port} is not available: {error}. Choose another port."),
    }
}

/// Sleeps for a time; without one, never returns.
async fn pause(requeue: Option<Duration>) {
    match requeue {
        Some(requeue) => sleep(requeue).await,
        None => std::future::pending().await,
    }
}
