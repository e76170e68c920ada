//! Containers of one Workload as local programs: one [`Program`] for each, with its probes.
//!
//! Each container has a folder, and in it a folder for each of its last runs. What an earlier platform has started is
//! adopted.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use orchestra_core::{
    observe::process::{ContainerState, RunState, implied_ports, runs_once},
    render::process::{DEFAULT_GRACE_PERIOD, grace_period},
};
use tokio::{
    sync::{mpsc, watch},
    task::JoinSet,
    time::sleep,
};

use super::{
    Launcher, State,
    limits::Limits,
    nsenter,
    probe::{self, CommandContext, Health, Probes},
    program::{self, Program, Stage},
    supervisor::Version,
};

/// Retry of a run folder that cannot be read. The container is not started meanwhile: it might run.
const UNREADABLE_RETRY_INTERVAL: Duration = Duration::from_millis(500);

/// Event about a container.
#[derive(Debug)]
pub(super) enum ContainerEvent {
    /// Its run has exited.
    Exited(String),
    /// Its health has changed.
    Health,
}

/// Containers of one Workload.
#[derive(Debug)]
pub(super) struct Runs {
    folder: PathBuf,
    launcher: Launcher,
    limits: Limits,
    events: mpsc::UnboundedSender<ContainerEvent>,
    containers: BTreeMap<String, Tracked>,
}

/// One container.
#[derive(Debug)]
struct Tracked {
    program: Program,
    health: watch::Receiver<Health>,
    /// Command that is run before the program is stopped. Set once the run is watched.
    pre_stop: Option<(CommandContext, Vec<String>)>,
    /// Tasks that watch the run; they end with it.
    watchers: JoinSet<()>,
}

impl Runs {
    /// The runs in a folder. What happens to them is sent to `events`.
    pub(super) fn new(
        folder: PathBuf,
        launcher: Launcher,
        limits: Limits,
        events: mpsc::UnboundedSender<ContainerEvent>,
    ) -> Self {
        Self { folder, launcher, limits, events, containers: BTreeMap::new() }
    }

    /// Adopts what an earlier platform has started.
    pub(super) async fn adopt(&mut self) {
        for container in program::subfolders(&self.folder) {
            let mut program = self.program(&container);
            while let Err(error) = program.adopt().await {
                retry_after(&error).await;
            }
            if program.stage().is_some() {
                self.track(&container, program);
            }
        }
    }

    /// State of each container, for the version in force.
    pub(super) fn states(&mut self, version: &Version, now: SystemTime) -> BTreeMap<String, ContainerState> {
        let names: Vec<_> = self.containers.keys().cloned().collect();
        for name in &names {
            self.watch_health(name, version);
        }
        let state = |(name, tracked): (&String, &mut Tracked)| {
            let health = tracked.health.borrow().clone();
            // A program that runs to completion does not become stable by running.
            tracked.program.set_ready(health.ready && !runs_once(&version.plan, name));
            let run = match tracked.program.stage() {
                None => RunState::Absent,
                Some(Stage::Running) => RunState::Running,
                Some(Stage::Stopping) => RunState::Stopping,
                Some(Stage::Ended { success, how, at }) => RunState::Ended {
                    success: *success,
                    how: how.clone(),
                    ago: now.duration_since(*at).unwrap_or_default(),
                },
            };
            let state = ContainerState {
                run,
                current: tracked.program.revision() == Some(&version.plan.revision),
                ready: health.ready,
                probe_error: health.readiness,
                ready_for: tracked.program.ready_for(),
                failed_liveness: health.failed_liveness.is_some(),
                failures: tracked.program.failures(),
                last_failure: tracked.program.last_failure().map(str::to_owned),
            };
            (name.clone(), state)
        };
        self.containers.iter_mut().map(state).collect()
    }

    /// True if anything runs.
    pub(super) fn any_up(&self) -> bool {
        self.containers.values().any(|tracked| tracked.program.is_up())
    }

    /// True if anything of another revision runs.
    pub(super) fn any_other(&self, revision: &str) -> bool {
        let mut others =
            self.containers.values().filter(|tracked| tracked.program.revision() != Some(revision));
        others.any(|tracked| tracked.program.is_up())
    }

    /// Consecutive failures of each container that has any.
    pub(super) fn failures(&self) -> BTreeMap<String, u32> {
        let failed = self.containers.iter().filter(|(_, tracked)| tracked.program.failures() > 0);
        failed.map(|(name, tracked)| (name.clone(), tracked.program.failures())).collect()
    }

    /// Sets the consecutive failures of all containers: those that an earlier platform has counted, or none.
    pub(super) fn set_failures(&mut self, failures: &BTreeMap<String, u32>) {
        for (name, tracked) in &mut self.containers {
            tracked.program.set_failures(failures.get(name).copied().unwrap_or_default());
        }
    }

    /// Handles an event.
    pub(super) async fn handle(&mut self, event: &ContainerEvent) {
        let ContainerEvent::Exited(container) = event else { return };
        let Some(tracked) = self.containers.get_mut(container).filter(|tracked| tracked.program.is_up())
        else {
            return;
        };
        let failed_liveness = tracked.health.borrow().failed_liveness.clone();
        while let Err(error) = tracked.program.record_end(failed_liveness.as_ref()).await {
            retry_after(&error).await;
        }
        if !tracked.program.is_up() {
            tracked.watchers.abort_all();
        }
    }

    /// Starts a container of a version. A failure to start is seen as its end.
    pub(super) async fn start(&mut self, container: &str, version: &Version) {
        let Some(prepared) = version.programs.get(container) else { return };
        let plan = &version.plan;
        let tracked = self.containers.remove(container);
        let mut program = tracked.map_or_else(|| self.program(container), |tracked| tracked.program);
        let limits = plan.containers.get(container).map(|container| container.limits.clone());
        let limits = limits.unwrap_or_default();
        program.start(Some(&plan.revision), prepared, &limits, grace_period(plan)).await;
        self.track(container, program);
    }

    /// Stops a container, unless that has begun: runs its stop command, then signals the program.
    pub(super) fn stop(&mut self, container: &str) {
        let Some(tracked) = self.containers.get_mut(container) else { return };
        let Some(run) = tracked.program.begin_stop() else { return };
        let pre_stop = tracked.pre_stop.take();
        tracked.watchers.spawn(async move {
            if let Some((context, command)) = pre_stop.filter(|(_, command)| !command.is_empty()) {
                // The program is signalled next, whatever the command did.
                let _ = tokio::time::timeout(DEFAULT_GRACE_PERIOD, context.run(&command)).await;
            }
            if let Err(error) = super::stop(&run) {
                tracing::warn!(run = %run.display(), %error, "a program could not be signalled to stop");
            }
        });
    }

    /// Stops everything. Returns whether anything is still up.
    pub(super) fn stop_all(&mut self) -> bool {
        let names: Vec<_> = self.containers.keys().cloned().collect();
        for name in &names {
            self.stop(name);
        }
        self.any_up()
    }

    fn program(&self, container: &str) -> Program {
        Program::new(self.folder.join(container), self.launcher.clone(), self.limits.clone())
    }

    /// Tracks a program, and sends an event when its run has exited.
    fn track(&mut self, container: &str, program: Program) {
        let mut watchers = JoinSet::new();
        if let Some(run) = program.running().map(Path::to_owned) {
            let (events, container) = (self.events.clone(), container.to_owned());
            watchers.spawn(async move {
                if Program::wait_exit(run).await.is_ok() {
                    // Nobody receives once the platform shuts down.
                    let _ = events.send(ContainerEvent::Exited(container));
                }
            });
        }
        let (_, health) = watch::channel(Health::default());
        self.containers.insert(container.to_owned(), Tracked { program, health, pre_stop: None, watchers });
    }

    /// Begins to probe a run of the version in force.
    fn watch_health(&mut self, container: &str, version: &Version) {
        let plan = &version.plan;
        let (Some(described), Some(prepared)) =
            (plan.containers.get(container), version.programs.get(container))
        else {
            return;
        };
        let Some(tracked) = self.containers.get_mut(container) else { return };
        let is_current = tracked.program.revision() == Some(&plan.revision);
        let Some(run) = tracked.program.running().filter(|_| is_current && tracked.pre_stop.is_none()) else {
            return;
        };
        let has_namespace = !prepared.files.is_empty() || !prepared.mounts.is_empty();
        let context = CommandContext {
            prefix: nsenter::words(&self.launcher, has_namespace.then_some(run)),
            environment: prepared.environment.clone(),
            folder: prepared.folder.clone(),
        };
        let probes = Probes {
            readiness: described.readiness_probe.clone(),
            liveness: described.liveness_probe.clone(),
            ports: implied_ports(plan, container),
            context: context.clone(),
        };
        tracked.pre_stop = Some((context, plan.lifecycle.stop_command.clone()));
        let (health, mut changes) = watch::channel(Health::default());
        tracked.health = changes.clone();
        tracked.watchers.spawn(probe::watch(probes, health));
        let events = self.events.clone();
        tracked.watchers.spawn(async move {
            while changes.changed().await.is_ok() {
                let _ = events.send(ContainerEvent::Health);
            }
        });
    }
}

/// Logs that a run cannot be read, and waits until the next attempt.
async fn retry_after(error: &io::Error) {
    tracing::warn!(%error, "the state of a program cannot be read");
    sleep(UNREADABLE_RETRY_INTERVAL).await;
}

/// Folders of all kept runs of a Workload with their container, the oldest first.
pub(super) fn folders(folder: &Path) -> Vec<(String, PathBuf)> {
    let mut all = Vec::new();
    for container in program::subfolders(folder) {
        let names = program::run_names(&folder.join(&container));
        all.extend(names.into_iter().map(|name| (container.clone(), folder.join(&container).join(name))));
    }
    all
}

/// True if anything runs of the Workload whose runs are in a folder.
pub(super) fn is_any_up(folder: &Path) -> bool {
    let is_up = |run: &Path| matches!(super::find(run), Ok(State::Starting | State::Running(_)));
    folders(folder).iter().any(|(_, run)| is_up(run))
}
