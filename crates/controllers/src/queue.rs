//! What to work on next.
//!
//! The queue is pure: it is told the time. It keeps three promises. No key is worked on twice at the same time, since
//! two reconciles of one object would race. A key that is pushed is taken, also when it is pushed while it is worked
//! on. And namespaces take turns, so that ten thousand objects of one do not keep the single object of another waiting.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    fmt::Debug,
};

use tokio::time::Instant;

/// Keys that wait, and keys that are worked on.
#[derive(Debug)]
pub struct Queue<K> {
    namespace: fn(&K) -> &str,
    keys: BTreeMap<K, Place>,
    /// The keys that can be taken, by namespace; no lane is empty.
    lanes: BTreeMap<Box<str>, VecDeque<K>>,
    /// The namespaces with a lane, the next one first.
    turns: VecDeque<Box<str>>,
    /// The keys whose time has not come.
    later: BTreeSet<(Instant, K)>,
    /// Keys that wait for nothing but to be taken or to be done.
    depth: usize,
    working: usize,
}

/// Where a key stands.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    working: bool,
    wanted: Option<Due>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
    Now,
    At(Instant),
}

impl<K: Ord + Clone> Queue<K> {
    /// An empty queue of keys that have a namespace.
    pub fn new(namespace: fn(&K) -> &str) -> Self {
        Self {
            namespace,
            keys: BTreeMap::new(),
            lanes: BTreeMap::new(),
            turns: VecDeque::new(),
            later: BTreeSet::new(),
            depth: 0,
            working: 0,
        }
    }

    /// Wants a key to be worked on, as soon as may be.
    pub fn push(&mut self, key: K) {
        let place = self.keys.entry(key.clone()).or_default();
        match place.wanted.replace(Due::Now) {
            Some(Due::Now) => return,
            Some(Due::At(at)) if !place.working => drop(self.later.remove(&(at, key.clone()))),
            _ => {}
        }
        self.depth += 1;
        if !place.working {
            self.line_up(key);
        }
    }

    /// Wants a key to be worked on at some time. If it is already wanted, the earlier time counts.
    pub fn push_at(&mut self, key: K, at: Instant) {
        let place = self.keys.entry(key.clone()).or_default();
        match place.wanted {
            Some(Due::Now) => return,
            Some(Due::At(earlier)) if earlier <= at => return,
            Some(Due::At(later)) if !place.working => drop(self.later.remove(&(later, key.clone()))),
            _ => {}
        }
        place.wanted = Some(Due::At(at));
        if !place.working {
            self.later.insert((at, key));
        }
    }

    /// Hands out a key to be worked on; it must be reported [`done`](Self::done).
    pub fn take(&mut self, now: Instant) -> Option<K> {
        while self.next_due().is_some_and(|at| at <= now) {
            if let Some((_, key)) = self.later.pop_first() {
                self.keys.insert(key.clone(), Place { working: false, wanted: Some(Due::Now) });
                self.depth += 1;
                self.line_up(key);
            }
        }
        let namespace = self.turns.pop_front()?;
        let lane = self.lanes.get_mut(&namespace)?;
        let key = lane.pop_front()?;
        if lane.is_empty() {
            self.lanes.remove(&namespace);
        } else {
            self.turns.push_back(namespace);
        }
        self.depth -= 1;
        self.working += 1;
        self.keys.insert(key.clone(), Place { working: true, wanted: None });
        Some(key)
    }

    /// The work on a key has ended. If it was pushed meanwhile, it waits again.
    pub fn done(&mut self, key: &K) {
        let Some(place) = self.keys.get_mut(key).filter(|place| place.working) else { return };
        place.working = false;
        self.working -= 1;
        match place.wanted {
            None => drop(self.keys.remove(key)),
            Some(Due::Now) => self.line_up(key.clone()),
            Some(Due::At(at)) => drop(self.later.insert((at, key.clone()))),
        }
    }

    /// How many keys are wanted now, those included that are wanted again while they are worked on.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// When the first of the keys is due whose time has not come.
    pub fn next_due(&self) -> Option<Instant> {
        self.later.first().map(|(at, _)| *at)
    }

    /// Whether nothing is to be done now and nothing is being done.
    pub fn is_idle(&self, now: Instant) -> bool {
        self.depth == 0 && self.working == 0 && self.next_due().is_none_or(|at| at > now)
    }

    /// Puts a key at the end of its lane, and a new lane at the end of the turns.
    fn line_up(&mut self, key: K) {
        let namespace = (self.namespace)(&key);
        if let Some(lane) = self.lanes.get_mut(namespace) {
            lane.push_back(key);
        } else {
            let namespace: Box<str> = namespace.into();
            self.turns.push_back(namespace.clone());
            self.lanes.insert(namespace, VecDeque::from([key]));
        }
    }
}

#[cfg(test)]
#[path = "queue_tests.rs"]
mod tests;
