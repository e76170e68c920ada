//! The runs of one Workload: each container has a folder, and in it a folder for each of its last runs, named after the
//! revision it was of. What is there is found again after a crash of the platform.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, Instant, SystemTime},
};

use orchestra_api::plan::{Container, WorkloadPlanSpec};
use orchestra_score::model::{Protocol, Ready};
use tokio::{
    sync::{mpsc, watch},
    task::JoinSet,
    time::sleep,
};

use super::{
    End, Exit, Launcher, LogLimits, Order, State, enter,
    keeper::Version,
    limits::Limits,
    probe::{self, Checks, Health, Surroundings},
    run,
    supervise::{self, Part, Run},
};

/// How many runs of a container are kept, for their logs.
const KEPT: usize = 3;
/// How long something must have been ready before an end of it is the first again.
const PROVEN: Duration = Duration::from_secs(10);
/// How soon it is looked again for a run that is just beginning, and for one of which nothing can be read.
const SOON: Duration = Duration::from_millis(10);
const LATER: Duration = Duration::from_millis(500);
/// How long something may take to stop, if nobody says.
const GRACE: Duration = Duration::from_secs(10);

/// Why to look again.
#[derive(Debug)]
pub(super) enum Cause {
    /// A run of this container has ended.
    Ended(String),
    /// The health of one has changed.
    Health,
}

/// The runs of one Workload.
#[derive(Debug)]
pub(super) struct Runs {
    folder: PathBuf,
    launcher: Launcher,
    limits: Limits,
    causes: mpsc::UnboundedSender<Cause>,
    last: BTreeMap<String, Tracked>,
    failures: BTreeMap<String, u32>,
}

/// The last run of a container.
#[derive(Debug)]
struct Tracked {
    folder: PathBuf,
    revision: String,
    stage: Stage,
    health: watch::Receiver<Health>,
    /// Since when it is ready, as far as was seen.
    ready_since: Option<Instant>,
    /// What is run before it is stopped.
    farewell: Option<(Surroundings, Vec<String>)>,
    /// What looks after it; ends with it.
    watchers: JoinSet<()>,
}

#[derive(Debug)]
enum Stage {
    Running,
    Stopping,
    Ended { well: bool, how: String, at: SystemTime },
}

impl Runs {
    /// The runs in a folder. What happens to them is told through `causes`.
    pub(super) fn new(
        folder: PathBuf,
        launcher: Launcher,
        limits: Limits,
        causes: mpsc::UnboundedSender<Cause>,
    ) -> Self {
        Self { folder, launcher, limits, causes, last: BTreeMap::new(), failures: BTreeMap::new() }
    }

    /// Finds what an earlier platform has left.
    pub(super) async fn find_again(&mut self) {
        for container in entries(&self.folder) {
            let Some(last) = self.last_of(&container) else { continue };
            let folder = self.folder.join(&container).join(&last);
            let revision = last.rsplit_once('.').map_or(last.as_str(), |(revision, _)| revision).to_owned();
            let stage = self.stage_of(&folder).await;
            let (_, health) = watch::channel(Health::default());
            let tracked = Tracked {
                folder,
                revision,
                stage,
                health,
                ready_since: None,
                farewell: None,
                watchers: JoinSet::new(),
            };
            self.last.insert(container.clone(), tracked);
            self.await_end(&container);
        }
    }

    /// What is known of each container, for the revision in force.
    pub(super) fn parts(&mut self, version: &Version, now: SystemTime) -> BTreeMap<String, Part> {
        let revision = &version.plan.revision;
        let names: Vec<_> = self.last.keys().cloned().collect();
        for name in &names {
            self.watch_health(name, version);
        }
        let part = |(name, tracked): (&String, &mut Tracked)| {
            let health = *tracked.health.borrow();
            // What runs to its end is not proven by running on.
            if health.ready && !supervise::runs_once(&version.plan, name) {
                tracked.ready_since.get_or_insert_with(Instant::now);
            } else {
                tracked.ready_since = None;
            }
            let run = match &tracked.stage {
                Stage::Running => Run::Running,
                Stage::Stopping => Run::Stopping,
                Stage::Ended { well, how, at } => Run::Ended {
                    well: *well,
                    how: how.clone(),
                    ago: now.duration_since(*at).unwrap_or_default(),
                },
            };
            let part = Part {
                run,
                current: tracked.revision == *revision,
                ready: health.ready,
                dead: health.dead,
                failures: self.failures.get(name).copied().unwrap_or_default(),
            };
            (name.clone(), part)
        };
        self.last.iter_mut().map(part).collect()
    }

    /// Whether anything runs.
    pub(super) fn any_up(&self) -> bool {
        self.last.values().any(|tracked| !matches!(tracked.stage, Stage::Ended { .. }))
    }

    /// Whether anything runs that is of another revision.
    pub(super) fn any_other(&self, revision: &str) -> bool {
        let others = self.last.values().filter(|tracked| tracked.revision != revision);
        others.into_iter().any(|tracked| !matches!(tracked.stage, Stage::Ended { .. }))
    }

    /// How often containers have ended in a row.
    pub(super) fn tries(&self) -> &BTreeMap<String, u32> {
        &self.failures
    }

    /// Takes over how often containers have ended in a row, as far as an earlier platform has seen it.
    pub(super) fn recall(&mut self, tries: BTreeMap<String, u32>) {
        self.failures = tries;
    }

    /// Another version begins with a clean slate.
    pub(super) fn forgive(&mut self) {
        self.failures.clear();
    }

    /// Takes note of something that happened.
    pub(super) async fn take(&mut self, cause: &Cause) {
        let Cause::Ended(container) = cause else { return };
        let Some(folder) = self.last.get(container).map(|tracked| tracked.folder.clone()) else { return };
        let stage = self.stage_of(&folder).await;
        let Some(tracked) = self.last.get_mut(container) else { return };
        if matches!(tracked.stage, Stage::Ended { .. }) || matches!(stage, Stage::Running) {
            return;
        }
        let was_dead = tracked.health.borrow().dead;
        let was_stopped = matches!(tracked.stage, Stage::Stopping) && !was_dead;
        let is_proven = tracked.ready_since.is_some_and(|since| since.elapsed() >= PROVEN);
        tracked.watchers.abort_all();
        tracked.stage = match stage {
            Stage::Ended { at, .. } if was_dead => {
                Stage::Ended { well: false, how: "its liveness probe failed".to_owned(), at }
            }
            stage => stage,
        };
        if !was_stopped {
            let failures = self.failures.entry(container.clone()).or_default();
            *failures = if is_proven { 1 } else { *failures + 1 };
        }
    }

    /// Starts a container of a version. That it could not be started is seen as its end.
    pub(super) async fn start(&mut self, container: &str, version: &Version) {
        let Some(prepared) = version.blueprint.get(container) else { return };
        let plan = &version.plan;
        let number = self.last_of(container).and_then(|last| number_of(&last)).unwrap_or_default() + 1;
        let run = format!("{}.{number}", plan.revision);
        let folder = self.folder.join(container).join(&run);
        let mut words = prepared.command.iter().cloned();
        let mut order = Order {
            run: format!("{}/{container}/{run}", self.folder.display()),
            program: words.next().unwrap_or_default(),
            args: words.collect(),
            environment: prepared.environment.clone(),
            directory: prepared.folder.clone(),
            files: prepared.files.clone(),
            mounts: prepared.mounts.clone(),
            groups: Vec::new(),
            grace: plan.lifecycle.grace_seconds.map_or(GRACE, |seconds| Duration::from_secs(seconds.into())),
            logs: LogLimits::default(),
        };
        let limits =
            plan.containers.get(container).map(|container| container.limits.clone()).unwrap_or_default();
        let grouped = fs::create_dir_all(&folder).and_then(|()| self.limits.make(&folder, &limits));
        let launched = match grouped.map(|groups| order.groups = groups) {
            Ok(()) => self.launcher.launch(&folder, &order).await.map_err(|error| error.to_string()),
            Err(error) => Err(format!("its folder could not be made: {error}")),
        };
        let stage = match launched {
            Ok(()) => Stage::Running,
            Err(why) => {
                self.limits.forget(&folder);
                *self.failures.entry(container.to_owned()).or_default() += 1;
                Stage::Ended { well: false, how: why, at: SystemTime::now() }
            }
        };
        let (_, health) = watch::channel(Health::default());
        let tracked = Tracked {
            folder,
            revision: plan.revision.clone(),
            stage,
            health,
            ready_since: None,
            farewell: None,
            watchers: JoinSet::new(),
        };
        self.last.insert(container.to_owned(), tracked);
        self.await_end(container);
        self.prune(container);
    }

    /// Stops a container, unless that has begun.
    pub(super) fn stop(&mut self, container: &str) {
        let Some(tracked) = self.last.get_mut(container).filter(|run| matches!(run.stage, Stage::Running))
        else {
            return;
        };
        tracked.stage = Stage::Stopping;
        let folder = tracked.folder.clone();
        let farewell = tracked.farewell.take();
        tracked.watchers.spawn(async move {
            if let Some((surroundings, command)) = farewell.filter(|(_, command)| !command.is_empty()) {
                // However it goes, the program is told next.
                let _ = tokio::time::timeout(GRACE, surroundings.run(&command)).await;
            }
            if let Err(error) = super::stop(&folder) {
                tracing::warn!(folder = %folder.display(), %error, "a process could not be told to stop");
            }
        });
    }

    /// Stops everything. Answers whether anything is still there.
    pub(super) fn stop_all(&mut self) -> bool {
        let names: Vec<_> = self.last.keys().cloned().collect();
        for name in &names {
            self.stop(name);
        }
        self.any_up()
    }

    /// How the run in a folder fares. What is left of one whose shim was killed is ended.
    async fn stage_of(&self, folder: &Path) -> Stage {
        let lost = |how: &str| Stage::Ended { well: false, how: how.to_owned(), at: SystemTime::now() };
        let found = loop {
            match super::find(folder) {
                // It is about to say who it is, or to end.
                Ok(State::Starting) => sleep(SOON).await,
                // As long as it is not known whether it runs, it must not be started.
                Err(error) => {
                    tracing::warn!(folder = %folder.display(), %error, "nothing can be read of a process");
                    sleep(LATER).await;
                }
                found => break found,
            }
        };
        match found {
            Ok(State::Starting | State::Running(_)) => Stage::Running,
            Ok(State::Ended(exit)) => {
                let stage = ended(&exit);
                let is_short = self.limits.ran_out_of_memory(folder);
                self.limits.forget(folder);
                match stage {
                    Stage::Ended { well: false, at, .. } if is_short => {
                        let how =
                            "it was ended because it needs more memory than `resources.limits.memory` allows";
                        Stage::Ended { well: false, how: how.to_owned(), at }
                    }
                    stage => stage,
                }
            }
            Ok(State::Lost(_)) => {
                if let Err(error) = super::sweep(folder).await {
                    tracing::warn!(folder = %folder.display(), %error, "what is left of a process could not be ended");
                }
                self.limits.forget(folder);
                lost("it was ended from outside")
            }
            Ok(State::Absent) | Err(_) => {
                // A supervisor that is late ends where there is no folder for it.
                if let Err(error) = run::take_away(folder) {
                    tracing::warn!(folder = %folder.display(), %error, "what was never started could not be removed");
                }
                self.limits.forget(folder);
                lost("it was never started")
            }
        }
    }

    /// Tells when a run has ended.
    fn await_end(&mut self, container: &str) {
        let Some(tracked) = self.last.get_mut(container).filter(|run| matches!(run.stage, Stage::Running))
        else {
            return;
        };
        let (causes, folder, container) = (self.causes.clone(), tracked.folder.clone(), container.to_owned());
        tracked.watchers.spawn(async move {
            if super::ended(&folder).await.is_ok() {
                // Nobody listens once the platform ends.
                let _ = causes.send(Cause::Ended(container));
            }
        });
    }

    /// Begins to ask a run of the version in force how it fares.
    fn watch_health(&mut self, container: &str, version: &Version) {
        let plan = &version.plan;
        let (Some(described), Some(prepared)) =
            (plan.containers.get(container), version.blueprint.get(container))
        else {
            return;
        };
        let Some(tracked) = self.last.get_mut(container) else { return };
        let is_watched = tracked.farewell.is_some() || !matches!(tracked.stage, Stage::Running);
        if is_watched || tracked.revision != plan.revision {
            return;
        }
        let is_apart = !prepared.files.is_empty() || !prepared.mounts.is_empty();
        let entry = enter::words(&self.launcher, is_apart.then_some(tracked.folder.as_path()));
        let surroundings = Surroundings {
            entry,
            environment: prepared.environment.clone(),
            folder: prepared.folder.clone(),
        };
        let checks = Checks {
            readiness: described.readiness_probe.clone(),
            liveness: described.liveness_probe.clone(),
            ports: implied(plan, container, described),
            surroundings: surroundings.clone(),
        };
        tracked.farewell = Some((surroundings, plan.lifecycle.stop_command.clone()));
        let (health, seen) = watch::channel(Health::default());
        tracked.health = seen.clone();
        tracked.watchers.spawn(probe::watch(checks, health));
        let (causes, mut seen) = (self.causes.clone(), seen);
        tracked.watchers.spawn(async move {
            while seen.changed().await.is_ok() {
                let _ = causes.send(Cause::Health);
            }
        });
    }

    /// The name of the last run of a container.
    fn last_of(&self, container: &str) -> Option<String> {
        let runs = entries(&self.folder.join(container));
        runs.into_iter().filter(|name| number_of(name).is_some()).max_by_key(|name| number_of(name))
    }

    /// Removes runs of a container but the last few.
    fn prune(&self, container: &str) {
        let folder = self.folder.join(container);
        let mut all = entries(&folder);
        all.sort_by_key(|name| number_of(name));
        for old in all.iter().rev().skip(KEPT) {
            if let Err(error) = fs::remove_dir_all(folder.join(old)) {
                tracing::warn!(folder = %folder.display(), %error, "an old run could not be removed");
            }
        }
    }
}

/// The ports that have to answer before a container counts as ready: those of the Workload, where it runs on, and says
/// nothing of its own. Whose they are is not known; but before they answer, the Workload is not ready.
fn implied(plan: &WorkloadPlanSpec, name: &str, container: &Container) -> Vec<u16> {
    // Others may wait for it before they open those ports.
    let is_awaited = container.before.values().any(|ready| *ready == Ready::Healthy);
    if supervise::runs_once(plan, name) || container.readiness_probe.is_some() || is_awaited {
        return Vec::new();
    }
    let tcp = plan.ports.values().filter(|port| port.protocol == Protocol::Tcp);
    tcp.map(|port| port.target_port).collect()
}

/// How a run ended, as part of a sentence.
fn ended(exit: &Exit) -> Stage {
    let (well, how) = match &exit.end {
        // What was told to stop has not done all its work, whatever it says.
        End::Code(0) => (!exit.stopped, "it ended".to_owned()),
        End::Code(code) => (false, format!("it ended with code {code}")),
        End::Signal(signal) => (false, format!("it was ended by signal {signal}")),
        End::NotStarted(why) => {
            let why = why.to_string();
            (false, why.trim_end_matches('.').to_owned())
        }
    };
    Stage::Ended { well, how, at: exit.at.into() }
}

/// The folders of all runs of a Workload that are kept, with the container of each, the oldest first.
pub(super) fn folders(folder: &Path) -> Vec<(String, PathBuf)> {
    let mut all = Vec::new();
    for container in entries(folder) {
        let mut runs = entries(&folder.join(&container));
        runs.retain(|run| number_of(run).is_some());
        runs.sort_by_key(|run| number_of(run));
        all.extend(runs.into_iter().map(|run| (container.clone(), folder.join(&container).join(run))));
    }
    all
}

/// Whether anything runs of the Workload whose runs are in a folder.
pub(super) fn is_any_up(folder: &Path) -> bool {
    let is_up = |run: &Path| matches!(super::find(run), Ok(State::Starting | State::Running(_)));
    folders(folder).iter().any(|(_, run)| is_up(run))
}

/// The number of a run, from its name.
fn number_of(name: &str) -> Option<u64> {
    name.rsplit_once('.')?.1.parse().ok()
}

/// The names of folders in a folder; none if it is not there.
fn entries(folder: &Path) -> Vec<String> {
    let read = || -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                names.extend(entry.file_name().into_string());
            }
        }
        names.sort();
        Ok(names)
    };
    read().unwrap_or_default()
}
