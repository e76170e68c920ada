//! `orchestra up`: from Score files to something that runs, in one command.
//!
//! It is a client like the others: it starts the platform in the background if none runs, hands it the files, and shows
//! how they fare. When it ends, what it began is stopped, and can be begun again; the data stays.

mod board;
mod files;
pub(super) mod home;
mod screen;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

use futures_util::{StreamExt, TryStreamExt, stream::BoxStream};
use k8s_openapi::jiff::Timestamp;
use kube::{
    ResourceExt,
    api::{ListParams, WatchEvent, WatchParams},
};
use orchestra_api::{Condition, ConditionStatus, ConditionType, Reason, Workload, plan::SUSPENDED};
use tokio::{sync::mpsc, task::JoinHandle};

use self::{files::Files, screen::Screen};
use super::{
    apply::{self, Described},
    down,
    home::ENV_FILE,
    logs::Wish,
    platform::{self, Platform, Trouble},
    serve::asked_to_stop,
    show,
    wait::{self, Goals},
};
use crate::{
    args::{Documents, Goal, Up, data_dir},
    exit::Exit,
    ui,
};

/// How often it is looked whether a file was edited.
const LOOK: Duration = Duration::from_millis(200);
/// How long what was begun may take to stop.
const STOP: Duration = Duration::from_mins(1);
/// How long everything may take to become ready, where that is awaited.
const READY: Duration = Duration::from_mins(10);

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
    let mut session = Session {
        platform,
        documents,
        screen: Screen::new(),
        workloads: BTreeMap::new(),
        told: BTreeMap::new(),
        is_open: !args.open,
        since: Timestamp::now(),
    };
    session.apply(described).await?;
    if args.detach {
        let names = session.workloads.keys().cloned().collect();
        return wait::wait(&session.platform, Goals { names, goal: Goal::Ready, timeout: READY }).await;
    }
    let ended = session.follow().await;
    if args.keep {
        session.write(&["Everything runs on; `orchestra down` stops it.".to_owned()])?;
    } else {
        let names = session.workloads.keys().cloned().collect();
        stop(&session.platform, names, args.rm).await?;
        home::end(&session.platform, &data).await;
    }
    ended.map(|()| Exit::Yes)
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
    documents: Documents,
    screen: Screen,
    /// The workloads of the files, as they were last seen.
    workloads: BTreeMap<String, Workload>,
    /// What was last told of each.
    told: BTreeMap<String, String>,
    /// Whether the endpoint was opened, or need not be.
    is_open: bool,
    /// From when on their output is shown.
    since: Timestamp,
}

/// Something that happened.
enum News {
    /// A workload has changed.
    Workload(Box<Workload>),
    /// A line of output.
    Output(String),
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

    /// Follows the workloads until the user wants to end.
    async fn follow(&mut self) -> Result<(), Trouble> {
        let (news, mut told) = mpsc::channel(256);
        let watching = tokio::spawn(watch(self.platform.clone(), news.clone()));
        let mut outputs: BTreeMap<String, JoinHandle<()>> = BTreeMap::new();
        let mut files = Files::see(self.watched());
        let mut look = tokio::time::interval(LOOK);
        let mut stop = std::pin::pin!(asked_to_stop());
        loop {
            for name in self.workloads.keys() {
                if !outputs.contains_key(name) {
                    let prefixed = self.workloads.len() > 1;
                    let output =
                        output(self.platform.clone(), name.clone(), prefixed, self.since, news.clone());
                    outputs.insert(name.clone(), tokio::spawn(output));
                }
            }
            tokio::select! {
                () = &mut stop => break,
                Some(news) = told.recv() => self.take(news)?,
                _ = look.tick() => {
                    if files.have_changed() {
                        self.apply_again().await?;
                    }
                }
            }
        }
        watching.abort();
        outputs.values().for_each(JoinHandle::abort);
        Ok(())
    }

    /// The files whose edits matter.
    fn watched(&self) -> Vec<PathBuf> {
        let beside = self.documents.files.iter().map(|file| file.with_file_name(ENV_FILE));
        let files = self.documents.files.iter().chain(&self.documents.overrides_file).cloned();
        files.chain(beside).filter(|file| file.as_os_str() != "-").collect()
    }

    /// A file was edited: what is wrong with it is shown, and what runs runs on.
    async fn apply_again(&mut self) -> Result<(), Trouble> {
        match apply::described(&self.documents) {
            Ok(described) => {
                self.write(&["A file was edited; applying it.".to_owned()])?;
                match self.apply(described).await {
                    Err(Trouble::No(why)) => self.write(&[format!("error: {why}")]),
                    other => other,
                }
            }
            Err(_) => self.write(&["What ran before runs on; correct the file to go on.".to_owned()]),
        }
    }

    fn take(&mut self, news: News) -> Result<(), Trouble> {
        match news {
            News::Output(line) => self.write(&[line]),
            News::Workload(workload) => {
                let name = workload.name_any();
                if !self.workloads.contains_key(&name) {
                    return Ok(());
                }
                let line = board::news(&workload);
                if board::is_ready(&workload) && !self.is_open {
                    self.is_open = true;
                    open(&workload);
                }
                self.workloads.insert(name.clone(), *workload);
                if !self.screen.is_terminal() && self.told.get(&name) != Some(&line) {
                    self.write(std::slice::from_ref(&line))?;
                    self.told.insert(name, line);
                }
                let all: Vec<_> = self.workloads.values().cloned().collect();
                self.screen.draw(board::lines(&all)).map_err(|error| closed(&error))
            }
        }
    }

    fn write(&mut self, lines: &[String]) -> Result<(), Trouble> {
        self.screen.write(lines).map_err(|error| closed(&error))
    }
}

/// Stops workloads, and waits until they are; with `remove`, also what was made for them goes.
pub(super) async fn stop(platform: &Platform, names: Vec<String>, remove: bool) -> Result<(), Trouble> {
    if names.is_empty() {
        return Ok(());
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
        wait::wait(platform, Goals { names, goal: Goal::Deleted, timeout: STOP }).await?;
        ui::say("Stopped, and removed.");
        return Ok(());
    }
    if tokio::time::timeout(STOP, until_stopped(platform, &names)).await.is_err() {
        return Err(Trouble::No(format!(
            "it has not stopped after {}s; `orchestra get` shows how it fares",
            STOP.as_secs()
        )));
    }
    ui::say("Stopped; the data stays. `orchestra up` goes on, `orchestra down --rm` removes everything.");
    Ok(())
}

/// Waits until nothing of these workloads runs.
async fn until_stopped(platform: &Platform, names: &[String]) {
    let (news, mut told) = mpsc::channel(16);
    let watching = tokio::spawn(watch(platform.clone(), news));
    let mut left: Vec<&String> = names.iter().collect();
    while let Some(News::Workload(workload)) = told.recv().await {
        // What could never be planned never ran.
        let is_over = |runtime: &Condition| {
            let was_planned = matches!(runtime.reason, Reason::RuntimeProvisioning | Reason::RuntimeDegraded);
            runtime.message.contains(SUSPENDED) || !was_planned && runtime.status != ConditionStatus::True
        };
        if show::condition(&workload, ConditionType::RuntimeReady).is_none_or(is_over) {
            left.retain(|name| **name != workload.name_any());
        }
        if left.is_empty() {
            break;
        }
    }
    watching.abort();
}

/// Tells of every change of a workload in the namespace.
async fn watch(platform: Platform, news: mpsc::Sender<News>) {
    let api = platform.workloads();
    loop {
        if let Ok(listed) = api.list(&ListParams::default()).await {
            let version = listed.metadata.resource_version.clone().unwrap_or_default();
            for workload in listed {
                if news.send(News::Workload(Box::new(workload))).await.is_err() {
                    return;
                }
            }
            if let Ok(events) = api.watch(&WatchParams::default(), &version).await {
                let mut events: BoxStream<'_, _> = events.boxed();
                while let Ok(Some(event)) = events.try_next().await {
                    let (WatchEvent::Added(workload) | WatchEvent::Modified(workload)) = event else {
                        continue;
                    };
                    if news.send(News::Workload(Box::new(workload))).await.is_err() {
                        return;
                    }
                }
            }
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Tells what a workload writes, with its name before each line where there are several. Goes on where it was when the
/// platform was away.
async fn output(
    platform: Platform,
    name: String,
    prefixed: bool,
    mut since: Timestamp,
    news: mpsc::Sender<News>,
) {
    loop {
        let wish = Wish { since: Some(since), follow: true, ..Wish::default() };
        if let Ok(mut lines) = platform.logs(&name, &wish).await {
            while let Some(Ok(line)) = lines.next().await {
                since = line.time.checked_add(Duration::from_nanos(1)).unwrap_or(line.time);
                let text = ui::printable(&line.text);
                let text = if prefixed { format!("{name} | {text}") } else { format!("| {text}") };
                if news.send(News::Output(text)).await.is_err() {
                    return;
                }
            }
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Opens the endpoint of a workload in a browser.
fn open(workload: &Workload) {
    let Some(endpoint) = workload.status.as_ref().and_then(|status| status.endpoint.as_deref()) else {
        return;
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
}

fn closed(error: &std::io::Error) -> Trouble {
    Trouble::No(format!("failed to write: {error}"))
}
