//! Ledger against a simple model, over every store and across restarts.

use std::collections::BTreeMap;

use bytes::Bytes;
use orchestra_apiserver::{
    ledger::{Expected, Ledger, Options, TooOld, WriteError},
    store::{Folder, Key, Memory, Redb, Revision},
};
use proptest::prelude::*;

/// Reference model: all states so far.
struct Model {
    states: Vec<BTreeMap<Key, (Revision, Bytes)>>,
    keys: Vec<Key>,
    kept: usize,
    /// Oldest available revision: events do not survive a restart.
    floor: u64,
}

impl Model {
    fn new(kept: usize) -> Self {
        Self { states: vec![BTreeMap::new()], keys: vec![Key::new("", "", "")], kept, floor: 0 }
    }

    fn revision(&self) -> u64 {
        self.states.len() as u64 - 1
    }

    fn oldest(&self) -> u64 {
        self.floor.max(self.revision().saturating_sub(self.kept as u64))
    }

    fn now(&self) -> &BTreeMap<Key, (Revision, Bytes)> {
        self.states.last().unwrap()
    }

    fn write(&mut self, key: &Key, expected: Expected, value: Option<Bytes>) -> Result<Revision, WriteError> {
        let now = self.now().get(key).map(|(revision, _)| *revision);
        let holds = match expected {
            Expected::Absent => now.is_none(),
            Expected::At(revision) | Expected::ToMark(revision) => now == Some(revision),
        };
        if !holds || (now.is_none() && value.is_none()) {
            return Err(WriteError::Conflict(now));
        }
        let revision = Revision(self.revision() + 1);
        let mut state = self.now().clone();
        match value {
            Some(value) => drop(state.insert(key.clone(), (revision, value))),
            None => drop(state.remove(key)),
        }
        self.states.push(state);
        self.keys.push(key.clone());
        Ok(revision)
    }
}

#[derive(Clone, Debug)]
enum Step {
    /// Writes or removes, with a precondition that holds, or does not if `lie`.
    Write { key: usize, remove: bool, lie: bool },
    /// Lists at a past revision, in pages.
    List { ago: u64, page: usize, namespace: Option<usize> },
    /// Reads the events after a past revision.
    Events { ago: u64 },
    /// Closes and reopens.
    Restart,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0..12usize, any::<bool>(), prop::bool::weighted(0.1)).prop_map(|(key, remove, lie)| Step::Write { key, remove, lie }),
        3 => (0..12u64, 1..5usize, prop::option::of(0..3usize)).prop_map(|(ago, page, namespace)| Step::List { ago, page, namespace }),
        2 => (0..12u64).prop_map(|ago| Step::Events { ago }),
        1 => Just(Step::Restart),
    ]
}

fn key(number: usize) -> Key {
    let resource = if number < 9 { "things" } else { "thingsandmore" };
    Key::new(resource, ["", "one", "two"][number % 3], &format!("name{}", number / 3))
}

const HISTORY_EVENTS: usize = 6;

fn check(steps: &[Step], open: impl Fn() -> Ledger, survives: bool) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut model = Model::new(HISTORY_EVENTS);
    let mut ledger = open();
    for (number, step) in steps.iter().enumerate() {
        match step {
            Step::Write { key: which, remove, lie } => {
                let key = key(*which);
                let truth = model.now().get(&key).map(|(revision, _)| *revision);
                let expected = match (truth, lie) {
                    (Some(revision), false) => Expected::At(revision),
                    (None, false) | (Some(_), true) => Expected::Absent,
                    (None, true) => Expected::At(Revision(1)),
                };
                let value = (!remove).then(|| Bytes::from(format!("value {number}")));
                let got = runtime.block_on(ledger.write(key.clone(), expected, value.clone()));
                assert_eq!(got, model.write(&key, expected, value), "{step:?}");
                let object = ledger.get(&key).map(|object| (object.revision, object.value));
                assert_eq!(object.as_ref(), model.now().get(&key));
            }
            Step::List { ago, page, namespace } => list(&ledger, &model, *ago, *page, *namespace),
            Step::Events { ago } => events(&ledger, &model, *ago),
            Step::Restart if survives => {
                drop(ledger);
                ledger = open();
                model.floor = model.revision();
                assert_eq!(ledger.revision().0, model.revision());
            }
            Step::Restart => {}
        }
    }
}

fn list(ledger: &Ledger, model: &Model, ago: u64, page: usize, namespace: Option<usize>) {
    let at = model.revision().saturating_sub(ago);
    let namespace = namespace.map(|number| ["", "one", "two"][number]);
    let mut got = Vec::new();
    let mut after = None;
    loop {
        match ledger.list("things", namespace, after.as_ref(), page, Some(Revision(at))) {
            Err(TooOld { oldest }) => {
                assert_eq!(oldest.0, model.oldest());
                assert!(at < model.oldest());
                return;
            }
            Ok(listed) => {
                assert_eq!(listed.revision.0, at);
                assert!(listed.objects.len() <= page && (listed.objects.len() == page || !listed.more));
                after = listed.objects.last().map(|(key, _)| key.clone());
                got.extend(
                    listed.objects.into_iter().map(|(key, object)| (key, (object.revision, object.value))),
                );
                if !listed.more {
                    break;
                }
            }
        }
    }
    let state = &model.states[usize::try_from(at).unwrap()];
    let want: Vec<_> = state
        .iter()
        .filter(|(key, _)| &*key.resource == "things" && namespace.is_none_or(|n| &*key.namespace == n))
        .map(|(key, object)| (key.clone(), object.clone()))
        .collect();
    assert_eq!(got, want);
}

fn events(ledger: &Ledger, model: &Model, ago: u64) {
    let after = model.revision().saturating_sub(ago);
    match ledger.events(Revision(after), usize::MAX) {
        Err(TooOld { oldest }) => {
            assert_eq!(oldest.0, model.oldest());
            assert!(after < model.oldest());
        }
        Ok(events) => {
            let revisions: Vec<_> = events.iter().map(|event| event.revision.0).collect();
            assert_eq!(revisions, (after + 1..=model.revision()).collect::<Vec<_>>());
            for event in events {
                let number = usize::try_from(event.revision.0).unwrap();
                let value = |state: &BTreeMap<Key, (Revision, Bytes)>| {
                    state.get(&event.key).map(|(_, value)| value.clone())
                };
                assert_eq!(event.key, model.keys[number]);
                assert_eq!(event.value, value(&model.states[number]));
                assert_eq!(event.previous, value(&model.states[number - 1]));
            }
        }
    }
}

fn options() -> Options {
    Options { events: HISTORY_EVENTS, ..Options::default() }
}

/// Opens the store of a folder, once the thread of the previous ledger has released its lock.
fn reopen(path: &std::path::Path) -> Ledger {
    let folder = loop {
        match Folder::hold(path) {
            Ok(folder) => break folder,
            Err(_) => std::thread::yield_now(),
        }
    };
    Ledger::open(Redb::open(folder).unwrap(), options()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_ledger_in_memory_equals_the_model(steps in prop::collection::vec(step(), 0..60)) {
        check(&steps, || Ledger::open(Memory, options()).unwrap(), false);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_ledger_on_disk_equals_the_model_across_restarts(steps in prop::collection::vec(step(), 0..40)) {
        let place = tempfile::tempdir().unwrap();
        check(&steps, || reopen(place.path()), true);
    }
}
