//! One postgres server and its folder: made when it is first needed, as a whole or not at all; on the loopback address
//! for roles with their passwords, and on a socket in its own folder for the platform.
//!
//! | in the folder | what it is |
//! |---|---|
//! | `data` | what the server keeps |
//! | `instances.json` | who has a database in it ([`super::book`]) |
//! | `port.json` | where it listens |
//! | `runs` | its last runs, with their logs |
//! | `new.*`, `gone.*` | leftovers of something that was being made or removed |

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    process::{Output, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
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
    servers::attendant::{Program, Trouble},
    unprivileged,
};

/// Who may come from where. Nobody else may.
const WHO: &str = "local all postgres trust\nhost all all 127.0.0.1/32 scram-sha-256\n";

/// How the server is set: small, since it serves one developer, and safe, since it keeps data. A statement that fails is
/// not written to the log: it may hold a password.
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

/// How long an answer may take.
const ANSWER: Duration = Duration::from_secs(2);

/// A server of one version.
#[derive(Clone, Debug)]
pub(super) struct Cluster {
    pub(super) folder: PathBuf,
    pub(super) major: u32,
    pub(super) launcher: Launcher,
}

impl Cluster {
    /// What the server keeps.
    pub(super) fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// Takes away what the server keeps, at once. It must be down. Answers with what is now to be removed.
    pub(super) fn take_data_away(&self) -> io::Result<Option<PathBuf>> {
        let gone = self.aside("gone");
        match fs::rename(self.data(), &gone) {
            Ok(()) => Ok(Some(gone)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Removes what was left half made or half removed.
    fn tidy(&self) {
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let is_leftover =
                name.to_str().is_some_and(|name| name.starts_with("new.") || name.starts_with("gone."));
            // What somebody still writes to is removed the next time.
            if is_leftover && let Err(error) = fs::remove_dir_all(entry.path()) {
                tracing::warn!(folder = %entry.path().display(), %error, "a leftover could not be removed");
            }
        }
    }

    /// A path that nobody has used, for something that is moved when it is whole.
    fn aside(&self, what: &str) -> PathBuf {
        static NUMBERS: AtomicU32 = AtomicU32::new(0);
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        self.folder.join(format!("{what}.{}.{number}", std::process::id()))
    }

    async fn make_ready(&self, port: u16) -> Result<Vec<String>, Trouble> {
        let found = installed::look(&self.launcher).await;
        let programs = found.choose(Some(self.major)).map_err(Trouble::Lacking)?;
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

    /// Makes what the server keeps: aside, and moved into place when it is whole and on disk.
    async fn make_data(&self, programs: &Path) -> Result<(), Trouble> {
        self.tidy();
        // The first sorts and compares letters of all languages; not every machine has it.
        for locale in ["C.UTF-8", "C"] {
            let aside = self.aside("new");
            let made = self.init(&programs.join("initdb"), &aside, locale).await?;
            if made.status.success() {
                let (cluster, whole) = (self.clone(), aside);
                let moved = tokio::task::spawn_blocking(move || cluster.move_in(&whole)).await;
                return Ok(moved.map_err(io::Error::other)??);
            }
            if locale == "C" {
                let said = String::from_utf8_lossy(&made.stderr);
                let last = said.lines().rfind(|line| line.contains("error")).unwrap_or_default();
                return Err(Trouble::Failed(format!("its folder could not be made ({last})")));
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
        fs::write(made.join("pg_hba.conf"), WHO)?;
        let folder = File::open(&self.folder)?;
        // Once for all of its thousand files.
        rustix::fs::syncfs(&folder)?;
        fs::rename(made, self.data())?;
        folder.sync_all()
    }

    /// Removes the lock of a server that is gone, if its number has passed to another process: the server would take that
    /// for its predecessor. Otherwise it finds out itself, and better: it also sees those that its predecessor left.
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

impl Program for Cluster {
    fn name(&self) -> &'static str {
        "postgres"
    }

    fn prepare(&self, port: u16) -> BoxFuture<'_, Result<Vec<String>, Trouble>> {
        Box::pin(self.make_ready(port))
    }

    fn answers(&self, port: u16) -> BoxFuture<'_, bool> {
        Box::pin(async move {
            let asked = tokio::time::timeout(ANSWER, Connection::open(&self.data(), port)).await;
            matches!(asked, Ok(Ok(_)))
        })
    }

    fn fits(&self, _port: u16) -> bool {
        true
    }

    /// Told to stop, the server waits until everybody has left. With this it sends them away.
    fn hasten(&self, run: &Path) -> io::Result<()> {
        interrupt(run)
    }
}

/// Tells a server that was told to stop that it need not wait for its clients.
pub(in crate::process::servers) fn interrupt(run: &Path) -> io::Result<()> {
    let Some(run) = Run::read(run)? else { return Ok(()) };
    let (Some(_held), Some(pid)) = (identity::hold_shim(&run)?, run.program) else { return Ok(()) };
    let Some(server) = identity::hold(pid)? else { return Ok(()) };
    // A number that has passed to another is not that of a child of the supervisor.
    if identity::Stat::of(pid)?.is_some_and(|stat| stat.parent == run.shim) {
        // One that is gone needs no haste.
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
    fn a_lock_whose_number_has_passed_to_another_is_removed_and_others_are_left() {
        let folder = tempfile::tempdir().unwrap();
        let cluster = cluster(folder.path());
        let (lock, socket) = (cluster.data().join("postmaster.pid"), cluster.data().join(".s.PGSQL.1.lock"));
        fs::write(&lock, format!("{}\n/somewhere\n", std::process::id())).unwrap();
        fs::write(&socket, "").unwrap();
        cluster.clear_stale_lock().unwrap();
        assert!(!lock.exists() && !socket.exists());
        // No process has this number: the server finds out itself.
        fs::write(&lock, format!("{}\n", u32::MAX)).unwrap();
        cluster.clear_stale_lock().unwrap();
        assert!(lock.exists());
    }

    #[test]
    fn what_is_half_made_or_half_removed_is_tidied_up() {
        let folder = tempfile::tempdir().unwrap();
        let cluster = cluster(folder.path());
        fs::create_dir(folder.path().join("new.1.1")).unwrap();
        fs::write(cluster.data().join("file"), "").unwrap();
        let gone = cluster.take_data_away().unwrap().unwrap();
        assert!(gone.join("file").exists() && !cluster.data().exists());
        assert_eq!(cluster.take_data_away().unwrap(), None);
        cluster.tidy();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
