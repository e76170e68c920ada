//! Keeps one server running: finds it again after a crash of the platform, starts it, asks until it answers, starts it
//! again when it ends, stops it when nobody needs it. What the server is, its [`Program`] says.

use std::{
    fmt,
    fs::{self, Permissions},
    io,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use futures_util::future::BoxFuture;
use tokio::{
    sync::watch,
    task::JoinSet,
    time::{Instant, sleep},
};

use super::{port, runs::Runs};
use crate::process;

/// How soon it is asked for the first time whether it answers, and how long at most between two questions.
const ASKING: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(500));
/// How soon it is started again after the first failure, and how long at most between two attempts.
const AGAIN: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(30));
/// How soon it is looked again for what this machine lacks.
const LOOK_AGAIN: Duration = Duration::from_secs(5);
/// How long a server must have been up before its end is the first again.
const PROVEN: Duration = Duration::from_secs(10);

/// What a server is.
pub(super) trait Program: Send + Sync + 'static {
    /// As users call it.
    fn name(&self) -> &'static str;

    /// Makes ready what it needs, and answers with the command that starts it on a port. Called only while it is down.
    fn prepare(&self, port: u16) -> BoxFuture<'_, Result<Vec<String>, Trouble>>;

    /// Whether it answers.
    fn answers(&self, port: u16) -> BoxFuture<'_, bool>;

    /// Whether one that was found running is as it would be started now.
    fn fits(&self, port: u16) -> bool;

    /// What else is done to one that was told to stop.
    fn hasten(&self, run: &Path) -> io::Result<()>;
}

/// Why a server cannot be started.
#[derive(Debug)]
pub(super) enum Trouble {
    /// It cannot be had here; a sentence with the remedy.
    Lacking(String),
    /// Something failed, and may work later; part of a sentence.
    Failed(String),
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

/// How a server fares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// It has not been up yet, as far as this platform knows.
    Starting(String),
    /// It answers.
    Up {
        /// Where, on the loopback address.
        port: u16,
    },
    /// It was up, and is being started again.
    Down(String),
    /// It cannot be had here.
    Lacking(String),
    /// It is down, as it should be.
    Stopped,
}

/// Keeps one server; for as long as this is held. The server itself stays.
pub(super) struct Attendant {
    name: &'static str,
    wanted: watch::Sender<bool>,
    stage: Arc<watch::Sender<Stage>>,
    _task: JoinSet<()>,
}

impl fmt::Debug for Attendant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attendant").field("stage", &*self.stage.borrow()).finish_non_exhaustive()
    }
}

impl Attendant {
    /// Begins to keep a server whose runs and port are kept in a folder. `tell` is called when something has changed.
    pub(super) fn begin(
        program: Arc<dyn Program>,
        folder: PathBuf,
        runs: Runs,
        wanted: bool,
        tell: impl Fn() + Send + Sync + 'static,
    ) -> Self {
        let (wanted, wishes) = watch::channel(wanted);
        let name = program.name();
        let stage = Arc::new(watch::Sender::new(Stage::Starting(starting(name))));
        let watch = Watch { program, folder, runs, stage: Arc::clone(&stage), tell: Box::new(tell) };
        let mut task = JoinSet::new();
        task.spawn(watch.keep(wishes));
        Self { name, wanted, stage, _task: task }
    }

    /// Whether the server is to be up. From the moment that it is, it does not count as stopped.
    pub(super) fn want(&self, up: bool) {
        if up {
            self.stage.send_if_modified(|stage| {
                let is_stopped = *stage == Stage::Stopped;
                if is_stopped {
                    *stage = Stage::Starting(starting(self.name));
                }
                is_stopped
            });
        }
        self.wanted.send_if_modified(|wanted| std::mem::replace(wanted, up) != up);
    }

    /// How it fares.
    pub(super) fn stage(&self) -> Stage {
        self.stage.borrow().clone()
    }
}

/// What is said of a server that is on its way.
pub(super) fn starting(name: &str) -> String {
    format!("{name} is being started.")
}

/// Makes the folder of a server, for the user of the platform alone.
pub(super) fn make_folder(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    fs::set_permissions(folder, Permissions::from_mode(0o700))
}

/// The task.
struct Watch {
    program: Arc<dyn Program>,
    folder: PathBuf,
    runs: Runs,
    stage: Arc<watch::Sender<Stage>>,
    tell: Box<dyn Fn() + Send + Sync>,
}

impl Watch {
    async fn keep(self, mut wishes: watch::Receiver<bool>) {
        let mut failures = 0;
        loop {
            let is_wanted = *wishes.borrow_and_update();
            let act = async {
                if is_wanted {
                    let (trouble, was_up) = self.run().await;
                    failures = if was_up.is_some_and(|up| up >= PROVEN) { 1 } else { failures + 1 };
                    self.wait(trouble, failures).await;
                } else if let Err(error) = self.bring_down().await {
                    let name = self.program.name();
                    tracing::warn!(server = name, %error, "a server could not be stopped");
                    sleep(LOOK_AGAIN).await;
                } else {
                    failures = 0;
                    self.say(Stage::Stopped);
                    std::future::pending::<()>().await;
                }
            };
            tokio::select! {
                biased;
                changed = wishes.changed() => if changed.is_err() { return },
                () = act => {}
            }
        }
    }

    /// Finds or starts it, and stays until it has ended; what was wrong, and for how long it was up.
    async fn run(&self) -> (Trouble, Option<Duration>) {
        if *self.stage.borrow() == Stage::Stopped {
            self.say(Stage::Starting(starting(self.program.name())));
        }
        let (run, port) = match self.find_or_start().await {
            Ok(begun) => begun,
            Err(trouble) => return (trouble, None),
        };
        let is_answering = tokio::select! {
            ended = process::ended(&run) => ended.err().map(Trouble::from),
            () = self.until_it_answers(port) => Some(Trouble::Failed("it ended unexpectedly".to_owned())),
        };
        let Some(trouble) = is_answering else {
            let why = format!("it ended while it was starting, and what it wrote is in `{}`", run.display());
            return (Trouble::Failed(why), None);
        };
        let since = Instant::now();
        self.say(Stage::Up { port });
        let trouble = process::ended(&run).await.err().map_or(trouble, Trouble::from);
        (trouble, Some(since.elapsed()))
    }

    async fn find_or_start(&self) -> Result<(PathBuf, u16), Trouble> {
        if let Some(run) = self.runs.running().await? {
            match port::kept(&self.folder) {
                Some(port) if self.program.fits(port) => return Ok((run, port)),
                _ => self.bring_down().await?,
            }
        }
        make_folder(&self.folder)?;
        let port = port::choose(&self.folder).await?;
        let words = self.program.prepare(port).await?;
        Ok((self.runs.start(words).await.map_err(Trouble::Failed)?, port))
    }

    async fn until_it_answers(&self, port: u16) {
        let mut pause = ASKING.0;
        while !self.program.answers(port).await {
            sleep(pause).await;
            pause = (pause * 2).min(ASKING.1);
        }
    }

    /// Says what is wrong, and lets some time go by.
    async fn wait(&self, trouble: Trouble, failures: u32) {
        let name = self.program.name();
        match trouble {
            Trouble::Lacking(why) => {
                self.say(Stage::Lacking(why));
                sleep(LOOK_AGAIN).await;
            }
            Trouble::Failed(why) => {
                let why = why.trim_end_matches('.');
                tracing::warn!(server = name, why, "a server is not up");
                let message = format!("{name} is started again: {why}.");
                let was_up = matches!(*self.stage.borrow(), Stage::Up { .. } | Stage::Down(_));
                self.say(if was_up { Stage::Down(message) } else { Stage::Starting(message) });
                sleep((AGAIN.0 * 2_u32.saturating_pow(failures.saturating_sub(1))).min(AGAIN.1)).await;
            }
        }
    }

    /// Stops it, and waits until nothing of it is left.
    async fn bring_down(&self) -> io::Result<()> {
        while let Some(run) = self.runs.running().await? {
            process::stop(&run)?;
            self.program.hasten(&run)?;
            process::ended(&run).await?;
        }
        Ok(())
    }

    fn say(&self, stage: Stage) {
        let is_new = self.stage.send_if_modified(|now| {
            let is_new = *now != stage;
            *now = stage;
            is_new
        });
        if is_new {
            (self.tell)();
        }
    }
}
