//! Supervisor of one local program: the one code path by which programs of this machine are started, adopted after a crash
//! of the platform, stopped and counted when they fail. Containers of Workloads and database servers both use it.
//!
//! A program has a folder, and in it a folder for each of its last runs: `REVISION.NUMBER`, or only `NUMBER` where there are
//! no revisions. Nothing that counts is kept in memory, so [`Program::adopt`] finds what an earlier platform has started.

use std::{
    error::Error,
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, Instant, SystemTime},
};

use orchestra_api::plan::Amounts;
use orchestra_core::observe::process::{ProbeError, restart::count_failure};
use tokio::time::sleep;

use super::{
    End, Exit, LaunchError, LaunchSpec, Launcher, LogLimits, State, find, limits::Limits,
    prepare::PreparedProgram, reap, run, wait,
};

/// Runs that are kept, for their logs: the last one, and two to compare it with.
const MAX_RUNS: usize = 3;
/// Poll of a shim that has its lock and has not written `run.json` yet: it needs a few milliseconds.
const SHIM_START_POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Stage of the last run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// It runs.
    Running,
    /// It was asked to stop.
    Stopping,
    /// It has exited, and no process of it is left.
    Ended {
        /// Exit code 0, and not because of a stop.
        success: bool,
        /// Part of a sentence: `exit code 1`.
        how: String,
        /// Time of the exit.
        at: SystemTime,
    },
}

/// Failure to start a run. Its `Display` is part of a sentence.
#[derive(Debug, thiserror::Error)]
enum StartFailure {
    /// The folder or the control groups could not be created.
    #[error("its folder could not be created: {0}")]
    Folder(#[source] io::Error),
    /// The shim was not launched.
    #[error(transparent)]
    Launch(#[from] LaunchError),
}

/// One program, its last run and its consecutive failures.
#[derive(Debug)]
pub(super) struct Program {
    folder: PathBuf,
    launcher: Launcher,
    limits: Limits,
    last: Option<LastRun>,
    failures: u32,
    last_failure: Option<String>,
}

#[derive(Debug)]
struct LastRun {
    folder: PathBuf,
    stage: Stage,
    ready_since: Option<Instant>,
}

impl Program {
    /// The program whose runs are in a folder.
    pub(super) fn new(folder: PathBuf, launcher: Launcher, limits: Limits) -> Self {
        Self { folder, launcher, limits, last: None, failures: 0, last_failure: None }
    }

    /// Adopts the last run, whichever platform started it. Waits while a shim is starting, and reaps what is left of a run
    /// whose shim was killed.
    pub(super) async fn adopt(&mut self) -> io::Result<()> {
        let Some(name) = run_names(&self.folder).pop() else {
            self.last = None;
            return Ok(());
        };
        let folder = self.folder.join(name);
        let stage = self.read_stage(&folder).await?;
        self.last = Some(LastRun { folder, stage, ready_since: None });
        Ok(())
    }

    /// Starts the next run. A failure to start is seen as its end.
    pub(super) async fn start(
        &mut self,
        revision: Option<&str>,
        program: &PreparedProgram,
        amounts: &Amounts,
        grace: Duration,
    ) {
        let last = run_names(&self.folder).pop();
        let number = last.and_then(|name| run_number(&name)).unwrap_or_default() + 1;
        let name = revision.map_or_else(|| number.to_string(), |revision| format!("{revision}.{number}"));
        let folder = self.folder.join(name);
        let stage = match self.launch(&folder, program, amounts, grace).await {
            Ok(()) => Stage::Running,
            Err(failure) => {
                tracing::warn!(run = %folder.display(), error = &failure as &dyn Error, "a program was not started");
                self.limits.forget(&folder);
                self.failures += 1;
                let how = failure.to_string();
                let how = how.trim_end_matches('.');
                self.last_failure = Some(how.to_owned());
                lost(how)
            }
        };
        self.last = Some(LastRun { folder, stage, ready_since: None });
        self.prune();
    }

    async fn launch(
        &self,
        folder: &Path,
        program: &PreparedProgram,
        amounts: &Amounts,
        grace: Duration,
    ) -> Result<(), StartFailure> {
        let mut words = program.command.iter().cloned();
        let created = fs::create_dir_all(folder).and_then(|()| self.limits.make(folder, amounts));
        let spec = LaunchSpec {
            run: folder.display().to_string(),
            program: words.next().unwrap_or_default(),
            args: words.collect(),
            environment: program.environment.clone(),
            directory: program.folder.clone(),
            files: program.files.clone(),
            mounts: program.mounts.clone(),
            groups: created.map_err(StartFailure::Folder)?,
            grace,
            logs: LogLimits::default(),
        };
        Ok(self.launcher.launch(folder, &spec).await?)
    }

    /// Marks the run as stopping. Returns its folder, for [`super::stop`], unless it is stopping or has ended.
    pub(super) fn begin_stop(&mut self) -> Option<PathBuf> {
        let last = self.last.as_mut().filter(|last| last.stage == Stage::Running)?;
        last.stage = Stage::Stopping;
        Some(last.folder.clone())
    }

    /// Waits until the run of a folder has exited, whichever platform started it.
    pub(super) async fn wait_exit(run: PathBuf) -> io::Result<()> {
        wait(&run).await.map(drop)
    }

    /// Records the end of a run that was seen to exit, and counts it as a failure unless it was stopped on purpose. A run
    /// that failed its liveness probe was stopped, and counts.
    pub(super) async fn record_end(&mut self, failed_liveness: Option<&ProbeError>) -> io::Result<()> {
        let Some(last) = self.last.as_ref().filter(|last| last.is_up()) else { return Ok(()) };
        let stage = self.read_stage(&last.folder).await?;
        let Some(last) = self.last.as_mut() else { return Ok(()) };
        let Stage::Ended { success, how, at } = stage else { return Ok(()) };
        let was_stopped = last.stage == Stage::Stopping && failed_liveness.is_none();
        let ready_for = last.ready_since.map(|since| since.elapsed());
        let (success, how) = match failed_liveness {
            Some(error) => (false, format!("liveness probe failed: {error}")),
            None => (success, how),
        };
        last.stage = Stage::Ended { success, how: how.clone(), at };
        if !was_stopped {
            self.failures = count_failure(self.failures, ready_for);
            self.last_failure = Some(how);
        }
        Ok(())
    }

    /// Records whether the run is ready.
    pub(super) fn set_ready(&mut self, is_ready: bool) {
        let Some(last) = &mut self.last else { return };
        last.ready_since = is_ready.then(|| last.ready_since.unwrap_or_else(Instant::now));
    }

    /// Time for which the last run has been ready.
    pub(super) fn ready_for(&self) -> Duration {
        let ready_since = self.last.as_ref().and_then(|last| last.ready_since);
        ready_since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// Stage of the last run; `None` if there was none.
    pub(super) fn stage(&self) -> Option<&Stage> {
        self.last.as_ref().map(|last| &last.stage)
    }

    /// Folder of the last run, while it runs.
    pub(super) fn running(&self) -> Option<&Path> {
        let last = self.last.as_ref().filter(|last| last.stage == Stage::Running);
        last.map(|last| last.folder.as_path())
    }

    /// Folder of the last run.
    pub(super) fn last_run(&self) -> Option<&Path> {
        self.last.as_ref().map(|last| last.folder.as_path())
    }

    /// Revision of the last run.
    pub(super) fn revision(&self) -> Option<&str> {
        let name = self.last.as_ref()?.folder.file_name()?.to_str()?;
        Some(name.rsplit_once('.').map_or(name, |(revision, _)| revision))
    }

    /// True if the last run has processes.
    pub(super) fn is_up(&self) -> bool {
        self.last.as_ref().is_some_and(LastRun::is_up)
    }

    /// Consecutive failures.
    pub(super) fn failures(&self) -> u32 {
        self.failures
    }

    /// End of the last run that failed, as part of a sentence.
    pub(super) fn last_failure(&self) -> Option<&str> {
        self.last_failure.as_deref()
    }

    /// Sets the number of consecutive failures: those that an earlier platform has counted, or none.
    pub(super) fn set_failures(&mut self, failures: u32) {
        self.failures = failures;
    }

    /// Stage of the run in a folder.
    async fn read_stage(&self, folder: &Path) -> io::Result<Stage> {
        let stage = loop {
            match find(folder)? {
                State::Starting => sleep(SHIM_START_POLL_INTERVAL).await,
                State::Running(_) => return Ok(Stage::Running),
                State::Ended(exit) => {
                    let stage = ended(&exit);
                    break match stage {
                        Stage::Ended { success: false, at, .. } if self.limits.ran_out_of_memory(folder) => {
                            let how = "out of memory: it needs more than `resources.limits.memory` allows";
                            Stage::Ended { success: false, how: how.to_owned(), at }
                        }
                        stage => stage,
                    };
                }
                State::Lost(_) => {
                    reap(folder).await?;
                    break lost("it was killed from outside");
                }
                State::Absent => {
                    // A shim that is late ends where it finds no folder.
                    match run::discard(folder) {
                        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                        _ => break lost("it was never started"),
                    }
                }
            }
        };
        self.limits.forget(folder);
        Ok(stage)
    }

    /// Removes all runs but the last ones.
    fn prune(&self) {
        for old in run_names(&self.folder).iter().rev().skip(MAX_RUNS) {
            if let Err(error) = fs::remove_dir_all(self.folder.join(old)) {
                tracing::warn!(folder = %self.folder.display(), %error, "an old run could not be removed");
            }
        }
    }
}

impl LastRun {
    fn is_up(&self) -> bool {
        !matches!(self.stage, Stage::Ended { .. })
    }
}

/// End of a run, as part of a sentence.
fn ended(exit: &Exit) -> Stage {
    let (success, how) = match &exit.end {
        // A program that was stopped has not done all its work, whatever its exit code.
        End::Code(0) => (!exit.stopped, "exit code 0".to_owned()),
        End::Code(code) => (false, format!("exit code {code}")),
        End::Signal(signal) => (false, format!("killed by signal {signal}")),
        End::NotStarted(why) => (false, why.to_string().trim_end_matches('.').to_owned()),
    };
    Stage::Ended { success, how, at: exit.at.into() }
}

fn lost(how: &str) -> Stage {
    Stage::Ended { success: false, how: how.to_owned(), at: SystemTime::now() }
}

/// Names of the run folders of a program, the oldest first.
pub(super) fn run_names(folder: &Path) -> Vec<String> {
    let mut names = subfolders(folder);
    names.retain(|name| run_number(name).is_some());
    names.sort_by_key(|name| run_number(name));
    names
}

/// Number of a run, from its name.
fn run_number(name: &str) -> Option<u64> {
    name.rsplit_once('.').map_or(name, |(_, number)| number).parse().ok()
}

/// Names of the folders in a folder; none if it does not exist.
pub(super) fn subfolders(folder: &Path) -> Vec<String> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_ordered_by_number_with_and_without_a_revision() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b.10", "a.9", "never", "a.11"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        assert_eq!(run_names(folder.path()), ["a.9", "b.10", "a.11"]);
        assert_eq!((run_number("7"), run_number("never")), (Some(7), None));
    }
}
