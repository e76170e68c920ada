//! Databases and caches for claims: servers of this machine, supervised like the programs of Workloads, and like them they
//! survive the platform. Installed servers are used; nothing is downloaded.
//!
//! ```text
//! Servers ─┬─ Postgres ── Databases (one per version) ─┐
//!          └─ Caches (one per instance) ───────────────┴─ ServerSupervisor ── Program ── shim ── server
//! ```
//!
//! They listen on the loopback address only. Passwords come from the caller, and reach a server through its socket or in a
//! file that only the user can read, never as an argument.

mod not_installed;
mod port;
mod postgres;
mod redis;
mod server_supervisor;
mod shutdown;

pub use shutdown::shutdown;

use std::{path::Path, time::Duration};

use futures_util::stream::{BoxStream, StreamExt as _};

use self::{
    postgres::{Postgres, RequestedDatabase},
    redis::Caches,
};
use super::Launcher;
use crate::{NamespacedName, SecretText, notify::Notifier};

/// Longest wait for a server that is starting: one whose data exists is ready sooner, and the claim is bound at once.
const ENSURE_TIMEOUT: Duration = Duration::from_millis(300);

/// Interval of checks whether a missing server or version was installed; nothing announces it.
const INSTALL_CHECK_INTERVAL: Duration = Duration::from_secs(5);
/// Longest time of one readiness check.
const READY_CHECK_TIMEOUT: Duration = Duration::from_secs(2);

/// Databases and caches for claims.
#[derive(Debug)]
pub struct Servers {
    postgres: Postgres,
    caches: Caches,
    notifier: Notifier,
}

/// Requested server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Server {
    /// A database, and a role that owns it.
    Postgres {
        /// The name of the database.
        database: String,
        /// The name of the role.
        user: String,
        /// The major version; any, if none is given.
        version: Option<String>,
    },
    /// A cache of its own.
    Redis {
        /// The major version; any, if none is given.
        version: Option<String>,
    },
}

/// Status of an instance. Each text is a sentence for users.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerStatus {
    /// It is starting.
    Starting(String),
    /// It is ready.
    Up {
        /// Port on the loopback address.
        port: u16,
    },
    /// It does not work, and is retried: it was ready and is being restarted, or its data cannot be read.
    Down(String),
    /// It cannot be run on this machine; with the remedy.
    Unavailable(String),
}

impl Servers {
    /// Servers of a platform, with their data in its folder. They keep running when this is dropped.
    pub fn open(data: &Path, launcher: Launcher) -> Self {
        let data = std::path::absolute(data).unwrap_or_else(|_| data.to_owned());
        let notifier = Notifier::default();
        Self {
            postgres: Postgres::new(data.join("postgres"), launcher.clone(), notifier.clone()),
            caches: Caches::new(data.join("instances"), launcher, notifier.clone()),
            notifier,
        }
    }

    /// Provides an instance, and returns its status. Does not wait long: [`Self::changes`] announces a new status.
    pub async fn ensure(&self, id: &NamespacedName, what: &Server, password: &SecretText) -> ServerStatus {
        let mut changes = self.notifier.subscribe();
        let wait = async {
            loop {
                let status = self.status(id, what, password).await;
                if !matches!(status, ServerStatus::Starting(_)) {
                    return status;
                }
                while changes.next().await.is_some_and(|about| about != *id) {}
            }
        };
        match tokio::time::timeout(ENSURE_TIMEOUT, wait).await {
            Ok(status) => status,
            Err(_) => self.status(id, what, password).await,
        }
    }

    /// Stops an instance, and with `data` deletes its data. Returns whether that is done; if not, a change is announced.
    pub async fn release(&self, id: &NamespacedName, type_: &str, data: bool) -> bool {
        match type_ {
            "postgres" => self.postgres.release(id, data),
            "redis" => self.caches.release(id, data).await,
            _ => true,
        }
    }

    /// Instances whose status has changed.
    pub fn changes(&self) -> BoxStream<'static, NamespacedName> {
        self.notifier.subscribe()
    }

    async fn status(&self, id: &NamespacedName, what: &Server, password: &SecretText) -> ServerStatus {
        match what {
            Server::Postgres { database, user, version } => {
                let wanted = RequestedDatabase { database, user, version: version.as_deref() };
                self.postgres.ensure(id, wanted, password).await
            }
            Server::Redis { version } => self.caches.ensure(id, version.as_deref(), password),
        }
    }
}
