//! Work queue, fair between namespaces. It is pure: the time is an argument.
//!
//! - A key is never reconciled twice at the same time.
//! - A key that is pushed is taken, also if it is pushed while it is being reconciled.
//! - Namespaces take turns, so that ten thousand objects of one do not delay the single object of another.
//!
//! Each [`Stage`] has its own lanes: a worker can complete keys in progress first, so that of a thousand objects the first are ready
//! when the last are started, and reconcile settled objects last, so that ten thousand of them do not delay a new one after a start.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    fmt::Debug,
};

use tokio::time::Instant;

/// Stage of a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// It is settled, and reconciled in case something has changed: after a start, or for a new config.
    Resync,
    /// Nothing was done yet, or its spec changed.
    #[default]
    New,
    /// It is being rolled out.
    InProgress,
}

/// Keys that wait, and keys that are being reconciled.
#[derive(Debug)]
pub struct Queue<K> {
    namespace: fn(&K) -> &str,
    keys: BTreeMap<K, KeyState>,
    /// Keys that are due, by stage. A key that moved to a later stage is in the lanes of both, and counts in the later one.
    due: [Lanes<K>; 3],
    /// Keys that are due later.
    later: BTreeSet<(Instant, K)>,
    /// Number of keys that are due, including those pushed while being reconciled.
    depth: usize,
    working: usize,
}

/// State of a key.
#[derive(Clone, Copy, Debug, Default)]
struct KeyState {
    working: bool,
    wanted: Option<Due>,
    /// Stage in which it was pushed.
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
    Now,
    At(Instant),
}

/// Keys by namespace; namespaces take turns.
#[derive(Debug)]
struct Lanes<K> {
    /// No lane is empty.
    lanes: BTreeMap<Box<str>, VecDeque<K>>,
    /// Namespaces with a lane, in the order of their turns.
    turns: VecDeque<Box<str>>,
}

impl<K> Lanes<K> {
    fn new() -> Self {
        Self { lanes: BTreeMap::new(), turns: VecDeque::new() }
    }

    /// Appends a key to the lane of its namespace, and a new lane to the turns.
    fn push(&mut self, namespace: fn(&K) -> &str, key: K) {
        if let Some(lane) = self.lanes.get_mut(namespace(&key)) {
            lane.push_back(key);
        } else {
            let namespace: Box<str> = namespace(&key).into();
            self.turns.push_back(namespace.clone());
            self.lanes.insert(namespace, VecDeque::from([key]));
        }
    }

    fn pop(&mut self) -> Option<K> {
        let namespace = self.turns.pop_front()?;
        let lane = self.lanes.get_mut(&namespace)?;
        let key = lane.pop_front();
        if lane.is_empty() {
            self.lanes.remove(&namespace);
        } else {
            self.turns.push_back(namespace);
        }
        key
    }
}

impl<K: Ord + Clone> Queue<K> {
    /// Empty queue.
    pub fn new(namespace: fn(&K) -> &str) -> Self {
        Self {
            namespace,
            keys: BTreeMap::new(),
            due: [Lanes::new(), Lanes::new(), Lanes::new()],
            later: BTreeSet::new(),
            depth: 0,
            working: 0,
        }
    }

    /// Pushes a key that is due now. If it is in the queue already, the later stage counts.
    pub fn push(&mut self, key: K, stage: Stage) {
        let state = self.keys.entry(key.clone()).or_default();
        let stage = state.reach(stage);
        match state.wanted.replace(Due::Now) {
            Some(Due::Now) if stage == state.stage => return,
            Some(Due::Now) => {}
            Some(Due::At(at)) => {
                self.depth += 1;
                if !state.working {
                    self.later.remove(&(at, key.clone()));
                }
            }
            None => self.depth += 1,
        }
        state.stage = stage;
        if !state.working {
            self.push_due(key, stage);
        }
    }

    /// Pushes a key that is due at some time. If it is in the queue already, the earlier time and the later stage count.
    pub fn push_at(&mut self, key: K, at: Instant, stage: Stage) {
        let state = self.keys.entry(key.clone()).or_default();
        let stage = state.reach(stage);
        if state.wanted == Some(Due::Now) {
            return self.push(key, stage);
        }
        state.stage = stage;
        match state.wanted {
            Some(Due::At(earlier)) if earlier <= at => return,
            Some(Due::At(later)) if !state.working => drop(self.later.remove(&(later, key.clone()))),
            _ => {}
        }
        state.wanted = Some(Due::At(at));
        if !state.working {
            self.later.insert((at, key));
        }
    }

    /// Takes a key of a stage. It must be reported [`done`](Self::done).
    pub fn take(&mut self, now: Instant, stage: Stage) -> Option<K> {
        self.promote_due(now);
        while let Some(key) = self.due[stage as usize].pop() {
            // It was taken from the other lanes meanwhile.
            let state = self.keys.get_mut(&key);
            let waits = |state: &&mut KeyState| {
                !state.working && state.wanted == Some(Due::Now) && state.stage == stage
            };
            let Some(state) = state.filter(waits) else { continue };
            *state = KeyState { working: true, ..KeyState::default() };
            self.depth -= 1;
            self.working += 1;
            return Some(key);
        }
        None
    }

    /// Ends the reconcile of a key. If it was pushed meanwhile, it waits again.
    pub fn done(&mut self, key: &K) {
        let Some(state) = self.keys.get_mut(key).filter(|state| state.working) else { return };
        state.working = false;
        let stage = state.stage;
        self.working -= 1;
        match state.wanted {
            None => drop(self.keys.remove(key)),
            Some(Due::Now) => self.push_due(key.clone(), stage),
            Some(Due::At(at)) => drop(self.later.insert((at, key.clone()))),
        }
    }

    /// True if keys of a stage may be due. Keys that moved to a later stage count until the next [`take`](Self::take).
    pub fn has_due(&self, stage: Stage) -> bool {
        !self.due[stage as usize].turns.is_empty()
    }

    /// Number of keys that are due, including those pushed while being reconciled.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// Time at which the next key becomes due.
    pub fn next_due(&self) -> Option<Instant> {
        self.later.first().map(|(at, _)| *at)
    }

    /// True if nothing is due and nothing is being reconciled.
    pub fn is_idle(&self, now: Instant) -> bool {
        self.depth == 0 && self.working == 0 && self.next_due().is_none_or(|at| at > now)
    }

    /// Moves keys that have become due into their lanes.
    pub fn promote_due(&mut self, now: Instant) {
        while self.next_due().is_some_and(|at| at <= now) {
            let Some((_, key)) = self.later.pop_first() else { return };
            let Some(state) = self.keys.get_mut(&key) else { continue };
            state.wanted = Some(Due::Now);
            let stage = state.stage;
            self.depth += 1;
            self.push_due(key, stage);
        }
    }

    fn push_due(&mut self, key: K, stage: Stage) {
        self.due[stage as usize].push(self.namespace, key);
    }
}

impl KeyState {
    /// Stage of a key, if it is due in this one.
    fn reach(&self, stage: Stage) -> Stage {
        if self.wanted.is_some() { stage.max(self.stage) } else { stage }
    }
}

#[cfg(test)]
mod tests;
