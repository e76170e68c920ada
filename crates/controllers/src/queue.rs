//! What to work on next.
//!
//! The queue is pure: it is told the time. It keeps three promises. No key is worked on twice at the same time, since
//! two reconciles of one object would race. A key that is pushed is taken, also when it is pushed while it is worked
//! on. And namespaces take turns, so that ten thousand objects of one do not keep the single object of another waiting.
//!
//! What is on its way is kept apart from what nothing was done for yet: whoever takes can bring the one to its end
//! before it begins the other, so that of a thousand objects the first are ready when the last are begun.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    fmt::Debug,
};

use tokio::time::Instant;

/// How far something is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Nothing was done for it yet, or something came up that has to be looked at from the beginning.
    #[default]
    New,
    /// It is on its way.
    Begun,
}

/// Keys that wait, and keys that are worked on.
#[derive(Debug)]
pub struct Queue<K> {
    namespace: fn(&K) -> &str,
    keys: BTreeMap<K, Place>,
    /// The keys that can be taken. One that went from the first to the second meanwhile stands in both, and counts in
    /// the second.
    new: Lanes<K>,
    begun: Lanes<K>,
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
    /// The stage for which it is wanted.
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
    Now,
    At(Instant),
}

/// Keys by namespace, which take turns.
#[derive(Debug)]
struct Lanes<K> {
    /// No lane is empty.
    lanes: BTreeMap<Box<str>, VecDeque<K>>,
    /// The namespaces with a lane, the next one first.
    turns: VecDeque<Box<str>>,
}

impl<K> Lanes<K> {
    fn new() -> Self {
        Self { lanes: BTreeMap::new(), turns: VecDeque::new() }
    }

    /// Puts a key at the end of its lane, and a new lane at the end of the turns.
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
    /// An empty queue of keys that have a namespace.
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

    /// Wants a key to be worked on, as soon as may be. If it is already wanted, the later stage counts.
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

    /// Wants a key to be worked on at some time. If it is already wanted, the earlier time and the later stage count.
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

    /// Hands out a key of a stage to be worked on; it must be reported [`done`](Self::done).
    pub fn take(&mut self, now: Instant, stage: Stage) -> Option<K> {
        self.ripen(now);
        let lanes = match stage {
            Stage::New => &mut self.new,
            Stage::Begun => &mut self.begun,
        };
        while let Some(key) = lanes.pop() {
            // One that was taken from the other lanes is not here any more.
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

    /// The work on a key has ended. If it was pushed meanwhile, it waits again.
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

    /// Lines up what is due by now, also where there is no room to take it.
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
            Stage::Begun => self.begun.push(self.namespace, key),
        }
    }
}

impl Place {
    /// The stage for which a key is wanted, if it is wanted for this one, too.
    fn reach(&self, stage: Stage) -> Stage {
        if self.wanted.is_some() { stage.max(self.stage) } else { stage }
    }
}

#[cfg(test)]
#[path = "queue_tests.rs"]
mod tests;
