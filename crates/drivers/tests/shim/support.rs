//! Fixture: folder of a run, launch specs, and queries.

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
use orchestra_drivers::process::{self, End, Exit, LaunchSpec, Launcher, Line, LogLimits, MARKER, State};

/// Name and function of a test.
pub(crate) type Test = (&'static str, fn());

/// Declares the tests of a module by the names of their functions.
macro_rules! tests {
    ($($name:ident),* $(,)?) => {
        pub(crate) const TESTS: &[crate::shim::support::Test] = &[$((stringify!($name), $name)),*];
    };
}
pub(crate) use tests;

/// Runs a future to completion.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

pub(crate) fn launcher() -> Launcher {
    Launcher { program: std::env::current_exe().unwrap() }
}

/// Folder of a run, in a temporary folder.
pub(crate) struct RunDir {
    root: tempfile::TempDir,
    pub(crate) folder: PathBuf,
}

impl RunDir {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::set_permissions(root.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let folder = root.path().join("run");
        fs::create_dir(&folder).unwrap();
        Self { root, folder }
    }

    /// Path beside the folder of the run.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    pub(crate) async fn launch(&self, spec: &LaunchSpec) {
        launcher().launch(&self.folder, spec).await.unwrap();
    }

    /// Launches a program and waits for its exit.
    pub(crate) async fn run(&self, spec: &LaunchSpec) -> Exit {
        self.launch(spec).await;
        self.exit().await
    }

    /// Waits for the exit.
    pub(crate) async fn exit(&self) -> Exit {
        match process::wait(&self.folder).await.unwrap() {
            State::Ended(exit) => exit,
            other => panic!("no exit: {other:?}"),
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

    /// Waits for a line of output.
    pub(crate) async fn until(&self, text: &str) {
        let mut lines = self.follow();
        while let Some(line) = lines.next().await {
            if line.unwrap().text == text {
                return;
            }
        }
        panic!("it exited without writing `{text}`: {:?}, {:?}", self.log(), self.find());
    }
}

pub(crate) fn texts(lines: Vec<Line>) -> Vec<String> {
    lines.into_iter().map(|line| line.text).collect()
}

/// Launch spec of a shell script.
pub(crate) fn script(text: &str) -> LaunchSpec {
    spec("sh", &["-c", text])
}

pub(crate) fn spec(program: &str, args: &[&str]) -> LaunchSpec {
    static RUNS: AtomicU32 = AtomicU32::new(0);
    LaunchSpec {
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

/// Remaining processes of a run.
pub(crate) fn remaining(spec: &LaunchSpec) -> Vec<i32> {
    let marker = format!("{MARKER}={}", spec.run).into_bytes();
    let numbers =
        fs::read_dir("/proc").unwrap().filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
    numbers
        .filter(|pid: &i32| {
            fs::read(format!("/proc/{pid}/environ"))
                .is_ok_and(|variables| variables.split(|byte| *byte == 0).any(|variable| variable == marker))
        })
        .collect()
}

/// Contents of all files in a folder, concatenated.
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
        ref other => panic!("no exit code: {other:?}"),
    }
}
