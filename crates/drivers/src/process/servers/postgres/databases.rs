//! Databases of one cluster: the request of each instance, and the task that fulfils them.

use std::{
    collections::BTreeMap,
    error::Error,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{sync::Notify, task::JoinSet, time::sleep};

use super::{
    cluster::Cluster,
    database_registry::{DatabaseRegistry, Names, Retention},
    statements,
    wire::{Connection, WireError},
};
use crate::{
    NamespacedName, SecretText,
    notify::Notifier,
    process::servers::{
        ServerStatus,
        server_supervisor::{ServerProgram, ServerStage, ServerSupervisor, create_folder, starting},
    },
};

/// Retry of a request that failed; nothing announces that it would succeed.
const RETRY_INTERVAL: Duration = Duration::from_secs(2);

/// Message of a request whose password postgres cannot store.
const INVALID_PASSWORD: &str =
    "The password of the database is not valid UTF-8, or contains a NUL character: correct it in the secret.";

/// Databases of one cluster; managed until this is dropped.
#[derive(Debug)]
pub(super) struct Databases {
    manager: Arc<DatabaseManager>,
    _task: JoinSet<()>,
}

/// State that callers and the task share.
#[derive(Debug)]
struct DatabaseManager {
    cluster: Cluster,
    supervisor: ServerSupervisor,
    table: Mutex<RequestTable>,
    wakeup: Arc<Notify>,
    notifier: Notifier,
}

/// Registry and requests.
#[derive(Debug)]
struct RequestTable {
    registry: DatabaseRegistry,
    requests: BTreeMap<NamespacedName, (Request, RequestOutcome)>,
}

/// Request of an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Request {
    Use { names: Names, password: SecretText },
    Release { retention: Retention },
}

/// Error that keeps requests pending. Its `Display` is a sentence for users.
#[derive(Debug, thiserror::Error)]
enum TurnError {
    /// The registry or the data cannot be written.
    #[error("The data folder cannot be written: {0}.")]
    Data(#[from] io::Error),
    /// The server failed.
    #[error("postgres refused a statement, which is retried: {0}.")]
    Server(#[from] WireError),
}

/// Outcome of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
enum RequestOutcome {
    Pending,
    Done,
    Failed(String),
}

impl Databases {
    /// Starts to manage a cluster. One that is in use is started.
    pub(super) fn begin(cluster: Cluster, notifier: Notifier) -> io::Result<Self> {
        let registry = DatabaseRegistry::read(&cluster.folder)?;
        let wakeup = Arc::new(Notify::new());
        let on_change = Arc::clone(&wakeup);
        let program: Arc<dyn ServerProgram> = Arc::new(cluster.clone());
        let supervisor = ServerSupervisor::start(
            program,
            cluster.folder.clone(),
            &cluster.launcher,
            registry.needs_server(),
            move || {
                on_change.notify_one();
            },
        );
        let table = Mutex::new(RequestTable { registry, requests: BTreeMap::new() });
        let manager = Arc::new(DatabaseManager { cluster, supervisor, table, wakeup, notifier });
        let mut task = JoinSet::new();
        task.spawn(Arc::clone(&manager).work());
        Ok(Self { manager, _task: task })
    }

    /// True if an instance has, or is about to have, a database here.
    pub(super) fn contains(&self, id: &NamespacedName) -> bool {
        let table = self.manager.table();
        table.registry.get(id).is_some() || table.requests.contains_key(id)
    }

    /// Major version.
    pub(super) fn major(&self) -> u32 {
        self.manager.cluster.major
    }

    /// Requests a database; its status.
    pub(super) fn ensure(&self, id: &NamespacedName, names: &Names, password: &SecretText) -> ServerStatus {
        self.manager.request(id, Request::Use { names: names.clone(), password: password.clone() });
        self.manager.status(id)
    }

    /// Requests the release of a database. Returns whether that is done.
    pub(super) fn release(&self, id: &NamespacedName, data: bool) -> bool {
        if !self.contains(id) {
            return true;
        }
        self.manager.request(
            id,
            Request::Release { retention: if data { Retention::Drop } else { Retention::Kept } },
        );
        // Recorded at once: a database that is to be dropped is not kept because it is requested again before that.
        if let Err(error) = self.manager.note() {
            tracing::warn!(%error, "the release of a database could not be recorded");
            return false;
        }
        // In this order: a server that is no longer needed is notified before the request is done.
        let mut table = self.manager.table();
        let stage = self.manager.supervisor.stage();
        let is_done = table.requests.get(id).is_some_and(|(_, outcome)| *outcome == RequestOutcome::Done);
        let is_settled =
            table.needs_server() || matches!(stage, ServerStage::Stopped | ServerStage::Unavailable(_));
        if is_done && is_settled {
            table.requests.remove(id);
        }
        is_done && is_settled
    }
}

impl RequestTable {
    /// True if the server has to be up.
    fn needs_server(&self) -> bool {
        self.registry.needs_server() || self.is_asked_for()
    }

    /// True if an instance waits for a database.
    fn is_asked_for(&self) -> bool {
        self.requests.values().any(|(request, _)| matches!(request, Request::Use { .. }))
    }
}

impl DatabaseManager {
    fn table(&self) -> MutexGuard<'_, RequestTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn request(&self, id: &NamespacedName, request: Request) {
        let mut table = self.table();
        if table.requests.get(id).is_none_or(|(now, _)| *now != request) {
            table.requests.insert(id.clone(), (request, RequestOutcome::Pending));
            self.wakeup.notify_one();
        }
    }

    fn status(&self, id: &NamespacedName) -> ServerStatus {
        let stage = self.supervisor.stage();
        let table = self.table();
        let outcome = table.requests.get(id).map_or(&RequestOutcome::Pending, |(_, outcome)| outcome);
        match (stage, outcome) {
            (ServerStage::Unavailable(why), _) => ServerStatus::Unavailable(why),
            (ServerStage::Up { port }, RequestOutcome::Done) => ServerStatus::Up { port },
            (ServerStage::Up { .. }, RequestOutcome::Failed(why)) => ServerStatus::Starting(why.clone()),
            (ServerStage::Up { .. }, RequestOutcome::Pending) => {
                ServerStatus::Starting("Creating the database.".to_owned())
            }
            (ServerStage::Down(why), RequestOutcome::Done) => ServerStatus::Down(why),
            (ServerStage::Starting(why) | ServerStage::Down(why), _) => ServerStatus::Starting(why),
            (ServerStage::Stopped, _) => ServerStatus::Starting(starting(self.cluster.name())),
        }
    }

    async fn work(self: Arc<Self>) {
        let mut stage = None;
        loop {
            let now = self.supervisor.stage();
            let needs_retry = self.turn(&now).await.unwrap_or_else(|error| {
                self.fail(&error);
                true
            });
            if stage.as_ref() != Some(&now) {
                let ids: Vec<_> = self.table().requests.keys().cloned().collect();
                for id in &ids {
                    self.notifier.notify(id);
                }
                stage = Some(now);
            }
            tokio::select! {
                () = self.wakeup.notified() => {}
                () = sleep(RETRY_INTERVAL), if needs_retry => {}
            }
        }
    }

    /// Fulfils what is possible at a stage of the server. Returns true if a request has to be retried.
    async fn turn(&self, stage: &ServerStage) -> Result<bool, TurnError> {
        self.note()?;
        let mut needs_retry = false;
        self.supervisor.set_wanted(self.table().needs_server());
        match stage {
            ServerStage::Up { port } => {
                let work = self.serve(*port).await;
                self.supervisor.set_wanted(self.table().needs_server());
                needs_retry = work?;
            }
            // Checked again: the stage may be older than the last request.
            ServerStage::Stopped if self.supervisor.stage() == ServerStage::Stopped => self.clear()?,
            _ => {}
        }
        self.finish_releases(matches!(stage, ServerStage::Unavailable(_)));
        Ok(needs_retry)
    }

    /// Records the requests, before anything is done.
    fn note(&self) -> io::Result<()> {
        let mut table = self.table();
        let mut registry = table.registry.clone();
        for (id, (request, outcome)) in &table.requests {
            match request {
                _ if *outcome == RequestOutcome::Done => {}
                Request::Use { names, .. } => registry.used(id, names),
                Request::Release { retention } => registry.left(id, *retention),
            }
        }
        self.rewrite(&mut table, registry)
    }

    fn rewrite(&self, table: &mut RequestTable, registry: DatabaseRegistry) -> io::Result<()> {
        if registry != table.registry {
            create_folder(&self.cluster.folder)?;
            registry.write(&self.cluster.folder)?;
            table.registry = registry;
        }
        Ok(())
    }

    /// Sends the statements of all pending requests. Returns true if the server refused one of them, which has to be retried.
    async fn serve(&self, port: u16) -> Result<bool, TurnError> {
        let dropped = self.table().registry.to_drop();
        if dropped.is_empty() && self.pending().is_empty() {
            return Ok(false);
        }
        let mut server = Connection::open(&self.cluster.data(), port).await?;
        for (id, names) in dropped {
            statements::drop(&mut server, &names).await?;
            let mut table = self.table();
            let mut registry = table.registry.clone();
            registry.forget(&id);
            self.rewrite(&mut table, registry)?;
        }
        // Instances whose old database was dropped are now recorded with a new one.
        self.note()?;
        let mut needs_retry = false;
        for (id, request) in self.pending() {
            let Request::Use { names, password } = &request else { continue };
            let password = std::str::from_utf8(password.expose()).ok().filter(|text| !text.contains('\0'));
            let Some(password) = password else {
                // Not retried: another password is another request.
                tracing::warn!(instance = id.1, "{INVALID_PASSWORD}");
                self.settle(&id, &request, RequestOutcome::Failed(INVALID_PASSWORD.to_owned()));
                continue;
            };
            match statements::provide(&mut server, names, password).await {
                Ok(()) => self.settle(&id, &request, RequestOutcome::Done),
                // The server is ready for the statements of other instances.
                Err(error @ WireError::Refused { .. }) => {
                    let error = TurnError::Server(error);
                    tracing::warn!(
                        instance = id.1,
                        error = &error as &dyn Error,
                        "a database request failed"
                    );
                    self.settle(&id, &request, RequestOutcome::Failed(error.to_string()));
                    needs_retry = true;
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(needs_retry)
    }

    /// Deletes a cluster whose databases are all dropped. The server is down, and only this task starts it.
    fn clear(&self) -> io::Result<()> {
        let mut table = self.table();
        if table.is_asked_for() || table.registry.is_empty() || !table.registry.is_all_dropped() {
            return Ok(());
        }
        if let Some(gone) = self.cluster.move_data_aside()? {
            // Leftovers are deleted before the next cluster is created.
            tokio::task::spawn_blocking(move || std::fs::remove_dir_all(gone));
        }
        self.rewrite(&mut table, DatabaseRegistry::default())
    }

    /// Completes releases whose data is kept or deleted. Data that is to be deleted, on a machine without the server, only has to be
    /// recorded as such.
    fn finish_releases(&self, is_unavailable: bool) {
        for (id, request) in self.pending() {
            let retention = self.table().registry.get(&id).map(|entry| entry.retention);
            let is_done = match (&request, retention) {
                (Request::Use { .. }, _) | (_, Some(Retention::Used)) => false,
                (_, Some(Retention::Drop)) => is_unavailable,
                (Request::Release { retention }, Some(Retention::Kept)) => *retention == Retention::Kept,
                (Request::Release { .. }, None) => true,
            };
            if is_done {
                self.settle(&id, &request, RequestOutcome::Done);
            }
        }
    }

    /// Requests that are not done.
    fn pending(&self) -> Vec<(NamespacedName, Request)> {
        let table = self.table();
        let pending = table.requests.iter().filter(|(_, (_, outcome))| *outcome != RequestOutcome::Done);
        pending.map(|(id, (request, _))| (id.clone(), request.clone())).collect()
    }

    fn fail(&self, error: &TurnError) {
        tracing::warn!(error = error as &dyn Error, "database requests failed");
        for (id, request) in self.pending() {
            self.settle(&id, &request, RequestOutcome::Failed(error.to_string()));
        }
    }

    /// Sets the outcome of a request, unless there is another by now, and notifies.
    fn settle(&self, id: &NamespacedName, request: &Request, outcome: RequestOutcome) {
        let is_new = match self.table().requests.get_mut(id).filter(|(now, _)| now == request) {
            Some((_, now)) => {
                let is_new = *now != outcome;
                *now = outcome;
                is_new
            }
            None => false,
        };
        if is_new {
            self.notifier.notify(id);
        }
    }
}
