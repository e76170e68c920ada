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

use orchestra_api::plan::{ExposureTarget, Kind, Phase, WorkloadPlanSpec};
use orchestra_core::observe::process::{
    self as decisions,
    rollback::{self, PORT_WAIT_TIMEOUT, Rollback},
    status::{self, ADOPTION_GRACE_PERIOD, PORT_CHECK_INTERVAL, Snapshot},
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
    ports::WorkloadId,
    prepare::PreparedPrograms,
    runs::{ContainerEvent, Runs},
    state::{FailedVersion, WorkloadState},
};
use crate::Observation;

/// Surroundings of a supervised Workload.
#[derive(Clone, Debug)]
pub(super) struct WorkloadSite {
    /// Data folder of the platform.
    pub(super) data: PathBuf,
    /// Namespace and name.
    pub(super) id: WorkloadId,
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
            state: WorkloadState::read(&site.folder, &uid.unwrap_or_default()),
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

/// The version in force.
struct ActiveVersion {
    version: Arc<Version>,
    /// Failure of the desired version, as a sentence, if this is the last good one.
    failed: Option<String>,
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
        let active = self.active(desired);
        let version = Arc::clone(&active.version);
        let plan = &version.plan;
        if self.started.as_ref().is_none_or(|(revision, _)| *revision != plan.revision) {
            self.started = Some((plan.revision.clone(), Instant::now()));
            let has_tried = self.state.tried == plan.revision;
            let tries = if has_tried { self.state.tries.clone() } else { BTreeMap::new() };
            self.runs.set_failures(&tries);
        }
        let decision = decisions::decide(plan, &self.runs.states(&version, SystemTime::now()));
        for container in &decision.stop {
            self.runs.stop(container);
        }
        let is_starting = !decision.start.is_empty();
        if plan.lifecycle.suspend {
            self.close_forwards().await;
            // After a resume everything is tried again.
            self.save(WorkloadState {
                failed: None,
                tries: BTreeMap::new(),
                tried: String::new(),
                ..self.state.clone()
            });
        } else if !self.runs.any_other(&plan.revision) {
            // Also for adopted programs: their forwards ended with the earlier platform.
            if let Some(conflict) = self.forward_ports(plan, is_starting).await {
                if self.elapsed() >= PORT_WAIT_TIMEOUT && self.fail(desired, &active, conflict.clone()) {
                    return Some(Duration::ZERO);
                }
                let observation =
                    self.observe(desired, &active, |snapshot| status::port_conflict(snapshot, conflict));
                self.publish(observation);
                return Some(PORT_CHECK_INTERVAL);
            }
        }
        if is_starting {
            // The time that the previous version took to stop does not count.
            self.started = Some((plan.revision.clone(), Instant::now()));
            self.save_tries(plan);
            for container in &decision.start {
                self.runs.start(container, &version).await;
            }
            return Some(Duration::ZERO);
        }
        if decision.phase == Phase::Ready && active.failed.is_none() {
            self.save(WorkloadState { good: Some(plan.clone()), failed: None, ..self.state.clone() });
        } else if let Some(why) = rollback::failure(plan, &decision, self.elapsed())
            && self.fail(desired, &active, why)
        {
            return Some(Duration::ZERO);
        }
        self.save_tries(plan);
        self.adopted.take_if(|since| status::is_adoption_over(plan, &decision, since.elapsed()));
        let rollback = rollback_of(desired, &active);
        let requeue = status::requeue_after(plan, &decision, rollback, self.elapsed());
        if self.adopted.is_some() {
            // The last published status holds until the first probe.
            return Some(requeue.map_or(ADOPTION_GRACE_PERIOD, |requeue| requeue.min(ADOPTION_GRACE_PERIOD)));
        }
        self.publish(self.observe(desired, &active, |snapshot| status::observe(snapshot, decision)));
        requeue
    }

    /// The version in force: the last good one, if the desired one has failed.
    fn active(&self, desired: &Desired) -> ActiveVersion {
        let plan = &desired.version.plan;
        let failed = self.state.failed.as_ref();
        let failed = failed.filter(|failed| rollback::is_rolled_back(plan, Some(&failed.revision)));
        match (&desired.fallback, failed) {
            (Fallback::Prepared(good), Some(failed)) => {
                ActiveVersion { version: Arc::clone(good), failed: Some(failed.why.clone()) }
            }
            _ => ActiveVersion { version: Arc::clone(&desired.version), failed: None },
        }
    }

    /// Time since the version in force was started.
    fn elapsed(&self) -> Duration {
        self.started.as_ref().map_or(Duration::ZERO, |(_, at)| at.elapsed())
    }

    /// Gives up the desired version, if there is one to go back to.
    fn fail(&mut self, desired: &Desired, active: &ActiveVersion, why: String) -> bool {
        if active.failed.is_some() || !matches!(desired.fallback, Fallback::Prepared(_)) {
            return false;
        }
        let failed = Some(FailedVersion { revision: desired.version.plan.revision.clone(), why });
        self.save(WorkloadState { failed, ..self.state.clone() });
        true
    }

    /// Saves the failures of a job: its retries are limited, also across restarts of the platform.
    fn save_tries(&mut self, plan: &WorkloadPlanSpec) {
        if plan.kind == Kind::Job && !self.runs.failures().is_empty() {
            let (tries, tried) = (self.runs.failures(), plan.revision.clone());
            self.save(WorkloadState { tries, tried, ..self.state.clone() });
        }
    }

    fn save(&mut self, state: WorkloadState) {
        if state == self.state {
            return;
        }
        self.state = state;
        if let Err(error) = self.state.write(&self.site.folder) {
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
    fn observe(
        &self,
        desired: &Desired,
        active: &ActiveVersion,
        status: impl FnOnce(&Snapshot<'_>) -> Observation,
    ) -> Observation {
        let plan = &active.version.plan;
        status(&Snapshot {
            desired_revision: &desired.version.plan.revision,
            plan,
            rollback: rollback_of(desired, active),
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

/// Rollback of the desired version.
fn rollback_of<'a>(desired: &'a Desired, active: &'a ActiveVersion) -> Rollback<'a> {
    match (&active.failed, &desired.fallback) {
        (Some(why), _) => Rollback::Done(why),
        (None, Fallback::Unavailable(why)) => Rollback::Unavailable(why),
        (None, Fallback::None | Fallback::Prepared(_)) => Rollback::None,
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
