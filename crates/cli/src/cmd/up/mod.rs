//! `orchestra up`: runs Score files on this machine.
//!
//! A client like the other commands: it starts a background platform if none runs, applies the files, and follows their status
//! and logs. At the end it suspends the workloads, whose data stays.

pub(super) mod background;
mod follow;
mod screen;
mod status_view;
mod watched_files;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    time::Duration,
};

use http::Method;
use k8s_openapi::jiff::Timestamp;
use kube::{Api, ResourceExt};
use orchestra_api::{Workload, WorkloadPlan, annotation};
use orchestra_core::{
    place::{self, Conclusion},
    workload_state,
};
use tokio::{
    sync::mpsc,
    task::{JoinHandle, JoinSet},
};

use self::{
    follow::{Event, Prefix, output, watch},
    screen::Screen,
    watched_files::WatchedFiles,
};
use super::{
    apply::{LoadedWorkload, apply_workload, load_workloads},
    attach, down,
    platform::{self, Platform},
    serve::shutdown_signal,
    wait::{self, WaitOptions},
    watch::RETRY_INTERVAL,
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
/// Timeout of stopping workloads: several times the default grace period of a program.
const STOP_TIMEOUT: Duration = Duration::from_mins(1);

pub(crate) fn run(args: &Up) -> Result<Exit, CliError> {
    platform::block_on(up(args))
}

async fn up(args: &Up) -> Result<Exit, CliError> {
    let documents = expand_folders(&args.documents)?;
    let loaded = load_workloads(&documents)?;
    let data = data_dir(args.data_dir.as_ref())?;
    let (platform, started) = background::connect_or_start(&data, args.namespace.as_deref()).await?;
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
        let exit = wait::wait(&session.platform, options).await?;
        if exit == Exit::Success {
            session.open_first().await?;
        }
        return Ok(exit);
    }
    // From here on, a signal stops the workloads. A task of its own takes it, whatever this one waits for.
    let mut stop_signal = tokio::spawn(shutdown_signal());
    let ended = match session.apply(loaded).await {
        Ok(()) => session.follow(&mut stop_signal).await,
        Err(error) => Err(error),
    };
    match &ended {
        Ok(FollowEnd::StoppedElsewhere) if !args.rm => return Ok(Exit::Success),
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
    /// Another command stopped all workloads and the platform.
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
    /// Applied workloads, with their last status.
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
        (self.platform, _) = background::connect_or_start(&self.data, Some(&namespace)).await?;
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
            if self.workloads.values().all(|workload| annotation::suspends(workload.annotations())) {
                self.write(&["All workloads were stopped by another command.".to_owned()])?;
                return Ok(FollowEnd::StoppedElsewhere);
            }
            self.write(&["The platform no longer answers; restarting it.".to_owned()])?;
            // Stopping the workloads needs a platform, too.
            self.reconnect().await?;
        }
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
        let lines = placement_reasons(&text);
        lines.into_iter().map(|line| format!("{name}: {}", ui::printable(&line))).collect()
    }

    async fn show(&mut self, event: Event) -> Result<(), CliError> {
        match event {
            Event::Output(line, time) => {
                self.since = self.since.max(time);
                self.write(&[line])
            }
            Event::Deleted(name) if self.workloads.contains_key(&name) => {
                self.write(&[format!("{name} was deleted.")])
            }
            Event::Deleted(_) | Event::Listed(_) | Event::Lost => Ok(()),
            Event::Workload(workload) => {
                let name = workload.name_any();
                if !self.workloads.contains_key(&name) {
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
                let all: Vec<_> = self.workloads.values().cloned().collect();
                self.screen.draw(&status_view::lines(&all)).map_err(CliError::Output)
            }
        }
    }

    fn write(&mut self, lines: &[String]) -> Result<(), CliError> {
        self.screen.write(lines).map_err(CliError::Output)
    }
}

/// Suspends workloads and waits until they have stopped; with `remove`, deletes them.
pub(super) async fn stop(platform: &Platform, names: Vec<String>, remove: bool) -> Result<Exit, CliError> {
    if names.is_empty() {
        return Ok(Exit::Success);
    }
    ui::print_status("Stopping…");
    for name in &names {
        if remove {
            down::delete(platform, name).await?;
        } else if platform.workloads().get_opt(name).await.is_ok_and(|found| found.is_some()) {
            platform.suspend(name, true).await?;
        }
    }
    if remove {
        let options = WaitOptions { names, goal: Goal::Deleted, timeout: STOP_TIMEOUT, quiet: true };
        let exit = wait::wait(platform, options).await?;
        if exit == Exit::Success {
            ui::print_status("Stopped and removed.");
        }
        return Ok(exit);
    }
    if tokio::time::timeout(STOP_TIMEOUT, until_stopped(platform, &names)).await.is_err() {
        return Err(CliError::StopTimeout(STOP_TIMEOUT.as_secs()));
    }
    ui::print_status(
        "Stopped; data is kept. Resume with `orchestra up`, remove everything with `orchestra down --rm`.",
    );
    Ok(Exit::Success)
}

/// Reasons for a placement in the JSON of `explain`, one per line. The backend in force is known from the status, so that
/// only the choice of another one is worth a line.
fn placement_reasons(explained: &str) -> Vec<String> {
    #[derive(serde::Deserialize)]
    struct Explained {
        explanation: Decided,
    }
    #[derive(serde::Deserialize)]
    struct Decided {
        placement: Option<place::Explanation>,
    }
    let explained: Option<Explained> = serde_json::from_str(explained).ok();
    let Some(placement) = explained.and_then(|explained| explained.explanation.placement) else {
        return Vec::new();
    };
    match &placement.conclusion {
        Conclusion::Refused(_) => Vec::new(),
        Conclusion::Stays(_) | Conclusion::Kept { .. } => placement.considered().collect(),
        chosen @ Conclusion::Chosen { .. } => placement.considered().chain([chosen.to_string()]).collect(),
    }
}

/// Waits until the runtime has stopped all workloads.
async fn until_stopped(platform: &Platform, names: &[String]) {
    let (sender, mut events) = mpsc::channel(16);
    let watching = tokio::spawn(watch(platform.clone(), sender));
    let mut left: BTreeSet<&String> = names.iter().collect();
    while !left.is_empty()
        && let Some(event) = events.recv().await
    {
        match event {
            Event::Workload(workload) if left.contains(&workload.name_any()) => {
                // The status of the Workload follows that of the plan.
                let name = workload.name_any();
                if workload_state::has_stopped(&workload, plan(platform, &name).await.as_ref()) {
                    left.remove(&name);
                }
            }
            Event::Deleted(name) => drop(left.remove(&name)),
            Event::Listed(existing) => left.retain(|name| existing.contains(*name)),
            Event::Workload(_) | Event::Output(..) | Event::Lost => {}
        }
    }
    watching.abort();
}

/// Plan of a workload, if there is one.
async fn plan(platform: &Platform, name: &str) -> Option<WorkloadPlan> {
    let plans: Api<WorkloadPlan> = Api::namespaced(platform.client.clone(), &platform.namespace);
    loop {
        match plans.get_opt(name).await {
            Ok(plan) => return plan,
            Err(_) => tokio::time::sleep(RETRY_INTERVAL).await,
        }
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

#[cfg(test)]
mod tests {
    use orchestra_api::Placement;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_reasons_of_a_placement_come_from_the_fields_of_explain() {
        let lines = |conclusion: Conclusion| {
            let profile = place::ProfileChoice {
                name: "web-service".to_owned(),
                because: place::ProfileReason::BuiltIn,
            };
            let placement = place::Explanation { profile: Some(profile), backends: Vec::new(), conclusion };
            let explained = json!({"name": "web", "explanation": {"placement": placement, "gaps": []}});
            placement_reasons(&explained.to_string())
        };
        let placement = Placement { runtime_class: "process".to_owned(), backend_id: "local".to_owned() };
        let profile = "profile web-service: built-in default";
        assert_eq!(lines(Conclusion::Stays(placement.clone())), [profile]);
        let because = place::ChoiceReason::OnlyOne;
        assert_eq!(
            lines(Conclusion::Chosen { placement, because }),
            [profile, "runs on local: the only backend that accepts the workload"]
        );
        assert!(lines(Conclusion::Refused("no backend".to_owned())).is_empty());
        assert!(placement_reasons("").is_empty());
    }
}
