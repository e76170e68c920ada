//! A place to run in, and what tests ask about it.

use std::{
    collections::BTreeMap,
    fs,
    future::Future,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use futures_util::{StreamExt as _, stream::BoxStream};
use orchestra_drivers::process::{self, End, Exit, Launcher, Line, LogLimits, MARKER, Order, State};

/// A test, by its name.
pub(crate) type Test = (&'static str, fn());

/// Lists tests by the names of their functions.
macro_rules! tests {
    ($($name:ident),* $(,)?) => {
        pub(crate) const TESTS: &[crate::shim::support::Test] = &[$((stringify!($name), $name)),*];
    };
}
pub(crate) use tests;

/// Runs what waits.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

pub(crate) fn launcher() -> Launcher {
    Launcher { program: std::env::current_exe().unwrap() }
}

/// A folder of this machine for one test.
pub(crate) struct Place {
    root: tempfile::TempDir,
    pub(crate) folder: PathBuf,
}

impl Place {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::set_permissions(root.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let folder = root.path().join("run");
        fs::create_dir(&folder).unwrap();
        Self { root, folder }
    }

    /// A path beside the folder of the run.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    pub(crate) async fn launch(&self, order: &Order) {
        launcher().launch(&self.folder, order).await.unwrap();
    }

    /// Runs to the end.
    pub(crate) async fn run(&self, order: &Order) -> Exit {
        self.launch(order).await;
        self.end().await
    }

    /// Waits for the end.
    pub(crate) async fn end(&self) -> Exit {
        match process::ended(&self.folder).await.unwrap() {
            State::Ended(exit) => exit,
            other => panic!("not ended: {other:?}"),
        }
    }

    pub(crate) fn find(&self) -> State {
        process::find(&self.folder).unwrap()
    }

    pub(crate) fn log(&self) -> Vec<String> {
        texts(process::log::read(&self.folder, None, None).unwrap())
    }

    pub(crate) fn follow(&self) -> BoxStream<'static, std::io::Result<Line>> {
        process::log::follow(&self.folder, None, None)
    }

    /// Waits until the program has written a line.
    pub(crate) async fn until(&self, text: &str) {
        let mut lines = self.follow();
        while let Some(line) = lines.next().await {
            if line.unwrap().text == text {
                return;
            }
        }
        panic!("it ended without `{text}`: {:?}, {:?}", self.log(), self.find());
    }
}

pub(crate) fn texts(lines: Vec<Line>) -> Vec<String> {
    lines.into_iter().map(|line| line.text).collect()
}

/// An order that runs a script.
pub(crate) fn script(text: &str) -> Order {
    order("sh", &["-c", text])
}

pub(crate) fn order(program: &str, args: &[&str]) -> Order {
    static RUNS: AtomicU32 = AtomicU32::new(0);
    Order {
        run: format!("test-{}-{}", std::process::id(), RUNS.fetch_add(1, Ordering::Relaxed)),
        program: program.to_owned(),
        args: args.iter().map(ToString::to_string).collect(),
        environment: BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]),
        directory: "/".into(),
        files: Vec::new(),
        mounts: Vec::new(),
        groups: Vec::new(),
        grace: Duration::from_mins(1),
        logs: LogLimits::default(),
    }
}

/// The processes that are left of a run.
pub(crate) fn left(order: &Order) -> Vec<i32> {
    let marker = format!("{MARKER}={}", order.run).into_bytes();
    let numbers =
        fs::read_dir("/proc").unwrap().filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
    numbers
        .filter(|pid: &i32| {
            fs::read(format!("/proc/{pid}/environ"))
                .is_ok_and(|variables| variables.split(|byte| *byte == 0).any(|variable| variable == marker))
        })
        .collect()
}

/// Everything in a folder, as one piece.
pub(crate) fn contents(folder: &Path) -> Vec<u8> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        all.extend(if path.is_dir() { contents(&path) } else { fs::read(path).unwrap() });
    }
    all
}

pub(crate) fn code(exit: &Exit) -> i32 {
    match exit.end {
        End::Code(code) => code,
        ref other => panic!("no code: {other:?}"),
    }
}
