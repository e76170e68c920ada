//! Fixture: data folder of a platform, instances, and queries.

use std::{
    fs,
    future::Future,
    path::{Path, PathBuf},
    process::{Command, Output},
    time::Duration,
};

use futures_util::StreamExt as _;
use orchestra_drivers::{
    SecretText,
    process::{
        self, Launcher, Run, State,
        servers::{Server, ServerStatus, Servers},
    },
};

/// Name and function of a test.
pub(crate) type Test = (&'static str, fn());

/// Declares the tests of a module by the names of their functions.
macro_rules! tests {
    ($($name:ident),* $(,)?) => {
        pub(crate) const TESTS: &[crate::servers::support::Test] = &[$((stringify!($name), $name)),*];
    };
}
pub(crate) use tests;

/// Timeout of a condition: more than any of them takes.
const TEST_TIMEOUT: Duration = Duration::from_mins(2);

/// Runs a future to completion.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// Data folder of a platform. Its drop stops everything that runs in it.
pub(crate) struct DataFolder(tempfile::TempDir);

impl DataFolder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// Path of the data, longer than the address of a Unix socket may be.
    pub(crate) fn data(&self) -> PathBuf {
        let data = self.0.path().join("deep".repeat(30));
        fs::create_dir_all(&data).unwrap();
        data
    }

    /// Servers of a platform that just started.
    pub(crate) fn servers(&self) -> Servers {
        Servers::open(&self.data(), Launcher { program: std::env::current_exe().unwrap() })
    }

    /// Folders of all runs, running or not.
    pub(crate) fn runs(&self) -> Vec<PathBuf> {
        let mut runs = Vec::new();
        gather(self.0.path(), &mut runs);
        runs
    }

    /// Running runs.
    pub(crate) fn running(&self) -> Vec<Run> {
        let states = self.runs().into_iter().map(|run| process::find(&run).unwrap());
        states.filter_map(|state| if let State::Running(run) = state { Some(run) } else { None }).collect()
    }
}

impl Drop for DataFolder {
    fn drop(&mut self) {
        for run in self.runs() {
            process::stop(&run).unwrap();
            // A fast shutdown of postgres: no client is worth waiting for at the end of a test.
            if let Some(program) = Run::read(&run).unwrap().and_then(|run| run.program)
                && matches!(process::find(&run), Ok(State::Running(_)))
            {
                let _ = Command::new("kill").args(["-INT", &program.to_string()]).output();
            }
            block_on(process::wait(&run)).unwrap();
        }
    }
}

/// Collects the folders of runs in a folder.
fn gather(folder: &Path, runs: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.join("run.json").exists() {
            runs.push(path);
        } else if path.is_dir() && !path.join("PG_VERSION").exists() {
            gather(&path, runs);
        }
    }
}

/// Instance with its password.
pub(crate) struct Instance {
    pub(crate) id: (String, String),
    pub(crate) what: Server,
    pub(crate) password: String,
}

impl Instance {
    pub(crate) fn postgres(name: &str) -> Self {
        Self {
            id: ("default".to_owned(), name.to_owned()),
            what: Server::Postgres {
                database: format!("db-{name}"),
                user: format!("user-{name}"),
                version: None,
            },
            // With characters that need quoting.
            password: format!("secret'{name}\"\\%"),
        }
    }

    pub(crate) async fn ensure(&self, servers: &Servers) -> ServerStatus {
        let password = SecretText::new(self.password.clone().into_bytes());
        servers.ensure(&self.id, &self.what, &password).await
    }

    /// Waits for a status. A machine without the server fails the test at once.
    pub(crate) async fn until(
        &self,
        servers: &Servers,
        matches: impl Fn(&ServerStatus) -> bool,
    ) -> ServerStatus {
        let wait = async {
            let mut changes = servers.changes();
            loop {
                let status = self.ensure(servers).await;
                if matches(&status) {
                    return status;
                }
                assert!(!matches!(status, ServerStatus::Unavailable(_)), "{status:?}");
                changes.next().await.unwrap();
            }
        };
        let Ok(status) = tokio::time::timeout(TEST_TIMEOUT, wait).await else {
            panic!("timeout with the status {:?}", self.ensure(servers).await)
        };
        status
    }

    /// Waits until it is up; returns the port.
    pub(crate) async fn until_up(&self, servers: &Servers) -> u16 {
        match self.until(servers, |status| matches!(status, ServerStatus::Up { .. })).await {
            ServerStatus::Up { port } => port,
            other => panic!("not up: {other:?}"),
        }
    }

    /// Releases the instance, and waits until that is done.
    pub(crate) async fn release(&self, servers: &Servers, type_: &str, data: bool) {
        let wait = async {
            let mut changes = servers.changes();
            while !servers.release(&self.id, type_, data).await {
                changes.next().await.unwrap();
            }
        };
        tokio::time::timeout(TEST_TIMEOUT, wait).await.unwrap();
    }

    /// Runs statements as the role, over TCP.
    pub(crate) fn psql(&self, port: u16, statements: &str) -> Output {
        let Server::Postgres { database, user, .. } = &self.what else { panic!("no database") };
        psql(port, database, user, &self.password, statements)
    }

    /// Output of statements.
    pub(crate) fn query(&self, port: u16, statements: &str) -> String {
        let output = self.psql(port, statements);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }
}

pub(crate) fn psql(port: u16, database: &str, user: &str, password: &str, statements: &str) -> Output {
    Command::new("psql")
        .args(["-h", "127.0.0.1", "-p", &port.to_string(), "-d", database, "-U", user, "-w"])
        .args(["-X", "-q", "-t", "-A", "-v", "ON_ERROR_STOP=1", "-c", statements])
        .env("PGPASSWORD", password)
        .output()
        .unwrap()
}

/// Contents of all files in a folder, concatenated.
pub(crate) fn contents(folder: &Path) -> Vec<u8> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            all.extend(contents(&entry.path()));
        } else if kind.is_file() {
            all.extend(fs::read(entry.path()).unwrap());
        }
    }
    all
}
