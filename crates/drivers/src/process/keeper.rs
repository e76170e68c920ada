//! Keeps one Workload running: a task that looks, decides ([`supervise`]), acts, and waits for the next cause.
//!
//! It knows nothing that is not on disk or in what it is told, so that after a crash another one goes on where it was:
//! it finds the runs again, and what is remembered of versions.

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
    forward::{self, Forward},
    memory::{Failed, Memory},
    ports::Holder,
    prepare::Blueprint,
    runs::{Cause, Runs},
    supervise::{self, READY_WITHIN, Step},
    things::{self, Thing},
};
use crate::Observation;

/// How long what was found running may take to show that it is ready, before anything is said of it.
const FOUND_AGAIN: Duration = Duration::from_secs(2);
/// How long a new version waits for a port before the last good one runs again.
const PORT_PATIENCE: Duration = Duration::from_secs(20);
/// How soon a port that another program holds is tried again.
const PORT_AGAIN: Duration = Duration::from_secs(2);

/// How soon it is seen that a route leads here under another address.
const ROUTE_AGAIN: Duration = Duration::from_secs(1);

/// Where a Workload is kept.
#[derive(Clone, Debug)]
pub(super) struct Site {
    /// The platform's data.
    pub(super) data: PathBuf,
    /// The Workload.
    pub(super) holder: Holder,
    /// The folder of its runs.
    pub(super) folder: PathBuf,
    /// Whether programs are held to their limits on this machine.
    pub(super) is_limited: bool,
}

/// A version of a Workload, ready to be started.
#[derive(Clone, PartialEq)]
pub(super) struct Version {
    pub(super) plan: WorkloadPlanSpec,
    pub(super) blueprint: Blueprint,
}

/// What is wanted of a keeper.
#[derive(Clone, PartialEq)]
pub(super) struct Wanted {
    /// The version to run.
    pub(super) version: Arc<Version>,
    /// The version to run if that one does not become ready.
    pub(super) good: Option<Arc<Version>>,
}

/// A keeper at work.
#[derive(Debug)]
pub(super) struct Keeper {
    orders: watch::Sender<Option<Wanted>>,
    said: watch::Receiver<Option<Observation>>,
    gone: Arc<AtomicBool>,
}

impl std::fmt::Debug for Wanted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // A blueprint holds secrets.
        f.debug_struct("Wanted").field("revision", &self.version.plan.revision).finish_non_exhaustive()
    }
}

impl Keeper {
    /// Begins to keep a Workload; `None` takes down what is there. `tell` is called when there is something new.
    pub(super) fn begin(
        site: Site,
        runs: Runs,
        causes: mpsc::UnboundedReceiver<Cause>,
        wanted: Option<Wanted>,
        tell: impl Fn() + Send + 'static,
    ) -> Self {
        let workload = wanted.as_ref().map(|wanted| wanted.version.plan.workload_ref.uid.clone());
        let (orders, receiver) = watch::channel(wanted);
        let (saying, said) = watch::channel(None);
        let gone = Arc::new(AtomicBool::new(false));
        let keeping = Keeping {
            memory: Memory::read(&site.folder, &workload.unwrap_or_default()),
            site,
            orders: receiver,
            causes,
            runs,
            said: saying,
            gone: Arc::clone(&gone),
            tell: Box::new(tell),
            forwards: BTreeMap::new(),
            began: None,
            found_again: None,
        };
        tokio::spawn(keeping.keep());
        Self { orders, said, gone }
    }

    /// Asks for a version to run, or for the end of it all.
    pub(super) fn order(&self, wanted: Option<Wanted>) {
        self.orders.send_if_modified(|now| {
            let differs = *now != wanted;
            *now = wanted;
            differs
        });
    }

    /// How it fares, from the first look on.
    pub(super) fn listen(&self) -> watch::Receiver<Option<Observation>> {
        self.said.clone()
    }

    /// Whether nothing is left.
    pub(super) fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Acquire)
    }
}

struct Keeping {
    site: Site,
    orders: watch::Receiver<Option<Wanted>>,
    causes: mpsc::UnboundedReceiver<Cause>,
    runs: Runs,
    memory: Memory,
    said: watch::Sender<Option<Observation>>,
    gone: Arc<AtomicBool>,
    tell: Box<dyn Fn() + Send>,
    forwards: BTreeMap<(u16, u16), Forward>,
    /// The revision that was begun last, and when.
    began: Option<(String, Instant)>,
    /// When something was found that an earlier platform had started, until its state is known.
    found_again: Option<Instant>,
}

/// A version that is in force, and why it is not the one that is wanted.
struct InForce {
    version: Arc<Version>,
    /// What was wrong with the one that is wanted.
    failed: Option<String>,
}

impl Keeping {
    async fn keep(mut self) {
        self.runs.find_again().await;
        self.found_again = self.runs.any_up().then(Instant::now);
        loop {
            let wanted = self.orders.borrow_and_update().clone();
            let wake = match &wanted {
                Some(wanted) => self.advance(wanted).await,
                None if self.runs.stop_all() => None,
                None => return self.forget().await,
            };
            tokio::select! {
                changed = self.orders.changed() => {
                    if changed.is_err() {
                        // The platform ends. What runs, runs on.
                        return;
                    }
                }
                Some(cause) = self.causes.recv() => self.runs.take(&cause).await,
                () = pause(wake) => {}
            }
        }
    }

    /// Does what can be done now. Answers when to look again.
    async fn advance(&mut self, wanted: &Wanted) -> Option<Duration> {
        let in_force = self.in_force(wanted);
        let version = Arc::clone(&in_force.version);
        let plan = &version.plan;
        if self.began.as_ref().is_none_or(|(revision, _)| *revision != plan.revision) {
            self.began = Some((plan.revision.clone(), Instant::now()));
            self.runs.forgive();
            if self.memory.tried == plan.revision {
                self.runs.recall(self.memory.tries.clone());
            }
        }
        let step = supervise::decide(plan, &self.runs.parts(&version, SystemTime::now()));
        for container in &step.stop {
            self.runs.stop(container);
        }
        let is_starting = !step.start.is_empty();
        if plan.lifecycle.suspend {
            self.offer_none().await;
            // Who goes on begins anew.
            self.remember(Memory {
                failed: None,
                tries: BTreeMap::new(),
                tried: String::new(),
                ..self.memory.clone()
            });
        } else if !self.runs.any_other(&plan.revision) {
            // Also of what was found again: nobody has offered its ports since.
            if let Some(trouble) = self.offer_ports(plan, is_starting).await {
                if self.elapsed() >= PORT_PATIENCE && self.fail(wanted, &in_force, trouble.clone()) {
                    return Some(Duration::ZERO);
                }
                self.say_trouble(wanted, trouble);
                return Some(PORT_AGAIN);
            }
        }
        if is_starting {
            // What came before it took its own time.
            self.began = Some((plan.revision.clone(), Instant::now()));
            self.note_tries(plan);
            for container in &step.start {
                self.runs.start(container, &version).await;
            }
            return Some(Duration::ZERO);
        }
        if step.phase == Phase::Ready && in_force.failed.is_none() {
            self.remember(Memory { good: Some(plan.clone()), failed: None, ..self.memory.clone() });
        } else if let Some(why) = supervise::trouble(plan, &step, self.elapsed())
            && self.fail(wanted, &in_force, why)
        {
            return Some(Duration::ZERO);
        }
        self.note_tries(plan);
        let is_known = step.phase != Phase::Provisioning || plan.lifecycle.suspend;
        if is_known || self.found_again.is_some_and(|since| since.elapsed() >= FOUND_AGAIN) {
            self.found_again = None;
        }
        let wake = self.wake(plan, &step, &in_force);
        if self.found_again.is_some() {
            // What was said of it before holds, until its first check.
            return Some(wake.map_or(FOUND_AGAIN, |wake| wake.min(FOUND_AGAIN)));
        }
        self.say(self.observation(wanted, &in_force, step));
        wake
    }

    /// When to look again, if nothing happens before.
    fn wake(&self, plan: &WorkloadPlanSpec, step: &Step, in_force: &InForce) -> Option<Duration> {
        let may_fail = step.phase != Phase::Ready && in_force.failed.is_none() && !plan.lifecycle.suspend;
        let late =
            may_fail.then(|| READY_WITHIN.saturating_sub(self.elapsed())).filter(|rest| !rest.is_zero());
        let is_routed = |exposure: &plan::Exposure| matches!(exposure.target, ExposureTarget::ClaimKey(_));
        let route = plan.exposures.iter().any(is_routed).then_some(ROUTE_AGAIN);
        step.wake.into_iter().chain(late).chain(route).min()
    }

    /// The version that is to run now: the last good one, if the wanted one has failed.
    fn in_force(&self, wanted: &Wanted) -> InForce {
        let plan = &wanted.version.plan;
        let failed = self.memory.failed.as_ref();
        // What is to be stopped is never replaced by what ran before.
        let failed = failed.filter(|failed| !plan.lifecycle.suspend && failed.revision == plan.revision);
        match (&wanted.good, failed) {
            (Some(good), Some(failed)) => {
                InForce { version: Arc::clone(good), failed: Some(failed.why.clone()) }
            }
            _ => InForce { version: Arc::clone(&wanted.version), failed: None },
        }
    }

    /// How long ago the version that was begun last was begun.
    fn elapsed(&self) -> Duration {
        self.began.as_ref().map_or(Duration::ZERO, |(_, at)| at.elapsed())
    }

    /// Gives up the wanted version, if there is one to go back to.
    fn fail(&mut self, wanted: &Wanted, in_force: &InForce, why: String) -> bool {
        if in_force.failed.is_some() || wanted.good.is_none() {
            return false;
        }
        let failed = Some(Failed { revision: wanted.version.plan.revision.clone(), why });
        self.remember(Memory { failed, ..self.memory.clone() });
        true
    }

    /// Remembers how often something was tried that is not tried for ever.
    fn note_tries(&mut self, plan: &WorkloadPlanSpec) {
        if plan.kind == Kind::Job && !self.runs.tries().is_empty() {
            let (tries, tried) = (self.runs.tries().clone(), plan.revision.clone());
            self.remember(Memory { tries, tried, ..self.memory.clone() });
        }
    }

    fn remember(&mut self, memory: Memory) {
        if memory == self.memory {
            return;
        }
        self.memory = memory;
        if let Err(error) = self.memory.write(&self.site.folder) {
            tracing::warn!(workload = self.site.holder.1, %error, "what is remembered of a workload cannot be written");
        }
    }

    /// Offers the ports of a plan. Answers with a sentence if that cannot be.
    async fn offer_ports(&mut self, plan: &WorkloadPlanSpec, is_starting: bool) -> Option<String> {
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
                && let Err(error) = forward::try_out(target).await
            {
                return Some(unoffered(target, &error));
            }
            if port != target && !self.forwards.contains_key(&(port, target)) {
                match Forward::offer(port, target).await {
                    Ok(forward) => drop(self.forwards.insert((port, target), forward)),
                    Err(error) => return Some(unoffered(port, &error)),
                }
            }
        }
        None
    }

    async fn offer_none(&mut self) {
        for forward in std::mem::take(&mut self.forwards).into_values() {
            forward.close().await;
        }
    }

    fn say_trouble(&self, wanted: &Wanted, trouble: String) {
        self.say(Observation {
            revision: Some(wanted.version.plan.revision.clone()),
            phase: Phase::Degraded,
            reason: Some(Reason::NetworkUnavailable),
            message: Some(trouble),
            ..self.said().unwrap_or_default()
        });
    }

    fn observation(&self, wanted: &Wanted, in_force: &InForce, step: Step) -> Observation {
        let plan = &in_force.version.plan;
        let is_ready = step.phase == Phase::Ready;
        let was_reached = self.said().is_some_and(|said| !said.exposures.is_empty());
        let is_published = !plan.lifecycle.suspend && (is_ready || was_reached);
        let exposures = if is_published { self.exposures(plan, is_ready) } else { Vec::new() };
        let (phase, reason, message) = match &in_force.failed {
            None if is_ready && !self.site.is_limited => {
                (step.phase, step.reason, step.message.or_else(|| unlimited(plan)))
            }
            None => (step.phase, step.reason, step.message),
            Some(why) => {
                let state = if is_ready { "runs again" } else { "is being started again" };
                let message = format!(
                    "The new version did not become ready, and the last good one {state}: correct it, and apply it again. {why}"
                );
                (Phase::Degraded, Reason::RuntimeDegraded, Some(message))
            }
        };
        Observation {
            revision: Some(wanted.version.plan.revision.clone()),
            phase,
            reason: Some(reason),
            message,
            exposures,
            placed_on: None,
        }
    }

    /// Where the Workload is reached.
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
                match things::find(&self.site.data, &self.site.holder.0, &claim.name) {
                    Ok(Some(Thing::Route(address))) => Some(address),
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

    fn said(&self) -> Option<Observation> {
        self.said.borrow().clone()
    }

    fn say(&self, observation: Observation) {
        let is_new = self.said.send_if_modified(|said| {
            let is_new = said.as_ref() != Some(&observation);
            *said = Some(observation);
            is_new
        });
        if is_new {
            (self.tell)();
        }
    }

    /// Nothing runs any more: what is left of it goes.
    async fn forget(mut self) {
        self.offer_none().await;
        if let Err(error) = fs::remove_dir_all(&self.site.folder)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(workload = self.site.holder.1, %error, "the folder of a workload cannot be removed");
        }
        self.gone.store(true, Ordering::Release);
        (self.tell)();
    }
}

/// Why a port cannot be offered, with what to do.
fn unoffered(port: u16, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::AddrInUse => format!(
            "The port {port} of this machine is used by another program: end that, or choose another port."
        ),
        io::ErrorKind::PermissionDenied => {
            format!(
                "The port {port} of this machine is reserved for its administrator: choose one from 1024 on."
            )
        }
        _ => format!("The port {port} of this machine cannot be offered: {error}. Choose another port."),
    }
}

/// What is said where limits are asked for, where programs are not held to them.
fn unlimited(plan: &WorkloadPlanSpec) -> Option<String> {
    let is_limited = |container: &&Container| !container.limits.is_empty();
    plan.containers.values().find(is_limited)?;
    let what = match plan.kind {
        Kind::Service => "It runs",
        Kind::Job => "It has run to its end",
    };
    Some(format!("{what}. Its limits of processor and memory are not enforced on this machine."))
}

/// Waits for a time, or for ever.
async fn pause(wake: Option<Duration>) {
    match wake {
        Some(wake) => sleep(wake).await,
        None => std::future::pending().await,
    }
}
