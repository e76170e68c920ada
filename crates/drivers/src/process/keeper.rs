//! Keeps one Workload running: a task that looks, decides ([`supervise`]), acts, and waits for the next cause.
//!
//! It knows nothing that is not on disk or in what it is told, so that after a crash another one goes on where it was:
//! it finds the runs again, and what is remembered of versions.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
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
    supervise::{self, Step},
    things::{self, Thing},
};
use crate::Observation;

/// How long a new version may take to become ready before the last good one runs again.
const READY_WITHIN: Duration = Duration::from_mins(2);
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
    said: Arc<Mutex<Observation>>,
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
        let (orders, receiver) = watch::channel(wanted);
        let said = Arc::new(Mutex::new(Observation::default()));
        let gone = Arc::new(AtomicBool::new(false));
        let keeping = Keeping {
            memory: Memory::read(&site.folder),
            site,
            orders: receiver,
            causes,
            runs,
            said: Arc::clone(&said),
            gone: Arc::clone(&gone),
            tell: Box::new(tell),
            forwards: BTreeMap::new(),
            began: None,
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

    /// How it fares.
    pub(super) fn said(&self) -> Observation {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).clone()
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
    said: Arc<Mutex<Observation>>,
    gone: Arc<AtomicBool>,
    tell: Box<dyn Fn() + Send>,
    forwards: BTreeMap<(u16, u16), Forward>,
    /// The revision that was begun last, and when.
    began: Option<(String, Instant)>,
}

impl Keeping {
    async fn keep(mut self) {
        self.runs.find_again().await;
        loop {
            let wanted = self.orders.borrow_and_update().clone();
            let wake = match &wanted {
                Some(wanted) => self.advance(wanted).await,
                None if self.runs.stop_all() => None,
                None => return self.forget(),
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
        let fallen_back = self.fallback(wanted);
        let version = match &fallen_back {
            Some((good, _)) => Arc::clone(good),
            None => Arc::clone(&wanted.version),
        };
        let plan = &version.plan;
        if self.began.as_ref().is_none_or(|(revision, _)| *revision != plan.revision) {
            self.began = Some((plan.revision.clone(), Instant::now()));
            self.runs.forgive();
        }
        let step = supervise::decide(plan, &self.runs.parts(&version, SystemTime::now()));
        for container in &step.stop {
            self.runs.stop(container);
        }
        if !step.start.is_empty() {
            if let Some(trouble) = self.offer_ports(plan).await {
                self.say(Observation {
                    revision: Some(wanted.version.plan.revision.clone()),
                    phase: Phase::Degraded,
                    reason: Some(Reason::NetworkUnavailable),
                    message: Some(trouble),
                    ..self.said()
                });
                return Some(PORT_AGAIN);
            }
            for container in &step.start {
                self.runs.start(container, &version).await;
            }
            return Some(Duration::ZERO);
        }
        if let Some(wait) = self.remember(wanted, &step, fallen_back.is_some()) {
            return Some(wait);
        }
        let rest = (step.phase != Phase::Ready && fallen_back.is_none()).then(|| {
            READY_WITHIN.saturating_sub(self.began.as_ref().map_or(Duration::ZERO, |(_, at)| at.elapsed()))
        });
        let is_routed = |exposure: &plan::Exposure| matches!(exposure.target, ExposureTarget::ClaimKey(_));
        let route = plan.exposures.iter().any(is_routed).then_some(ROUTE_AGAIN);
        let rest = rest.filter(|rest| !rest.is_zero());
        let wake = step.wake.into_iter().chain(rest).chain(route).min();
        self.say(self.observation(wanted, step, fallen_back.map(|(_, why)| why)));
        wake
    }

    /// The last good version and what was wrong with the wanted one, if that has failed.
    fn fallback(&self, wanted: &Wanted) -> Option<(Arc<Version>, String)> {
        let failed = self.memory.failed.as_ref()?;
        let good = wanted.good.as_ref().filter(|_| failed.revision == wanted.version.plan.revision)?;
        Some((Arc::clone(good), failed.why.clone()))
    }

    /// Remembers a version that became ready, and one that did not. The latter is answered with no wait.
    fn remember(&mut self, wanted: &Wanted, step: &Step, fallen_back: bool) -> Option<Duration> {
        let plan = &wanted.version.plan;
        if fallen_back {
            return None;
        }
        let mut memory = self.memory.clone();
        if step.phase == Phase::Ready {
            memory.good = Some(plan.clone());
            memory.failed = None;
        } else if self.memory.good.as_ref().is_some_and(|good| good.revision != plan.revision)
            && wanted.good.is_some()
        {
            let is_late = self.began.as_ref().is_some_and(|(_, at)| at.elapsed() >= READY_WITHIN);
            let late =
                || is_late.then(|| step.message.clone().unwrap_or_else(|| "It took too long.".to_owned()));
            let why = step.broken.clone().or_else(late)?;
            memory.failed = Some(Failed { revision: plan.revision.clone(), why });
        }
        if memory == self.memory {
            return None;
        }
        let has_failed = memory.failed.is_some();
        self.memory = memory;
        if let Err(error) = self.memory.write(&self.site.folder) {
            tracing::warn!(workload = self.site.holder.1, %error, "what is remembered of a workload cannot be written");
        }
        has_failed.then_some(Duration::ZERO)
    }

    /// Offers the ports of a plan. Answers with a sentence if another program holds one.
    async fn offer_ports(&mut self, plan: &WorkloadPlanSpec) -> Option<String> {
        let tcp = plan.ports.values().filter(|port| port.protocol == Protocol::Tcp);
        let wanted: BTreeSet<_> = tcp.map(|port| (port.port, port.target_port)).collect();
        self.forwards.retain(|ports, _| wanted.contains(ports));
        let held = |port| {
            Some(format!(
                "The port {port} of this machine is used by another program: end that, or choose another port."
            ))
        };
        for &(port, target) in &wanted {
            if !self.runs.any_up() && !forward::is_free(target).await {
                return held(target);
            }
            if port != target && !self.forwards.contains_key(&(port, target)) {
                match Forward::offer(port, target).await {
                    Ok(forward) => self.forwards.insert((port, target), forward),
                    Err(error) if error.kind() == io::ErrorKind::AddrInUse => return held(port),
                    Err(error) => {
                        return Some(format!("The port {port} of this machine cannot be offered: {error}."));
                    }
                };
            }
        }
        None
    }

    fn observation(&self, wanted: &Wanted, step: Step, failed: Option<String>) -> Observation {
        let plan = &wanted.version.plan;
        let is_ready = step.phase == Phase::Ready;
        let was_reached = !self.said().exposures.is_empty();
        let exposures = if is_ready || was_reached { self.exposures(plan, is_ready) } else { Vec::new() };
        let (phase, reason, message) = match failed {
            None if is_ready => (step.phase, step.reason, step.message.or_else(|| unlimited(plan))),
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
            revision: Some(plan.revision.clone()),
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
            ExposureTarget::Port(name) => Some(format!("http://localhost:{}", plan.ports.get(name)?.port)),
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

    fn said(&self) -> Observation {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn say(&self, observation: Observation) {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        if *said != observation {
            *said = observation;
            drop(said);
            (self.tell)();
        }
    }

    /// Nothing runs any more: what is left of it goes.
    fn forget(self) {
        if let Err(error) = fs::remove_dir_all(&self.site.folder)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(workload = self.site.holder.1, %error, "the folder of a workload cannot be removed");
        }
        self.gone.store(true, Ordering::Release);
        (self.tell)();
    }
}

/// What is said where limits are asked for, since programs of this machine are not held to them.
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
