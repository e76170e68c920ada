//! `orchestra up`: from Score files to something that runs, in one command.
//!
//! It is a client like the others: it starts the platform in the background if none runs, hands it the files, and shows
//! how they fare. When it ends, what it began is stopped, and can be begun again; the data stays.

mod board;
mod files;
pub(super) mod home;
mod news;
mod screen;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    time::Duration,
};

use http::Method;
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;
use orchestra_api::{ConditionType, Workload, annotation, plan::SUSPENDED};
use tokio::{
    sync::mpsc,
    task::{JoinHandle, JoinSet},
};

use self::{
    files::Files,
    news::{News, Prefix, output, watch},
    screen::Screen,
};
use super::{
    apply::{self, Described},
    attach, down,
    home::ENV_FILE,
    platform::{self, Platform, Trouble},
    serve::asked_to_stop,
    show,
    wait::{self, Goals},
};
use crate::{
    args::{Documents, Format, Goal, Up, data_dir},
    exit::Exit,
    ui,
};

/// How often it is looked whether a file was edited.
const LOOK: Duration = Duration::from_millis(200);
/// How long what was begun may take to stop.
const STOP: Duration = Duration::from_mins(1);

pub(crate) fn run(args: &Up) -> Exit {
    platform::run(up(args))
}

async fn up(args: &Up) -> Result<Exit, Trouble> {
    let documents = in_folders(&args.documents)?;
    let described = match apply::described(&documents) {
        Ok(described) => described,
        Err(exit) => return Ok(exit),
    };
    let data = data_dir(args.data_dir.as_ref()).map_err(Trouble::No)?;
    let (platform, started) = home::reach(&data, args.namespace.as_deref()).await?;
    if started {
        ui::say(&format!("Started the platform in the background; its data is in {}.", data.display()));
    }
    platform.make_namespace().await?;
    let mut session = Session {
        platform,
        data,
        documents,
        screen: Screen::new(),
        workloads: BTreeMap::new(),
        told: BTreeMap::new(),
        ready: BTreeSet::new(),
        explained: BTreeSet::new(),
        is_open: !args.open,
        since: Timestamp::now(),
    };
    if args.detach {
        session.apply(described).await?;
        let names = session.workloads.keys().cloned().collect();
        let goals = Goals { names, goal: Goal::Ready, timeout: args.timeout, quiet: false };
        let exit = wait::wait(&session.platform, goals).await?;
        if exit == Exit::Yes {
            session.open_first().await?;
        }
        return Ok(exit);
    }
    // From here on, what was begun is ended in good order.
    // A task of its own hears them from now on, whatever else is waited for.
    let mut ending = tokio::spawn(asked_to_stop());
    let ended = match session.apply(described).await {
        Ok(()) => session.follow(&mut ending).await,
        Err(trouble) => Err(trouble),
    };
    if args.keep {
        session.write(&["Everything runs on; `orchestra down` stops it.".to_owned()])?;
        return ended.map(|()| Exit::Yes);
    }
    if let Err(Trouble::Unreachable(why)) = ended {
        return Err(Trouble::Unreachable(why));
    }
    let names = session.workloads.keys().cloned().collect();
    let stopped = stop(&session.platform, names, args.rm).await?;
    home::end(&session.platform, &session.data).await;
    ended.map(|()| stopped)
}

/// A folder stands for the Score files in it.
fn in_folders(documents: &Documents) -> Result<Documents, Trouble> {
    let mut files = Vec::new();
    for path in &documents.files {
        if path.is_dir() { files.extend(score_files(path)?) } else { files.push(path.clone()) }
    }
    Ok(Documents { files, ..documents.clone() })
}

/// The Score files of a folder: `score.yaml`, or else all whose names end with `.score.yaml`.
fn score_files(folder: &Path) -> Result<Vec<PathBuf>, Trouble> {
    let only = folder.join("score.yaml");
    if only.exists() {
        return Ok(vec![only]);
    }
    let unreadable = |error: std::io::Error| Trouble::No(format!("{}: {error}", folder.display()));
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.to_string_lossy().ends_with(".score.yaml") {
            found.push(path);
        }
    }
    if found.is_empty() {
        return Err(Trouble::No(format!(
            "{} has no score.yaml; `orchestra init` writes a sample",
            folder.display()
        )));
    }
    found.sort();
    Ok(found)
}

/// What one `up` has begun.
struct Session {
    platform: Platform,
    /// The folder of the platform's data.
    data: PathBuf,
    documents: Documents,
    screen: Screen,
    /// The workloads of the files, as they were last seen.
    workloads: BTreeMap<String, Workload>,
    /// What was last told of each.
    told: BTreeMap<String, String>,
    /// What was said of dependencies that are ready.
    ready: BTreeSet<String>,
    /// The workloads of which it was said where they run.
    explained: BTreeSet<String>,
    /// Whether the endpoint was opened, or need not be.
    is_open: bool,
    /// From when on their output is shown.
    since: Timestamp,
}

impl Session {
    /// Hands workloads to the platform, to be run from here.
    async fn apply(&mut self, described: Vec<Described>) -> Result<(), Trouble> {
        for described in described {
            let (applied, _) = apply::put(&self.platform, &described, true).await?;
            self.workloads.insert(applied.name_any(), applied);
        }
        Ok(())
    }

    /// Opens the endpoint of the first workload that has one, unless that was done or need not be.
    async fn open_first(&mut self) -> Result<(), Trouble> {
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

    /// Follows the workloads until the user wants to end. A platform that is lost is started again.
    async fn follow(&mut self, stop: &mut JoinHandle<()>) -> Result<(), Trouble> {
        let mut files = Files::see(self.watched());
        let mut look = tokio::time::interval(LOOK);
        loop {
            let (news, mut told) = mpsc::channel(256);
            let mut tasks = JoinSet::new();
            tasks.spawn(watch(self.platform.clone(), news.clone()));
            let mut followed = BTreeSet::new();
            loop {
                for (name, workload) in &self.workloads {
                    if followed.insert(name.clone()) {
                        let containers = workload.spec.0.get("containers").and_then(|all| all.as_object());
                        let prefixed = Prefix {
                            workload: self.workloads.len() > 1,
                            container: containers.is_some_and(|all| all.len() > 1),
                        };
                        let platform = self.platform.clone();
                        tasks.spawn(output(platform, name.clone(), prefixed, self.since, news.clone()));
                    }
                }
                tokio::select! {
                    _ = &mut *stop => return Ok(()),
                    Some(news) = told.recv() => match news {
                        News::Lost => break,
                        news => self.take(news).await?,
                    },
                    _ = look.tick() => {
                        if files.have_changed() {
                            self.apply_again().await?;
                            files = Files::see(self.watched());
                        }
                    }
                }
            }
            if self.workloads.values().all(|workload| annotation::suspends(workload.annotations())) {
                self.write(&["Everything was stopped elsewhere, and the platform has ended.".to_owned()])?;
                return Ok(());
            }
            self.write(&["The platform does not answer any more; it is started again.".to_owned()])?;
            let namespace = self.platform.namespace.clone();
            // Also to stop what was begun, there must be a platform that answers.
            (self.platform, _) = home::reach(&self.data, Some(&namespace)).await?;
        }
    }

    /// The files whose edits matter.
    fn watched(&self) -> Vec<PathBuf> {
        let beside = self.documents.files.iter().map(|file| file.with_file_name(ENV_FILE));
        let files = self.documents.files.iter().chain(&self.documents.overrides_file).cloned();
        let sources = self.documents.files.iter().flat_map(|file| attach::sources(file));
        files.chain(beside).chain(sources).filter(|file| file.as_os_str() != "-").collect()
    }

    /// A file was edited: what is wrong with it is shown, and what runs runs on.
    async fn apply_again(&mut self) -> Result<(), Trouble> {
        self.screen.clear().map_err(|error| closed(&error))?;
        match apply::described(&self.documents) {
            Ok(described) => {
                self.write(&["A file was edited; applying it.".to_owned()])?;
                match self.apply(described).await {
                    Err(Trouble::No(why) | Trouble::Unreachable(why)) => {
                        self.write(&[format!("error: {why}")])
                    }
                    other => other,
                }
            }
            Err(_) => self.write(&["What ran before runs on; correct the file to go on.".to_owned()]),
        }
    }

    /// What was selected for a workload, and why.
    async fn placement(&self, name: &str) -> Vec<String> {
        let asked = self.platform.ask(Method::GET, name, "explain", Vec::new(), Format::Human).await;
        // It is said again by `explain`; nothing depends on it here.
        let text = asked.map(|answer| answer.text).unwrap_or_default();
        let section = text.lines().skip_while(|line| *line != "Where it runs:").skip(1);
        let reasons =
            section.take_while(|line| !line.is_empty()).filter(|line| !line.starts_with("  stays on"));
        reasons.map(|line| format!("{name}: {}", ui::printable(line.trim()))).collect()
    }

    async fn take(&mut self, news: News) -> Result<(), Trouble> {
        match news {
            News::Output(line, time) => {
                self.since = self.since.max(time);
                self.write(&[line])
            }
            News::Gone(name) if self.workloads.contains_key(&name) => {
                self.write(&[format!("{name} was deleted.")])
            }
            News::Gone(_) | News::Listed(_) | News::Lost => Ok(()),
            News::Workload(workload) => {
                let name = workload.name_any();
                if !self.workloads.contains_key(&name) {
                    return Ok(());
                }
                let line = board::news(&workload);
                let is_ready = board::is_ready(&workload);
                if is_ready && !self.is_open {
                    self.is_open = open(&workload);
                }
                for ready in board::ready_claims(&workload) {
                    if self.ready.insert(ready.clone()) {
                        self.write(&[ready])?;
                    }
                }
                self.workloads.insert(name.clone(), *workload);
                if !self.screen.is_terminal() && self.told.get(&name) != Some(&line) {
                    self.write(std::slice::from_ref(&line))?;
                    self.told.insert(name.clone(), line);
                }
                if is_ready && self.explained.insert(name.clone()) {
                    let reasons = self.placement(&name).await;
                    self.write(&reasons)?;
                }
                let all: Vec<_> = self.workloads.values().cloned().collect();
                self.screen.draw(&board::lines(&all)).map_err(|error| closed(&error))
            }
        }
    }

    fn write(&mut self, lines: &[String]) -> Result<(), Trouble> {
        self.screen.write(lines).map_err(|error| closed(&error))
    }
}

/// Stops workloads, and waits until they are; with `remove`, also what was made for them goes.
pub(super) async fn stop(platform: &Platform, names: Vec<String>, remove: bool) -> Result<Exit, Trouble> {
    if names.is_empty() {
        return Ok(Exit::Yes);
    }
    ui::say("Stopping…");
    for name in &names {
        if remove {
            down::delete(platform, name).await?;
        } else if platform.workloads().get_opt(name).await.is_ok_and(|found| found.is_some()) {
            platform.suspend(name, true).await?;
        }
    }
    if remove {
        let goals = Goals { names, goal: Goal::Deleted, timeout: STOP, quiet: true };
        let exit = wait::wait(platform, goals).await?;
        if exit == Exit::Yes {
            ui::say("Stopped, and removed.");
        }
        return Ok(exit);
    }
    if tokio::time::timeout(STOP, until_stopped(platform, &names)).await.is_err() {
        return Err(Trouble::No(format!(
            "it has not stopped after {}s; `orchestra get` shows how it fares",
            STOP.as_secs()
        )));
    }
    ui::say("Stopped; the data stays. `orchestra up` goes on, `orchestra down --rm` removes everything.");
    Ok(Exit::Yes)
}

/// Waits until nothing of these workloads runs.
async fn until_stopped(platform: &Platform, names: &[String]) {
    let (news, mut told) = mpsc::channel(16);
    let watching = tokio::spawn(watch(platform.clone(), news));
    let mut left: BTreeSet<&String> = names.iter().collect();
    while !left.is_empty()
        && let Some(news) = told.recv().await
    {
        match news {
            News::Workload(workload) => {
                let runtime = show::condition(&workload, ConditionType::RuntimeReady);
                if runtime.is_some_and(|runtime| runtime.message.contains(SUSPENDED)) {
                    left.remove(&workload.name_any());
                }
            }
            News::Gone(name) => drop(left.remove(&name)),
            News::Listed(there) => left.retain(|name| there.contains(*name)),
            News::Output(..) | News::Lost => {}
        }
    }
    watching.abort();
}

/// Opens the endpoint of a workload in a browser. Answers whether it has one.
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
        ui::say(&format!("{endpoint} could not be opened with `{program}`: {error}"));
    }
    true
}

fn closed(error: &std::io::Error) -> Trouble {
    Trouble::No(format!("failed to write: {error}"))
}
