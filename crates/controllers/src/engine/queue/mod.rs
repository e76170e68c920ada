//! Work queue, fair between namespaces. It is pure: the time is an argument.
//!
//! - A key is never reconciled twice at the same time.
//! - A key that is pushed is taken, also if it is pushed while it is being reconciled.
//! - Namespaces take turns, so that ten thousand objects of one do not delay the single object of another.
//!
//! Keys in progress are separate from new ones: a worker can complete those first, so that of a thousand objects the first are ready when
//! the last are started.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    fmt::Debug,
};

use tokio::time::Instant;

/// Stage of a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
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
    keys: BTreeMap<K, Place>,
    /// Keys that are due. A key that moved from new to in progress is in both, and counts in the second.
    new: Lanes<K>,
    begun: Lanes<K>,
    /// Keys that are due later.
    later: BTreeSet<(Instant, K)>,
    /// Number of keys that are due, including those pushed while being reconciled.
    depth: usize,
    working: usize,
}

/// State of a key.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
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
            new: Lanes::new(),
            begun: Lanes::new(),
            later: BTreeSet::new(),
            depth: 0,
            working: 0,
        }
    }

    /// Pushes a key that is due now. If it is in the queue already, the later stage counts.
    pub fn push(&mut self, key: K, stage: Stage) {
        let place = self.keys.entry(key.clone()).or_default();
        let stage = place.reach(stage);
        match place.wanted.replace(Due::Now) {
            Some(Due::Now) if stage == place.stage => return,
            Some(Due::Now) => {}
            Some(Due::At(at)) => {
                self.depth += 1;
                if !place.working {
                    self.later.remove(&(at, key.clone()));
                }
            }
            None => self.depth += 1,
        }
        place.stage = stage;
        if !place.working {
            self.line_up(key, stage);
        }
    }

    /// Pushes a key that is due at some time. If it is in the queue already, the earlier time and the later stage count.
    pub fn push_at(&mut self, key: K, at: Instant, stage: Stage) {
        let place = self.keys.entry(key.clone()).or_default();
        let stage = place.reach(stage);
        if place.wanted == Some(Due::Now) {
            return self.push(key, stage);
        }
        place.stage = stage;
        match place.wanted {
            Some(Due::At(earlier)) if earlier <= at => return,
            Some(Due::At(later)) if !place.working => drop(self.later.remove(&(later, key.clone()))),
            _ => {}
        }
        place.wanted = Some(Due::At(at));
        if !place.working {
            self.later.insert((at, key));
        }
    }

    /// Takes a key of a stage. It must be reported [`done`](Self::done).
    pub fn take(&mut self, now: Instant, stage: Stage) -> Option<K> {
        self.ripen(now);
        let lanes = match stage {
            Stage::New => &mut self.new,
            Stage::InProgress => &mut self.begun,
        };
        while let Some(key) = lanes.pop() {
            // It was taken from the other lanes meanwhile.
            let place = self.keys.get_mut(&key);
            let waits =
                |place: &&mut Place| !place.working && place.wanted == Some(Due::Now) && place.stage == stage;
            let Some(place) = place.filter(waits) else { continue };
            *place = Place { working: true, ..Place::default() };
            self.depth -= 1;
            self.working += 1;
            return Some(key);
        }
        None
    }

    /// Ends the reconcile of a key. If it was pushed meanwhile, it waits again.
    pub fn done(&mut self, key: &K) {
        let Some(place) = self.keys.get_mut(key).filter(|place| place.working) else { return };
        place.working = false;
        let stage = place.stage;
        self.working -= 1;
        match place.wanted {
            None => drop(self.keys.remove(key)),
            Some(Due::Now) => self.line_up(key.clone(), stage),
            Some(Due::At(at)) => drop(self.later.insert((at, key.clone()))),
        }
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
    pub fn ripen(&mut self, now: Instant) {
        while self.next_due().is_some_and(|at| at <= now) {
            let Some((_, key)) = self.later.pop_first() else { return };
            let Some(place) = self.keys.get_mut(&key) else { continue };
            place.wanted = Some(Due::Now);
            let stage = place.stage;
            self.depth += 1;
            self.line_up(key, stage);
        }
    }

    fn line_up(&mut self, key: K, stage: Stage) {
        match stage {
            Stage::New => self.new.push(self.namespace, key),
            Stage::InProgress => self.begun.push(self.namespace, key),
        }
    }
}

impl Place {
    /// Stage of a key, if it is due in this one.
    fn reach(&self, stage: Stage) -> Stage {
        if self.wanted.is_some() { stage.max(self.stage) } else { stage }
    }
}

#[cfg(test)]
mod tests;
