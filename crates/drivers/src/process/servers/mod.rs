//! Databases and caches for claims: servers of this machine, supervised as Workloads are, and like them they survive the
//! platform. Installed programs are used; nothing is downloaded.
//!
//! ```text
//! Servers ─┬─ Postgres ── Databases (one per version) ── Attendant ── runs ── shim ── postgres
//!          └─ Redis (one per instance) ───────────────── Attendant ── runs ── shim ── redis-server
//! ```
//!
//! They listen on the loopback address only. Passwords are the caller's: they reach a server through its socket or in a
//! file of its own that only the user can read, never as an argument.

mod attendant;
mod halt;
mod port;
mod postgres;
mod redis;
mod runs;

pub use halt::halt;

use std::{path::Path, time::Duration};

use futures_util::stream::{BoxStream, StreamExt as _};

use self::{
    postgres::{Postgres, Wanted},
    redis::Caches,
};
use super::Launcher;
use crate::{SecretText, news::News};

/// The namespace and identity of an instance.
type Id = (String, String);

/// How long a question waits for an answer that is better than "it is being started": a server that runs needs less.
const PATIENCE: Duration = Duration::from_millis(300);

/// Databases and caches for claims.
#[derive(Debug)]
pub struct Servers {
    postgres: Postgres,
    caches: Caches,
    news: News,
}

/// What an instance is.
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

/// How an instance fares. Each text is a sentence for users.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is on its way.
    Starting(String),
    /// It answers.
    Up {
        /// Where, on the loopback address.
        port: u16,
    },
    /// It was up, and is being started again.
    Down(String),
    /// It cannot be had here; with the remedy.
    Lacking(String),
}

impl Servers {
    /// The servers of a platform, with their data in its folder. Those that run go on when this is dropped.
    pub fn open(data: &Path, launcher: Launcher) -> Self {
        let data = std::path::absolute(data).unwrap_or_else(|_| data.to_owned());
        let news = News::default();
        Self {
            postgres: Postgres::new(data.join("postgres"), launcher.clone(), news.clone()),
            caches: Caches::new(data.join("instances"), launcher, news.clone()),
            news,
        }
    }

    /// Makes an instance be there, and says how far it is. Does not wait long: [`Self::changes`] tells when there is news.
    pub async fn ensure(&self, id: &(String, String), what: &Server, password: &SecretText) -> Standing {
        let mut news = self.news.listen();
        let wait = async {
            loop {
                let standing = self.ask(id, what, password).await;
                if !matches!(standing, Standing::Starting(_)) {
                    return standing;
                }
                while news.next().await.is_some_and(|about| about != *id) {}
            }
        };
        match tokio::time::timeout(PATIENCE, wait).await {
            Ok(standing) => standing,
            Err(_) => self.ask(id, what, password).await,
        }
    }

    /// Takes an instance down, and with `data` removes what it holds. Whether it is done; if not, a change will be told.
    pub async fn release(&self, id: &(String, String), type_: &str, data: bool) -> bool {
        match type_ {
            "postgres" => self.postgres.release(id, data),
            "redis" => self.caches.release(id, data).await,
            _ => true,
        }
    }

    /// The instances about which there is something new.
    pub fn changes(&self) -> BoxStream<'static, (String, String)> {
        self.news.listen()
    }

    async fn ask(&self, id: &Id, what: &Server, password: &SecretText) -> Standing {
        match what {
            Server::Postgres { database, user, version } => {
                let wanted = Wanted { database, user, version: version.as_deref() };
                self.postgres.ensure(id, wanted, password).await
            }
            Server::Redis { version } => self.caches.ensure(id, version.as_deref(), password),
        }
    }
}
