//! A platform's folder, and what tests ask of the servers in it.

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
        servers::{Server, Servers, Standing},
    },
};

/// A test, by its name.
pub(crate) type Test = (&'static str, fn());

/// Lists tests by the names of their functions.
macro_rules! tests {
    ($($name:ident),* $(,)?) => {
        pub(crate) const TESTS: &[crate::servers::support::Test] = &[$((stringify!($name), $name)),*];
    };
}
pub(crate) use tests;

/// More than anything here takes.
const PATIENCE: Duration = Duration::from_mins(2);

/// Runs what waits.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// The folder of a platform. Nothing runs in it once it is dropped.
pub(crate) struct Place(tempfile::TempDir);

impl Place {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// The data of the platform, in a folder too deep for the address of a socket.
    pub(crate) fn data(&self) -> PathBuf {
        let data = self.0.path().join("deep".repeat(30));
        fs::create_dir_all(&data).unwrap();
        data
    }

    /// The servers, as a platform that just started has them.
    pub(crate) fn servers(&self) -> Servers {
        Servers::open(&self.data(), Launcher { program: std::env::current_exe().unwrap() })
    }

    /// Everything that ever ran here and is kept.
    pub(crate) fn runs(&self) -> Vec<PathBuf> {
        let mut runs = Vec::new();
        gather(self.0.path(), &mut runs);
        runs
    }

    /// What runs here now.
    pub(crate) fn running(&self) -> Vec<Run> {
        let states = self.runs().into_iter().map(|run| process::find(&run).unwrap());
        states.filter_map(|state| if let State::Running(run) = state { Some(run) } else { None }).collect()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        for run in self.runs() {
            process::stop(&run).unwrap();
            // There is nobody to wait for at the end of a test.
            if let Some(program) = Run::read(&run).unwrap().and_then(|run| run.program)
                && matches!(process::find(&run), Ok(State::Running(_)))
            {
                let _ = Command::new("kill").args(["-INT", &program.to_string()]).output();
            }
            block_on(process::ended(&run)).unwrap();
        }
    }
}

/// The folders of runs in a folder.
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

/// An instance with its password.
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
            // With signs that mean something to whoever does not quote them.
            password: format!("secret'{name}\"\\%"),
        }
    }

    pub(crate) async fn ask(&self, servers: &Servers) -> Standing {
        let password = SecretText::new(self.password.clone().into_bytes());
        servers.ensure(&self.id, &self.what, &password).await
    }

    /// Asks until it fares so.
    pub(crate) async fn until(&self, servers: &Servers, is_so: impl Fn(&Standing) -> bool) -> Standing {
        let wait = async {
            let mut changes = servers.changes();
            loop {
                let standing = self.ask(servers).await;
                if is_so(&standing) {
                    return standing;
                }
                changes.next().await.unwrap();
            }
        };
        let Ok(standing) = tokio::time::timeout(PATIENCE, wait).await else {
            panic!("it stays so: {:?}", self.ask(servers).await)
        };
        standing
    }

    /// Asks until it is up; where.
    pub(crate) async fn up(&self, servers: &Servers) -> u16 {
        match self.until(servers, |standing| matches!(standing, Standing::Up { .. })).await {
            Standing::Up { port } => port,
            other => panic!("not up: {other:?}"),
        }
    }

    /// Releases it until that is done.
    pub(crate) async fn release(&self, servers: &Servers, type_: &str, data: bool) {
        let wait = async {
            let mut changes = servers.changes();
            while !servers.release(&self.id, type_, data).await {
                changes.next().await.unwrap();
            }
        };
        tokio::time::timeout(PATIENCE, wait).await.unwrap();
    }

    /// Runs statements as the role, over the network.
    pub(crate) fn psql(&self, port: u16, statements: &str) -> Output {
        let Server::Postgres { database, user, .. } = &self.what else { panic!("no database") };
        psql(port, database, user, &self.password, statements)
    }

    /// What statements answer.
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

/// Everything in a folder, as one piece.
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
