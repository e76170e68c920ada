//! `orchestra up`: runs Score files on this machine.
//!
//! A client like the other commands: it starts a background platform if none runs, applies the files, and follows their status
//! and logs. At the end it suspends the workloads, whose data stays.

pub(super) mod background;
mod follow;
mod placement;
mod screen;
mod status_view;
mod stop;
mod watched_files;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    time::Duration,
};

use http::Method;
use k8s_openapi::jiff::Timestamp;
use kube::{ResourceExt, api::ListParams};
use orchestra_api::Workload;
use orchestra_core::workload_state;
use tokio::{
    sync::mpsc,
    task::{JoinHandle, JoinSet},
};

pub(super) use self::stop::stop;
use self::{
    follow::{Event, Prefix, output, watch},
    screen::Screen,
    watched_files::WatchedFiles,
};
use super::{
    apply::{LoadedWorkload, apply_workload, load_workloads},
    attach,
    platform::{self, Platform},
    serve::shutdown_signal,
    wait::{self, WaitOptions},
    workload_origin::ENV_FILE,
};
use crate::{
    args::{Documents, Format, Goal, Up, data_dir},
    error::CliError,
    exit::Exit,
    ui,
};

/// Interval of checks for edited files: hardly noticeable, and it costs a few `stat` calls.
const EDIT_CHECK_INTERVAL: Duration = Duration::from_millis(200);

pub(crate) fn run(args: &Up) -> Result<Exit, CliError> {
    platform::block_on(up(args))
}

async fn up(args: &Up) -> Result<Exit, CliError> {
    let documents = expand_folders(&args.documents)?;
    let loaded = load_workloads(&documents)?;
    let data = data_dir(args.data_dir.as_ref())?;
    let connected = background::connect_or_start(&data, args.namespace.as_deref(), args.trust_users).await;
    let (platform, started) = connected?;
    if args.trust_users && !started {
        ui::print_status(
            "warning: the platform was running already, so that --trust-users has no effect; stop it first",
        );
    }
    if started {
        ui::print_status(&format!(
            "Started the platform in the background; its data is in {}.",
            data.display()
        ));
    }
    platform.ensure_namespace().await?;
    let mut session = Session {
        platform,
        data,
        documents,
        screen: Screen::new(),
        applied: BTreeSet::new(),
        workloads: BTreeMap::new(),
        last_lines: BTreeMap::new(),
        ready_claims: BTreeSet::new(),
        placed: BTreeSet::new(),
        is_open: !args.open,
        since: Timestamp::now(),
    };
    if args.detach {
        session.apply(loaded).await?;
        let names = session.workloads.keys().cloned().collect();
        let options = WaitOptions { names, goal: Goal::Ready, timeout: args.timeout, quiet: false };
        wait::wait(&session.platform, options).await?;
        session.open_first().await?;
        return Ok(Exit::Success);
    }
    // From here on, a signal stops the workloads. A task of its own takes it, whatever this one waits for.
    let mut stop_signal = tokio::spawn(shutdown_signal());
    let ended = match session.apply(loaded).await {
        Ok(()) => session.follow(&mut stop_signal).await,
        Err(error) => Err(error),
    };
    match &ended {
        Ok(FollowEnd::StoppedElsewhere) if !args.rm || session.workloads.is_empty() => {
            return Ok(Exit::Success);
        }
        // Removing them needs a platform.
        Ok(FollowEnd::StoppedElsewhere) => session.reconnect().await?,
        Ok(FollowEnd::Signal) if args.keep => {
            session.write(&["Workloads keep running; stop them with `orchestra down`.".to_owned()])?;
            return Ok(Exit::Success);
        }
        Err(error) if args.keep || error.exit() == Exit::Unreachable => return ended.map(|_| Exit::Success),
        Ok(FollowEnd::Signal) | Err(_) => {}
    }
    let names = session.workloads.keys().cloned().collect();
    let stopped = stop(&session.platform, names, args.rm).await?;
    background::shut_down(&session.platform, &session.data).await;
    ended.map(|_| stopped)
}

/// End of following the workloads.
enum FollowEnd {
    /// Ctrl-C, or another signal to stop.
    Signal,
    /// Another command stopped or deleted all workloads, and stopped the platform.
    StoppedElsewhere,
}

/// Replaces folders by the Score files in them.
fn expand_folders(documents: &Documents) -> Result<Documents, CliError> {
    let mut files = Vec::new();
    for path in &documents.files {
        if path.is_dir() { files.extend(score_files(path)?) } else { files.push(path.clone()) }
    }
    Ok(Documents { files, ..documents.clone() })
}

/// Score files of a folder: `score.yaml`, or all `*.score.yaml`.
fn score_files(folder: &Path) -> Result<Vec<PathBuf>, CliError> {
    let only = folder.join("score.yaml");
    if only.exists() {
        return Ok(vec![only]);
    }
    let unreadable = |source| CliError::Read { path: folder.to_owned(), source };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.to_string_lossy().ends_with(".score.yaml") {
            found.push(path);
        }
    }
    if found.is_empty() {
        return Err(CliError::NoScoreFile(folder.to_owned()));
    }
    found.sort();
    Ok(found)
}

/// One run of `up`.
struct Session {
    platform: Platform,
    /// Data folder of the platform.
    data: PathBuf,
    documents: Documents,
    screen: Screen,
    /// Names of the applied workloads.
    applied: BTreeSet<String>,
    /// Applied workloads that exist, with their last status.
    workloads: BTreeMap<String, Workload>,
    /// Last printed status lines, by workload.
    last_lines: BTreeMap<String, String>,
    /// Printed lines of ready dependencies.
    ready_claims: BTreeSet<String>,
    /// Workloads whose placement is printed.
    placed: BTreeSet<String>,
    /// True if the endpoint is open in a browser, or need not be.
    is_open: bool,
    /// Start of the log output.
    since: Timestamp,
}

impl Session {
    async fn apply(&mut self, loaded: Vec<LoadedWorkload>) -> Result<(), CliError> {
        for loaded in loaded {
            let (applied, _) = apply_workload(&self.platform, &loaded, true).await?;
            self.applied.insert(applied.name_any());
            self.workloads.insert(applied.name_any(), applied);
        }
        Ok(())
    }

    /// Opens the first endpoint, unless it is open or need not be.
    async fn open_first(&mut self) -> Result<(), CliError> {
        if self.is_open {
            return Ok(());
        }
        for name in self.workloads.keys() {
            if open(&self.platform.workload(name).await?) {
                self.is_open = true;
                break;
            }
        }
        Ok(())
    }

    /// Connects to a platform again, and starts one if necessary.
    async fn reconnect(&mut self) -> Result<(), CliError> {
        let namespace = self.platform.namespace.clone();
        (self.platform, _) = background::connect_or_start(&self.data, Some(&namespace), false).await?;
        Ok(())
    }

    /// Follows the workloads until the stop signal. Restarts a lost platform.
    async fn follow(&mut self, stop_signal: &mut JoinHandle<()>) -> Result<FollowEnd, CliError> {
        let mut files = WatchedFiles::new(self.watched_files());
        let mut edit_checks = tokio::time::interval(EDIT_CHECK_INTERVAL);
        loop {
            let (sender, mut events) = mpsc::channel(256);
            let mut tasks = JoinSet::new();
            tasks.spawn(watch(self.platform.clone(), sender.clone()));
            let mut followed = BTreeSet::new();
            loop {
                for (name, workload) in &self.workloads {
                    if followed.insert(name.clone()) {
                        let containers = workload.spec.0.get("containers").and_then(|all| all.as_object());
                        let prefix = Prefix {
                            workload: self.workloads.len() > 1,
                            container: containers.is_some_and(|all| all.len() > 1),
                        };
                        let platform = self.platform.clone();
                        tasks.spawn(output(platform, name.clone(), prefix, self.since, sender.clone()));
                    }
                }
                tokio::select! {
                    _ = &mut *stop_signal => return Ok(FollowEnd::Signal),
                    Some(event) = events.recv() => match event {
                        Event::Lost => break,
                        event => self.show(event).await?,
                    },
                    _ = edit_checks.tick() => {
                        if files.have_changed() {
                            self.reload().await?;
                            files = WatchedFiles::new(self.watched_files());
                        }
                    }
                }
            }
            if workload_state::nothing_to_run(self.workloads.values()) {
                return self.stopped_elsewhere();
            }
            let is_being_stopped = self.workloads.values().all(|workload| {
                workload_state::is_deleting(workload) || workload_state::is_suspended(workload)
            });
            if !is_being_stopped {
                self.write(&["The platform no longer answers; restarting it.".to_owned()])?;
            }
            // Stopping the workloads needs a platform, too.
            self.reconnect().await?;
            // The platform that is gone may have stopped them, and its last events are lost.
            let left = self.left().await?;
            if workload_state::nothing_to_run(&left) {
                background::shut_down(&self.platform, &self.data).await;
                self.workloads.retain(|name, _| left.iter().any(|workload| workload.name_any() == *name));
                return self.stopped_elsewhere();
            }
        }
    }

    /// Applied workloads that still exist.
    async fn left(&self) -> Result<Vec<Workload>, CliError> {
        let listed = self.platform.workloads().list(&ListParams::default()).await;
        let listed = listed.map_err(|error| self.platform.api_error("workloads", error))?;
        Ok(listed.items.into_iter().filter(|workload| self.applied.contains(&workload.name_any())).collect())
    }

    fn stopped_elsewhere(&mut self) -> Result<FollowEnd, CliError> {
        self.write(&["All workloads were stopped by another command.".to_owned()])?;
        Ok(FollowEnd::StoppedElsewhere)
    }

    /// Score files, and the files that they refer to.
    fn watched_files(&self) -> Vec<PathBuf> {
        let beside = self.documents.files.iter().map(|file| file.with_file_name(ENV_FILE));
        let files = self.documents.files.iter().chain(&self.documents.overrides_file).cloned();
        let sources = self.documents.files.iter().flat_map(|file| attach::sources(file));
        files.chain(beside).chain(sources).filter(|file| file.as_os_str() != "-").collect()
    }

    /// Applies edited files. Errors are printed, and the last version keeps running.
    async fn reload(&mut self) -> Result<(), CliError> {
        self.screen.clear().map_err(CliError::Output)?;
        match load_workloads(&self.documents) {
            Ok(loaded) => {
                self.write(&["File changed; applying it.".to_owned()])?;
                match self.apply(loaded).await {
                    Err(error) => self.write(&[format!("error: {error}")]),
                    Ok(()) => Ok(()),
                }
            }
            Err(error) => {
                ui::print_error(&error);
                self.write(&["The last version keeps running; correct the file to apply it.".to_owned()])
            }
        }
    }

    /// Placement of a workload, with the reasons.
    async fn placement(&self, name: &str) -> Vec<String> {
        let explained = self.platform.query(Method::GET, name, "explain", Vec::new(), Format::Json).await;
        // Without it, `orchestra explain` still shows the placement.
        let text = explained.map(|response| response.text).unwrap_or_default();
        let lines = placement::reasons(&text);
        lines.into_iter().map(|line| format!("{name}: {}", ui::printable(&line))).collect()
    }

    async fn show(&mut self, event: Event) -> Result<(), CliError> {
        match event {
            Event::Output(line, time) => {
                self.since = self.since.max(time);
                self.write(&[line])
            }
            Event::Deleted(name) => self.forget(&name),
            Event::Listed(existing) => {
                let known: Vec<_> = self.workloads.keys().cloned().collect();
                known.iter().filter(|name| !existing.contains(*name)).try_for_each(|name| self.forget(name))
            }
            Event::Lost => Ok(()),
            Event::Workload(workload) => {
                let name = workload.name_any();
                if !self.applied.contains(&name) {
                    return Ok(());
                }
                let line = status_view::line(&workload);
                let is_ready = workload_state::is_ready(&workload);
                if is_ready && !self.is_open {
                    self.is_open = open(&workload);
                }
                for ready in status_view::ready_claims(&workload) {
                    if self.ready_claims.insert(ready.clone()) {
                        self.write(&[ready])?;
                    }
                }
                self.workloads.insert(name.clone(), *workload);
                if !self.screen.is_terminal() && self.last_lines.get(&name) != Some(&line) {
                    self.write(std::slice::from_ref(&line))?;
                    self.last_lines.insert(name.clone(), line);
                }
                if is_ready && self.placed.insert(name.clone()) {
                    let reasons = self.placement(&name).await;
                    self.write(&reasons)?;
                }
                self.draw()
            }
        }
    }

    /// Forgets a deleted workload.
    fn forget(&mut self, name: &str) -> Result<(), CliError> {
        if self.workloads.remove(name).is_none() {
            return Ok(());
        }
        self.last_lines.remove(name);
        self.placed.remove(name);
        self.write(&[format!("{name} was deleted.")])?;
        self.draw()
    }

    /// Draws the status of all workloads, on a terminal.
    fn draw(&mut self) -> Result<(), CliError> {
        let all: Vec<_> = self.workloads.values().cloned().collect();
        self.screen.draw(&status_view::lines(&all)).map_err(CliError::Output)
    }

    fn write(&mut self, lines: &[String]) -> Result<(), CliError> {
        self.screen.write(lines).map_err(CliError::Output)
    }
}

/// Opens the endpoint of a workload in a browser. Returns false if it has none.
fn open(workload: &Workload) -> bool {
    let Some(endpoint) = workload.status.as_ref().and_then(|status| status.endpoint.as_deref()) else {
        return false;
    };
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let opened = std::process::Command::new(program)
        .arg(endpoint)
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn();
    if let Err(error) = opened {
        ui::print_status(&format!("warning: failed to open {endpoint} with `{program}`: {error}"));
    }
    true
}
