//! The databases of one cluster: what is wanted for each instance, and the task that brings it about.

use std::{
    collections::BTreeMap,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{sync::Notify, task::JoinSet, time::sleep};

use super::{
    book::{Book, Fate, Names},
    cluster::Cluster,
    statements,
    wire::{Connection, WireError},
};
use crate::{
    SecretText,
    news::News,
    process::servers::{
        Id, Standing,
        attendant::{Attendant, Program, Stage, make_folder, starting},
        runs::Runs,
    },
};

/// How soon something that failed is tried again.
const AGAIN: Duration = Duration::from_secs(2);

/// The databases of one cluster; looked after for as long as this is held.
#[derive(Debug)]
pub(super) struct Databases {
    office: Arc<Office>,
    _task: JoinSet<()>,
}

/// What calls and the task share.
#[derive(Debug)]
struct Office {
    cluster: Cluster,
    attendant: Attendant,
    desk: Mutex<Desk>,
    nudge: Arc<Notify>,
    news: News,
}

/// What is known of instances.
#[derive(Debug)]
struct Desk {
    book: Book,
    wishes: BTreeMap<Id, (Wish, Outcome)>,
}

/// What is wanted for an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Wish {
    Use { names: Names, password: SecretText },
    Leave { fate: Fate },
}

/// How far a wish is.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Outcome {
    Open,
    Done,
    Failed(String),
}

impl Databases {
    /// Begins to look after a cluster. One that is in use is brought up.
    pub(super) fn begin(cluster: Cluster, news: News) -> io::Result<Self> {
        let book = Book::read(&cluster.folder)?;
        let runs = Runs { folder: cluster.folder.join("runs"), launcher: cluster.launcher.clone() };
        let nudge = Arc::new(Notify::new());
        let nudged = Arc::clone(&nudge);
        let program: Arc<dyn Program> = Arc::new(cluster.clone());
        let attendant =
            Attendant::begin(program, cluster.folder.clone(), runs, book.needs_server(), move || {
                nudged.notify_one();
            });
        let desk = Mutex::new(Desk { book, wishes: BTreeMap::new() });
        let office = Arc::new(Office { cluster, attendant, desk, nudge, news });
        let mut task = JoinSet::new();
        task.spawn(Arc::clone(&office).work());
        Ok(Self { office, _task: task })
    }

    /// Whether an instance has, or is about to have, a database here.
    pub(super) fn knows(&self, id: &Id) -> bool {
        let desk = self.office.desk();
        desk.book.get(id).is_some() || desk.wishes.contains_key(id)
    }

    /// Which version it is of.
    pub(super) fn major(&self) -> u32 {
        self.office.cluster.major
    }

    /// Asks for a database; how it fares.
    pub(super) fn ensure(&self, id: &Id, names: &Names, password: &SecretText) -> Standing {
        self.office.wish(id, Wish::Use { names: names.clone(), password: password.clone() });
        self.office.standing(id)
    }

    /// Asks for the end of a database; whether it is done.
    pub(super) fn release(&self, id: &Id, data: bool) -> bool {
        if !self.knows(id) {
            return true;
        }
        self.office.wish(id, Wish::Leave { fate: if data { Fate::Doomed } else { Fate::Kept } });
        // At once: what is to go does not stay because somebody else asks for it before it has gone.
        if let Err(error) = self.office.note() {
            tracing::warn!(%error, "what is to become of a database could not be noted");
            return false;
        }
        // In this order: a server that is needed no more is told so before its wish is done.
        let mut desk = self.office.desk();
        let stage = self.office.attendant.stage();
        let is_done = desk.wishes.get(id).is_some_and(|(_, outcome)| *outcome == Outcome::Done);
        let is_settled = desk.needs_server() || matches!(stage, Stage::Stopped | Stage::Lacking(_));
        if is_done && is_settled {
            desk.wishes.remove(id);
        }
        is_done && is_settled
    }
}

impl Desk {
    /// Whether the server has to be up.
    fn needs_server(&self) -> bool {
        self.book.needs_server() || self.is_asked_for()
    }

    /// Whether somebody waits for a database.
    fn is_asked_for(&self) -> bool {
        self.wishes.values().any(|(wish, _)| matches!(wish, Wish::Use { .. }))
    }
}

impl Office {
    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wish(&self, id: &Id, wish: Wish) {
        let mut desk = self.desk();
        if desk.wishes.get(id).is_none_or(|(now, _)| *now != wish) {
            desk.wishes.insert(id.clone(), (wish, Outcome::Open));
            self.nudge.notify_one();
        }
    }

    fn standing(&self, id: &Id) -> Standing {
        let stage = self.attendant.stage();
        let desk = self.desk();
        let outcome = desk.wishes.get(id).map_or(&Outcome::Open, |(_, outcome)| outcome);
        match (stage, outcome) {
            (Stage::Lacking(why), _) => Standing::Lacking(why),
            (Stage::Up { port }, Outcome::Done) => Standing::Up { port },
            (Stage::Up { .. }, Outcome::Failed(why)) => Standing::Starting(why.clone()),
            (Stage::Up { .. }, Outcome::Open) => Standing::Starting("The database is being made.".to_owned()),
            (Stage::Down(why), Outcome::Done) => Standing::Down(why),
            (Stage::Starting(why) | Stage::Down(why), _) => Standing::Starting(why),
            (Stage::Stopped, _) => Standing::Starting(starting(self.cluster.name())),
        }
    }

    async fn work(self: Arc<Self>) {
        let mut stage = None;
        loop {
            let now = self.attendant.stage();
            let is_settled = match self.turn(&now).await {
                Ok(is_settled) => is_settled,
                Err(error) => {
                    self.fail(&format!("The platform cannot write to its folder: {error}."));
                    false
                }
            };
            if stage.as_ref() != Some(&now) {
                let ids: Vec<_> = self.desk().wishes.keys().cloned().collect();
                for id in &ids {
                    self.news.tell(id);
                }
                stage = Some(now);
            }
            tokio::select! {
                () = self.nudge.notified() => {}
                () = sleep(AGAIN), if !is_settled => {}
            }
        }
    }

    /// Does what can be done at a stage of the server; whether nothing is left that has to be tried again.
    async fn turn(&self, stage: &Stage) -> io::Result<bool> {
        self.note()?;
        self.attendant.want(self.desk().needs_server());
        match stage {
            Stage::Up { port } => {
                let work = self.serve(*port).await;
                self.attendant.want(self.desk().needs_server());
                if let Err(error) = work? {
                    self.fail(&format!(
                        "postgres does not do what it is asked to, and is asked again: {error}."
                    ));
                    return Ok(false);
                }
            }
            // Asked again: the stage may be older than the last wish.
            Stage::Stopped if self.attendant.stage() == Stage::Stopped => self.clear()?,
            _ => {}
        }
        self.leave(matches!(stage, Stage::Lacking(_)));
        Ok(true)
    }

    /// Writes down what is wanted, before anything is done.
    fn note(&self) -> io::Result<()> {
        let mut desk = self.desk();
        let mut book = desk.book.clone();
        for (id, (wish, outcome)) in &desk.wishes {
            match wish {
                _ if *outcome == Outcome::Done => {}
                Wish::Use { names, .. } => book.used(id, names),
                Wish::Leave { fate } => book.left(id, *fate),
            }
        }
        self.rewrite(&mut desk, book)
    }

    fn rewrite(&self, desk: &mut Desk, book: Book) -> io::Result<()> {
        if book != desk.book {
            make_folder(&self.cluster.folder)?;
            book.write(&self.cluster.folder)?;
            desk.book = book;
        }
        Ok(())
    }

    /// Asks the server for everything that is not done.
    async fn serve(&self, port: u16) -> io::Result<Result<(), WireError>> {
        let doomed = self.desk().book.doomed();
        if doomed.is_empty() && self.open().is_empty() {
            return Ok(Ok(()));
        }
        let mut server = match Connection::open(&self.cluster.data(), port).await {
            Ok(server) => server,
            Err(error) => return Ok(Err(error)),
        };
        for (id, names) in doomed {
            if let Err(error) = statements::drop(&mut server, &names).await {
                return Ok(Err(error));
            }
            let mut desk = self.desk();
            let mut book = desk.book.clone();
            book.forget(&id);
            self.rewrite(&mut desk, book)?;
        }
        // Those whose old database is gone are now noted with a new one.
        self.note()?;
        for (id, wish) in self.open() {
            let Wish::Use { names, password } = &wish else { continue };
            let provided = match std::str::from_utf8(password.expose()) {
                Ok(password) if !password.contains('\0') => {
                    statements::provide(&mut server, names, password).await
                }
                _ => Err(WireError::Refused("the password is not text".to_owned())),
            };
            match provided {
                Ok(()) => self.settle(&id, &wish, Outcome::Done),
                Err(error) => return Ok(Err(error)),
            }
        }
        Ok(Ok(()))
    }

    /// Removes a cluster in which nothing is to be kept. The server is down, and only this task has it brought up.
    fn clear(&self) -> io::Result<()> {
        let mut desk = self.desk();
        if desk.is_asked_for() || desk.book.is_empty() || !desk.book.is_all_doomed() {
            return Ok(());
        }
        if let Some(gone) = self.cluster.take_data_away()? {
            // What is left of it is removed before there is another.
            tokio::task::spawn_blocking(move || std::fs::remove_dir_all(gone));
        }
        self.rewrite(&mut desk, Book::default())
    }

    /// Settles the wishes of those who leave: when their data is kept, or gone. If it is to go, and no server can be started
    /// here, it is enough that this is noted.
    fn leave(&self, is_lacking: bool) {
        for (id, wish) in self.open() {
            let fate = self.desk().book.get(&id).map(|held| held.fate);
            let is_done = match (&wish, fate) {
                (Wish::Use { .. }, _) | (_, Some(Fate::Used)) => false,
                (_, Some(Fate::Doomed)) => is_lacking,
                (Wish::Leave { fate }, Some(Fate::Kept)) => *fate == Fate::Kept,
                (Wish::Leave { .. }, None) => true,
            };
            if is_done {
                self.settle(&id, &wish, Outcome::Done);
            }
        }
    }

    /// The wishes that are not done.
    fn open(&self) -> Vec<(Id, Wish)> {
        let desk = self.desk();
        let open = desk.wishes.iter().filter(|(_, (_, outcome))| *outcome != Outcome::Done);
        open.map(|(id, (wish, _))| (id.clone(), wish.clone())).collect()
    }

    fn fail(&self, why: &str) {
        tracing::warn!(why, "databases are not as they should be");
        for (id, wish) in self.open() {
            self.settle(&id, &wish, Outcome::Failed(why.to_owned()));
        }
    }

    /// Notes how far a wish is, unless there is another by now, and tells.
    fn settle(&self, id: &Id, wish: &Wish, outcome: Outcome) {
        let is_new = match self.desk().wishes.get_mut(id).filter(|(now, _)| now == wish) {
            Some((_, now)) => {
                let is_new = *now != outcome;
                *now = outcome;
                is_new
            }
            None => false,
        };
        if is_new {
            self.news.tell(id);
        }
    }
}
