//! One postgres server and its folder: created when it is first needed, atomically; it listens on the loopback address for roles
//! with their passwords, and on a socket in its own folder for the platform.
//!
//! | in the folder | content |
//! |---|---|
//! | `data` | data of the server |
//! | `instances.json` | databases of instances ([`super::database_registry`]) |
//! | `port.json` | saved port |
//! | `runs` | last runs, with their logs |
//! | `new.*`, `gone.*` | leftovers of an interrupted creation or deletion |

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    process::{Output, Stdio},
    sync::atomic::{AtomicU32, Ordering},
};

use futures_util::future::BoxFuture;
use rustix::process::{Signal, pidfd_send_signal};
use tokio::process::Command;

use super::{
    installed,
    wire::{ADMIN, Connection},
};
use crate::process::{
    Launcher, Run, identity,
    servers::{
        READY_CHECK_TIMEOUT,
        server_supervisor::{ServerProgram, StartError},
    },
    unprivileged,
};

/// `pg_hba.conf`: the platform over the socket, roles with a password over the loopback address, no other clients.
const PG_HBA: &str = "local all postgres trust\nhost all all 127.0.0.1/32 scram-sha-256\n";

/// Settings: small, since it serves one developer, and durable. Failed statements are not logged: they may contain a password.
const SETTINGS: [&str; 9] = [
    "listen_addresses=127.0.0.1",
    "unix_socket_directories=.",
    "shared_buffers=16MB",
    "max_connections=50",
    "password_encryption=scram-sha-256",
    "log_min_error_statement=panic",
    "logging_collector=off",
    "fsync=on",
    "ssl=off",
];

/// Server of one version.
#[derive(Clone, Debug)]
pub(super) struct Cluster {
    pub(super) folder: PathBuf,
    pub(super) major: u32,
    pub(super) launcher: Launcher,
}

impl Cluster {
    /// Data of the server.
    pub(super) fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// Renames the data of the server, which must be down. Returns the folder that is to be deleted.
    pub(super) fn move_data_aside(&self) -> io::Result<Option<PathBuf>> {
        let gone = self.aside("gone");
        match fs::rename(self.data(), &gone) {
            Ok(()) => Ok(Some(gone)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Deletes leftovers of an interrupted creation or deletion.
    fn tidy(&self) {
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let is_leftover =
                name.to_str().is_some_and(|name| name.starts_with("new.") || name.starts_with("gone."));
            // A folder that is still written to is deleted the next time.
            if is_leftover && let Err(error) = fs::remove_dir_all(entry.path()) {
                tracing::warn!(folder = %entry.path().display(), %error, "a leftover could not be removed");
            }
        }
    }

    /// Unused path for a folder that is renamed when it is complete.
    fn aside(&self, what: &str) -> PathBuf {
        static NUMBERS: AtomicU32 = AtomicU32::new(0);
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        self.folder.join(format!("{what}.{}.{number}", std::process::id()))
    }

    async fn make_ready(&self, port: u16) -> Result<Vec<String>, StartError> {
        let found = installed::find(&self.launcher).await;
        let programs = found.choose(Some(self.major))?;
        if !self.data().exists() {
            self.make_data(&programs.folder).await?;
        }
        self.clear_stale_lock()?;
        let mut words = unprivileged::words(&self.launcher, &programs.folder.join("postgres"));
        words.extend(["-D".to_owned(), self.data().to_string_lossy().into_owned()]);
        words.extend(["-p".to_owned(), port.to_string()]);
        words.extend(SETTINGS.iter().flat_map(|setting| ["-c".to_owned(), (*setting).to_owned()]));
        Ok(words)
    }

    /// Initialises the data in a new folder, and renames it when it is complete and synced.
    async fn make_data(&self, programs: &Path) -> Result<(), StartError> {
        self.tidy();
        // The first one is preferred, since it collates all languages; not every machine has it.
        for locale in ["C.UTF-8", "C"] {
            let aside = self.aside("new");
            let made = self.init(&programs.join("initdb"), &aside, locale).await?;
            if made.status.success() {
                let (cluster, whole) = (self.clone(), aside);
                let moved = tokio::task::spawn_blocking(move || cluster.move_in(&whole)).await;
                return Ok(moved.map_err(io::Error::other)??);
            }
            if locale == "C" {
                let stderr = String::from_utf8_lossy(&made.stderr);
                let last = stderr.lines().rfind(|line| line.contains("error")).unwrap_or("no error message");
                return Err(StartError::Init { status: made.status, message: last.to_owned() });
            }
        }
        Ok(())
    }

    async fn init(&self, program: &Path, folder: &Path, locale: &str) -> io::Result<Output> {
        let words = unprivileged::words(&self.launcher, program);
        let (program, args) = words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        Command::new(program)
            .args(args)
            .arg("-D")
            .arg(folder)
            .args(["-U", ADMIN, "-E", "UTF8", "--auth=trust", "--no-sync"])
            .arg(format!("--locale={locale}"))
            .env_clear()
            .env("LC_MESSAGES", "C")
            .current_dir("/")
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output()
            .await
    }

    fn move_in(&self, made: &Path) -> io::Result<()> {
        fs::write(made.join("pg_hba.conf"), PG_HBA)?;
        let folder = File::open(&self.folder)?;
        // One sync for its thousand files.
        rustix::fs::syncfs(&folder)?;
        fs::rename(made, self.data())?;
        folder.sync_all()
    }

    /// Removes the lock file of a server that has exited, if its process id was reused: the server would take that process for its
    /// predecessor. In all other cases the server detects a stale lock itself, and also finds processes that its predecessor left.
    fn clear_stale_lock(&self) -> io::Result<()> {
        let lock = self.data().join("postmaster.pid");
        let Ok(text) = fs::read_to_string(&lock) else { return Ok(()) };
        let holder = text.lines().next().and_then(|line| line.trim().parse::<u32>().ok());
        let Some(holder) = holder else { return fs::remove_file(&lock) };
        let process = PathBuf::from(format!("/proc/{holder}"));
        let is_server = fs::read_link(process.join("cwd"))
            .is_ok_and(|folder| self.data().canonicalize().is_ok_and(|data| data == folder));
        if is_server || !process.exists() {
            return Ok(());
        }
        for entry in fs::read_dir(self.data())?.flatten() {
            if entry.file_name().to_string_lossy().starts_with(".s.PGSQL.") {
                fs::remove_file(entry.path())?;
            }
        }
        fs::remove_file(&lock)
    }
}

impl ServerProgram for Cluster {
    fn name(&self) -> &'static str {
        super::NAME
    }

    fn prepare(&self, port: u16) -> BoxFuture<'_, Result<Vec<String>, StartError>> {
        Box::pin(self.make_ready(port))
    }

    fn is_ready(&self, port: u16) -> BoxFuture<'_, bool> {
        Box::pin(async move {
            let asked = tokio::time::timeout(READY_CHECK_TIMEOUT, Connection::open(&self.data(), port)).await;
            matches!(asked, Ok(Ok(_)))
        })
    }

    fn is_current(&self, _port: u16) -> bool {
        true
    }

    /// After SIGTERM the server waits until all clients have disconnected. SIGINT disconnects them (fast shutdown).
    fn stop_fast(&self, run: &Path) -> io::Result<()> {
        interrupt(run)
    }
}

/// Disconnects the clients of a server that was asked to stop.
pub(in crate::process::servers) fn interrupt(run: &Path) -> io::Result<()> {
    let Some(run) = Run::read(run)? else { return Ok(()) };
    let (Some(_held), Some(pid)) = (identity::open_shim(&run)?, run.program) else { return Ok(()) };
    let Some(server) = identity::open(pid)? else { return Ok(()) };
    // A reused process id is not that of a child of the shim.
    if identity::Stat::of(pid)?.is_some_and(|stat| stat.parent == run.shim) {
        // It may have exited.
        let _ = pidfd_send_signal(&server, Signal::INT);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cluster(folder: &Path) -> Cluster {
        let cluster =
            Cluster { folder: folder.to_owned(), major: 15, launcher: Launcher { program: "/none".into() } };
        fs::create_dir(cluster.data()).unwrap();
        cluster
    }

    #[test]
    fn a_lock_with_a_reused_pid_is_removed_and_others_stay() {
        let folder = tempfile::tempdir().unwrap();
        let cluster = cluster(folder.path());
        let (lock, socket) = (cluster.data().join("postmaster.pid"), cluster.data().join(".s.PGSQL.1.lock"));
        fs::write(&lock, format!("{}\n/somewhere\n", std::process::id())).unwrap();
        fs::write(&socket, "").unwrap();
        cluster.clear_stale_lock().unwrap();
        assert!(!lock.exists() && !socket.exists());
        // No process has this id: the server detects it itself.
        fs::write(&lock, format!("{}\n", u32::MAX)).unwrap();
        cluster.clear_stale_lock().unwrap();
        assert!(lock.exists());
    }

    #[test]
    fn leftovers_of_interrupted_work_are_deleted() {
        let folder = tempfile::tempdir().unwrap();
        let cluster = cluster(folder.path());
        fs::create_dir(folder.path().join("new.1.1")).unwrap();
        fs::write(cluster.data().join("file"), "").unwrap();
        let gone = cluster.move_data_aside().unwrap().unwrap();
        assert!(gone.join("file").exists() && !cluster.data().exists());
        assert_eq!(cluster.move_data_aside().unwrap(), None);
        cluster.tidy();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
