//! Weighted semaphore with a bound per key, fair between keys.

use std::{
    collections::{HashMap, VecDeque},
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{sync::oneshot, time::timeout};

use crate::Refused;

/// Bounds of a [`FairSemaphore`].
#[derive(Clone, Copy, Debug)]
pub struct Capacity {
    /// Units of all keys together.
    pub total: usize,
    /// Units of one key.
    pub per_key: usize,
    /// Waiting acquisitions of all keys together; more are refused at once.
    pub waiting: usize,
    /// Waiting acquisitions of one key.
    pub waiting_per_key: usize,
}

/// Weighted semaphore with a bound per key. Keys that wait get their turns round robin, so that a key with many waiting
/// acquisitions delays another one by one turn only. Clones share it.
#[derive(Clone)]
pub struct FairSemaphore(Arc<Shared>);

struct Shared {
    capacity: Capacity,
    state: Mutex<State>,
}

struct State {
    free: usize,
    waiting: usize,
    keys: HashMap<Arc<str>, KeyState>,
    /// Keys with waiting acquisitions, the next turn first.
    turns: VecDeque<Arc<str>>,
}

#[derive(Default)]
struct KeyState {
    acquired: usize,
    waiting: VecDeque<Waiter>,
}

struct Waiter {
    amount: usize,
    granted: oneshot::Sender<()>,
}

impl fmt::Debug for FairSemaphore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FairSemaphore").field(&self.0.capacity).finish()
    }
}

impl FairSemaphore {
    /// Semaphore with all units free.
    pub fn new(capacity: Capacity) -> Self {
        let state = State { free: capacity.total, waiting: 0, keys: HashMap::new(), turns: VecDeque::new() };
        Self(Arc::new(Shared { capacity, state: Mutex::new(state) }))
    }

    /// Largest amount that a key can hold.
    pub fn per_key(&self) -> usize {
        self.0.capacity.per_key.min(self.0.capacity.total)
    }

    /// Acquires units of a key, and waits for them for at most this time. More than a key can hold is never granted.
    pub async fn acquire(&self, key: &str, amount: usize, wait: Duration) -> Result<Grant, Refused> {
        let mut queued = match self.0.enter(key, amount)? {
            Entry::Granted(grant) => return Ok(grant),
            Entry::Queued(queued) => queued,
        };
        // Dropping it on a timeout gives back what was granted meanwhile.
        match timeout(wait, &mut queued.granted).await {
            Ok(Ok(())) => Ok(queued.into_grant()),
            _ => Err(Refused::Busy),
        }
    }
}

enum Entry {
    Granted(Grant),
    Queued(Queued),
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(self: &Arc<Self>, key: &str, amount: usize) -> Result<Entry, Refused> {
        let capacity = self.capacity;
        let mut state = self.lock();
        let key = match state.keys.get_key_value(key) {
            Some((key, _)) => Arc::clone(key),
            None => Arc::from(key),
        };
        let (free, waiting, others_wait) = (state.free, state.waiting, !state.turns.is_empty());
        let key_state = state.keys.entry(Arc::clone(&key)).or_default();
        let fits = key_state.acquired + amount <= capacity.per_key && amount <= free;
        if fits && !others_wait {
            key_state.acquired += amount;
            state.free -= amount;
            return Ok(Entry::Granted(Grant { shared: Arc::clone(self), key, amount }));
        }
        if waiting >= capacity.waiting || key_state.waiting.len() >= capacity.waiting_per_key {
            state.forget_unused(&key);
            return Err(Refused::QueueFull);
        }
        let (sender, granted) = oneshot::channel();
        key_state.waiting.push_back(Waiter { amount, granted: sender });
        if key_state.waiting.len() == 1 {
            state.turns.push_back(Arc::clone(&key));
        }
        state.waiting += 1;
        state.grant(capacity);
        Ok(Entry::Queued(Queued { shared: Arc::clone(self), key, amount, granted, is_taken: false }))
    }

    fn release(&self, key: &Arc<str>, amount: usize) {
        let mut state = self.lock();
        state.free += amount;
        if let Some(key_state) = state.keys.get_mut(key) {
            key_state.acquired -= amount;
        }
        state.grant(self.capacity);
        state.forget_unused(key);
    }
}

impl State {
    /// Grants what fits, turn by turn. A key at its own bound is passed over; a key for which too little is free keeps its
    /// turn, so that small acquisitions of others do not starve it.
    fn grant(&mut self, capacity: Capacity) {
        let mut passed_over = 0;
        while passed_over < self.turns.len() {
            let Some(key) = self.turns.pop_front() else { return };
            let Some(key_state) = self.keys.get_mut(&key) else { continue };
            let Some(waiter) = key_state.waiting.front() else { continue };
            let is_gone = waiter.granted.is_closed();
            let amount = waiter.amount;
            if !is_gone && key_state.acquired + amount > capacity.per_key {
                self.turns.push_back(key);
                passed_over += 1;
                continue;
            }
            if !is_gone && amount > self.free {
                self.turns.push_front(key);
                return;
            }
            self.waiting -= 1;
            let sent = key_state.waiting.pop_front().is_some_and(|waiter| waiter.granted.send(()).is_ok());
            if sent {
                key_state.acquired += amount;
                self.free -= amount;
            }
            if !key_state.waiting.is_empty() {
                self.turns.push_back(key);
            }
            passed_over = 0;
        }
    }

    /// Removes waiters of a key that no longer wait.
    fn purge(&mut self, key: &Arc<str>) {
        let Some(key_state) = self.keys.get_mut(key) else { return };
        let before = key_state.waiting.len();
        key_state.waiting.retain(|waiter| !waiter.granted.is_closed());
        self.waiting -= before - key_state.waiting.len();
        if key_state.waiting.is_empty() {
            self.turns.retain(|turn| turn != key);
        }
    }

    fn forget_unused(&mut self, key: &Arc<str>) {
        if self.keys.get(key).is_some_and(|key_state| key_state.acquired == 0 && key_state.waiting.is_empty())
        {
            self.keys.remove(key);
        }
    }
}

/// Place in the queue.
struct Queued {
    shared: Arc<Shared>,
    key: Arc<str>,
    amount: usize,
    granted: oneshot::Receiver<()>,
    /// True once the grant has been received and has an owner.
    is_taken: bool,
}

impl Queued {
    fn into_grant(mut self) -> Grant {
        self.is_taken = true;
        Grant { shared: Arc::clone(&self.shared), key: Arc::clone(&self.key), amount: self.amount }
    }
}

impl Drop for Queued {
    fn drop(&mut self) {
        if self.is_taken {
            return;
        }
        self.granted.close();
        if self.granted.try_recv().is_ok() {
            self.shared.release(&self.key, self.amount);
            return;
        }
        let mut state = self.shared.lock();
        state.purge(&self.key);
        state.grant(self.shared.capacity);
        state.forget_unused(&self.key);
    }
}

/// Acquired units; dropping it releases them.
pub struct Grant {
    shared: Arc<Shared>,
    key: Arc<str>,
    amount: usize,
}

impl Grant {
    /// Number of units.
    pub fn amount(&self) -> usize {
        self.amount
    }

    /// Releases the units beyond this number.
    pub fn shrink(&mut self, amount: usize) {
        let surplus = self.amount.saturating_sub(amount);
        if surplus > 0 {
            self.amount -= surplus;
            self.shared.release(&self.key, surplus);
        }
    }
}

impl Drop for Grant {
    fn drop(&mut self) {
        self.shared.release(&self.key, self.amount);
    }
}

impl fmt::Debug for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Grant").field("key", &self.key).field("amount", &self.amount).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
