//! Supervisor of one Workload: a task that observes its programs, decides ([`decide`]), acts, and waits for the next event.
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

use orchestra_api::{
    condition::Reason,
    exposure::{Exposure, Scope},
    plan::{self, Container, ExposureTarget, Kind, Phase, WorkloadPlanSpec},
};
use orchestra_score::model::Protocol;
use tokio::{
    sync::{mpsc, watch},
    time::{Instant, sleep},
};

use super::{
    decide::{self, Decision, READY_TIMEOUT, Rollback},
    forward::{self, Forward},
    local_bindings::{self, LocalBinding},
    port_owner,
    ports::WorkloadId,
    prepare::PreparedPrograms,
    runs::{ContainerEvent, Runs},
    state::{FailedVersion, WorkloadState},
};
use crate::Observation;

/// Time that adopted programs have to become ready before a status is published: their first probe comes within a second,
/// and until then the status of the earlier platform holds.
const ADOPTION_GRACE_PERIOD: Duration = Duration::from_secs(2);
/// Time that a new version waits for a port before the last good one runs again: a stopped program frees its port within
/// its grace period of ten seconds.
const PORT_WAIT_TIMEOUT: Duration = Duration::from_secs(20);
/// Retry of a port that another program holds; nothing announces that it is free.
const PORT_CHECK_INTERVAL: Duration = Duration::from_secs(2);
/// Check whether a route has another address; the engine changes it without an event.
const ROUTE_CHECK_INTERVAL: Duration = Duration::from_secs(1);

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
        let decision = decide::decide(plan, &self.runs.states(&version, SystemTime::now()));
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
                self.publish_port_conflict(desired, rollback(desired, &active).add_to(conflict));
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
        } else if let Some(why) = decide::failure(plan, &decision, self.elapsed())
            && self.fail(desired, &active, why)
        {
            return Some(Duration::ZERO);
        }
        self.save_tries(plan);
        let is_known = decision.phase != Phase::Provisioning || plan.lifecycle.suspend;
        if is_known || self.adopted.is_some_and(|since| since.elapsed() >= ADOPTION_GRACE_PERIOD) {
            self.adopted = None;
        }
        let requeue = self.requeue_after(plan, &decision, &active);
        if self.adopted.is_some() {
            // The last published status holds until the first probe.
            return Some(requeue.map_or(ADOPTION_GRACE_PERIOD, |requeue| requeue.min(ADOPTION_GRACE_PERIOD)));
        }
        self.publish(self.observation(desired, &active, decision));
        requeue
    }

    /// Delay after which to reconcile again, if no event comes first.
    fn requeue_after(
        &self,
        plan: &WorkloadPlanSpec,
        decision: &Decision,
        active: &ActiveVersion,
    ) -> Option<Duration> {
        let may_fail = decision.phase != Phase::Ready && active.failed.is_none() && !plan.lifecycle.suspend;
        let late =
            may_fail.then(|| READY_TIMEOUT.saturating_sub(self.elapsed())).filter(|rest| !rest.is_zero());
        let is_routed = |exposure: &plan::Exposure| matches!(exposure.target, ExposureTarget::ClaimKey(_));
        let route = plan.exposures.iter().any(is_routed).then_some(ROUTE_CHECK_INTERVAL);
        decision.requeue.into_iter().chain(late).chain(route).min()
    }

    /// The version in force: the last good one, if the desired one has failed.
    fn active(&self, desired: &Desired) -> ActiveVersion {
        let plan = &desired.version.plan;
        let failed = self.state.failed.as_ref();
        // A suspended version is never rolled back.
        let failed = failed.filter(|failed| !plan.lifecycle.suspend && failed.revision == plan.revision);
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

    fn publish_port_conflict(&self, desired: &Desired, conflict: String) {
        self.publish(Observation {
            revision: Some(desired.version.plan.revision.clone()),
            phase: Phase::Degraded,
            reason: Some(Reason::NetworkUnavailable),
            message: Some(conflict),
            ..self.published().unwrap_or_default()
        });
    }

    fn observation(&self, desired: &Desired, active: &ActiveVersion, decision: Decision) -> Observation {
        let plan = &active.version.plan;
        let is_ready = decision.phase == Phase::Ready;
        let was_published = self.published().is_some_and(|last| !last.exposures.is_empty());
        let is_published = !plan.lifecycle.suspend && (is_ready || was_published);
        let exposures = if is_published { self.exposures(plan, is_ready) } else { Vec::new() };
        let decision = decision.with_rollback(rollback(desired, active));
        let is_unlimited = is_ready && active.failed.is_none() && !self.site.has_limits;
        let message = decision.message.or_else(|| unlimited(plan).filter(|_| is_unlimited));
        Observation {
            revision: Some(desired.version.plan.revision.clone()),
            phase: decision.phase,
            reason: Some(decision.reason),
            message,
            exposures,
            placed_on: None,
        }
    }

    /// Addresses of the Workload.
    fn exposures(&self, plan: &WorkloadPlanSpec, reachable: bool) -> Vec<Exposure> {
        let address = |target: &ExposureTarget| match target {
            ExposureTarget::Port(name) => {
                let port = plan.ports.get(name)?.port;
                let is_secure = name == "https" || port == 443 || port == 8443;
                let scheme = if is_secure { "https" } else { "http" };
                Some(format!("{scheme}://localhost:{port}"))
            }
            ExposureTarget::ClaimKey(key) => {
                let claim = plan.claims.iter().find(|claim| claim.key == *key)?;
                match local_bindings::find(&self.site.data, &self.site.id.0, &claim.name) {
                    Ok(Some(LocalBinding::Route(address))) => Some(address),
                    _ => None,
                }
            }
        };
        let exposures = plan.exposures.iter().filter_map(|exposure| {
            Some(Exposure {
                url: address(&exposure.target)?,
                priority: exposure.priority,
                scope: Some(Scope::Local),
                scheme_hint: None,
                reachable: Some(reachable),
            })
        });
        exposures.collect()
    }

    fn published(&self) -> Option<Observation> {
        self.status.borrow().clone()
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
fn rollback<'a>(desired: &'a Desired, active: &'a ActiveVersion) -> Rollback<'a> {
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

/// Message for limits that this machine does not enforce.
fn unlimited(plan: &WorkloadPlanSpec) -> Option<String> {
    let has_limits = |container: &&Container| !container.limits.is_empty();
    plan.containers.values().find(has_limits)?;
    let what = match plan.kind {
        Kind::Service => "Running",
        Kind::Job => "Completed",
    };
    Some(format!("{what}. CPU and memory limits are not enforced on this machine."))
}

/// Sleeps for a time; without one, never returns.
async fn pause(requeue: Option<Duration>) {
    match requeue {
        Some(requeue) => sleep(requeue).await,
        None => std::future::pending().await,
    }
}
