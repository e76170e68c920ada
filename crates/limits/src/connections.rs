//! Slots of connections, with eviction.
//!
//! A server cannot know an honest client before it is authenticated, and a client that says nothing costs its sender
//! nothing. So slots are never refused to newcomers for the sake of such clients: when slots run out, one of these makes
//! room, the first that exists:
//!
//! 1. the oldest connection of a caller that has more than its share, one without a request in progress first;
//! 2. the oldest connection on which no request was authenticated yet;
//! 3. the connection that has been idle for longest, after a minimum time.
//!
//! Addresses play no part: many clients share one behind a proxy or NAT.
//!
//! The connections of a caller are also closed when its account ends ([`Connections::close`]).

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{sync::Notify, time::Instant};

/// Idle time after which a connection of an authenticated caller can be evicted: longer than a pause between the requests
/// of one command.
const MIN_IDLE: Duration = Duration::from_secs(10);

/// Slots of the connections of a server. Clones share them.
#[derive(Clone)]
pub struct Connections(Arc<Table>);

struct Table {
    slots: usize,
    per_caller: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    next: u64,
    open: HashMap<u64, Slot>,
}

struct Slot {
    opened: Instant,
    /// User of the last authenticated request.
    caller: Option<Arc<str>>,
    active: usize,
    /// End of the last request, or start of the connection.
    idle_since: Instant,
    closed: Arc<Notify>,
}

impl fmt::Debug for Connections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connections").field("slots", &self.0.slots).finish_non_exhaustive()
    }
}

impl Table {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Connections {
    /// Free slots, with a share for each caller.
    pub fn new(slots: usize, per_caller: usize) -> Self {
        Self(Arc::new(Table { slots, per_caller, state: Mutex::default() }))
    }

    /// True if a new connection gets a slot.
    pub fn has_room(&self) -> bool {
        let state = self.0.lock();
        state.open.len() < self.0.slots || state.victim(self.0.per_caller, Instant::now()).is_some()
    }

    /// True if a new connection takes the slot of another.
    pub fn is_full(&self) -> bool {
        self.0.lock().open.len() >= self.0.slots
    }

    /// Closes the connections on which such a caller was authenticated last, in use or not.
    pub fn close(&self, has_ended: impl Fn(&str) -> bool) {
        let state = self.0.lock();
        let ended = state.open.values().filter(|slot| slot.caller.as_deref().is_some_and(&has_ended));
        for slot in ended {
            slot.closed.notify_one();
        }
    }

    /// Slot for a new connection, if necessary of one that is evicted; `None` if all connections are in use.
    pub fn open(&self) -> Option<Connection> {
        let now = Instant::now();
        let mut state = self.0.lock();
        if state.open.len() >= self.0.slots {
            let victim = state.victim(self.0.per_caller, now)?;
            if let Some(slot) = state.open.remove(&victim) {
                slot.closed.notify_one();
            }
        }
        let id = state.next;
        state.next += 1;
        let closed = Arc::new(Notify::new());
        let slot =
            Slot { opened: now, caller: None, active: 0, idle_since: now, closed: Arc::clone(&closed) };
        state.open.insert(id, slot);
        Some(Connection(Arc::new(SlotGuard { id, table: Arc::clone(&self.0), closed })))
    }
}

impl State {
    fn victim(&self, per_caller: usize, now: Instant) -> Option<u64> {
        let oldest = |chosen: &dyn Fn(&Slot) -> bool| {
            let chosen = self.open.iter().filter(|(_, slot)| chosen(slot));
            chosen.min_by_key(|(id, slot)| (slot.opened, **id)).map(|(id, _)| *id)
        };
        let mut shares: HashMap<&str, usize> = HashMap::new();
        for caller in self.open.values().filter_map(|slot| slot.caller.as_deref()) {
            *shares.entry(caller).or_default() += 1;
        }
        let is_surplus = |slot: &Slot| {
            slot.caller
                .as_deref()
                .is_some_and(|caller| shares.get(caller).is_some_and(|open| *open > per_caller))
        };
        let is_unknown = |slot: &Slot| slot.caller.is_none();
        let longest_idle = || {
            let is_idle = |slot: &&Slot| slot.active == 0 && now - slot.idle_since >= MIN_IDLE;
            let idle = self.open.iter().filter(|(_, slot)| is_idle(slot));
            idle.min_by_key(|(id, slot)| (slot.idle_since, **id)).map(|(id, _)| *id)
        };
        oldest(&|slot| slot.active == 0 && is_surplus(slot))
            .or_else(|| oldest(&is_surplus))
            .or_else(|| oldest(&is_unknown))
            .or_else(longest_idle)
    }
}

/// Slot of a connection, as an extension of its requests. It is free once the last clone is dropped.
#[derive(Clone, Debug)]
pub struct Connection(Arc<SlotGuard>);

/// Frees the slot when it is dropped.
struct SlotGuard {
    id: u64,
    table: Arc<Table>,
    closed: Arc<Notify>,
}

impl fmt::Debug for SlotGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SlotGuard").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Drop for SlotGuard {
    fn drop(&mut self) {
        self.table.lock().open.remove(&self.id);
    }
}

impl Connection {
    /// Number of the connection, unique in its server.
    pub fn id(&self) -> u64 {
        self.0.id
    }

    /// Records that a request of this user was authenticated. True if the last one was of another user, or of none.
    pub fn authenticated(&self, caller: &str) -> bool {
        match self.0.table.lock().open.get_mut(&self.0.id) {
            Some(slot) if slot.caller.as_deref() != Some(caller) => {
                slot.caller = Some(caller.into());
                true
            }
            _ => false,
        }
    }

    /// Closes the connection, with all requests in progress.
    pub fn close(&self) {
        self.0.closed.notify_one();
    }

    /// Records that a request is in progress, until the result is dropped.
    pub fn request(&self) -> ActiveRequest {
        if let Some(slot) = self.0.table.lock().open.get_mut(&self.0.id) {
            slot.active += 1;
        }
        ActiveRequest(self.clone())
    }

    /// Resolves when the connection has to be closed: it makes room for another, or its caller has ended.
    pub async fn closed(&self) {
        self.0.closed.notified().await;
    }
}

/// Request in progress.
#[derive(Debug)]
pub struct ActiveRequest(Connection);

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        let guard = &self.0.0;
        if let Some(slot) = guard.table.lock().open.get_mut(&guard.id) {
            slot.active -= 1;
            slot.idle_since = Instant::now();
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use futures_util::FutureExt as _;
    use tokio::time::advance;

    use super::*;

    const STEP: Duration = Duration::from_secs(1);

    /// Connections of these callers, opened one after the other; of no caller if the name is empty.
    async fn opened<const N: usize>(connections: &Connections, callers: [&str; N]) -> [Connection; N] {
        let mut opened = Vec::new();
        for caller in callers {
            let connection = connections.open().unwrap();
            if !caller.is_empty() {
                connection.authenticated(caller);
            }
            opened.push(connection);
            advance(STEP).await;
        }
        opened.try_into().unwrap()
    }

    fn is_evicted(connection: &Connection) -> bool {
        connection.closed().now_or_never().is_some()
    }

    #[tokio::test(start_paused = true)]
    async fn the_oldest_unauthenticated_connection_makes_room() {
        let connections = Connections::new(3, 2);
        let [jane, first, second] = opened(&connections, ["jane", "", ""]).await;
        let _newest = connections.open().unwrap();
        assert!(is_evicted(&first));
        assert!(!is_evicted(&jane) && !is_evicted(&second));
    }

    #[tokio::test(start_paused = true)]
    async fn a_caller_with_more_than_its_share_makes_room_first_with_its_oldest_idle_connection() {
        let connections = Connections::new(4, 2);
        let [unknown, busy, second, third] = opened(&connections, ["", "greedy", "greedy", "greedy"]).await;
        let _request = busy.request();
        let _newest = connections.open().unwrap();
        assert!(is_evicted(&second));
        assert!(!is_evicted(&unknown) && !is_evicted(&busy) && !is_evicted(&third));
    }

    #[tokio::test(start_paused = true)]
    async fn a_caller_with_more_than_its_share_makes_room_also_if_all_its_connections_are_in_use() {
        let connections = Connections::new(4, 2);
        let [unknown, first, second, third] = opened(&connections, ["", "greedy", "greedy", "greedy"]).await;
        let _requests = [first.request(), second.request(), third.request()];
        let _newest = connections.open().unwrap();
        assert!(is_evicted(&first));
        assert!(!is_evicted(&unknown) && !is_evicted(&second) && !is_evicted(&third));
    }

    #[tokio::test(start_paused = true)]
    async fn connections_in_use_stay_and_idle_ones_make_room() {
        let connections = Connections::new(2, 2);
        let [busy, idle] = opened(&connections, ["jane", "john"]).await;
        let request = busy.request();
        drop(idle.request());
        assert!(!connections.has_room() && connections.open().is_none(), "john was active just now");
        advance(MIN_IDLE).await;
        assert!(connections.has_room());
        let newest = connections.open().unwrap();
        assert!(is_evicted(&idle) && !is_evicted(&busy));
        newest.authenticated("joe");
        advance(STEP).await;
        drop(request);
        advance(MIN_IDLE).await;
        let _last = connections.open().unwrap();
        assert!(is_evicted(&newest), "joe has been idle for longer");
    }

    #[tokio::test(start_paused = true)]
    async fn a_closed_connection_frees_its_slot() {
        let connections = Connections::new(1, 1);
        let first = connections.open().unwrap();
        first.authenticated("jane");
        let request = first.request();
        assert!(connections.open().is_none());
        drop(first);
        assert!(connections.open().is_none(), "its request is in progress");
        drop(request);
        assert!(connections.open().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn the_connections_of_an_ended_caller_are_closed_in_use_or_not() {
        let connections = Connections::new(9, 9);
        let [idle, busy, other, unknown] = opened(&connections, ["jane", "jane", "john", ""]).await;
        let _request = busy.request();
        connections.close(|caller| caller == "jane");
        assert!(is_evicted(&idle) && is_evicted(&busy));
        assert!(!is_evicted(&other) && !is_evicted(&unknown));
    }
}
