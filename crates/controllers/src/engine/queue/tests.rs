use std::time::Duration;

use proptest::prelude::*;

use super::{
    Stage::{InProgress, New, Resync},
    *,
};

type Key = (String, u32);

fn queue() -> Queue<Key> {
    Queue::new(|key| &key.0)
}

fn key(namespace: &str, name: u32) -> Key {
    (namespace.to_owned(), name)
}

#[test]
fn a_key_that_is_pushed_twice_is_taken_once() {
    let (mut queue, now) = (queue(), Instant::now());
    queue.push(key("a", 1), New);
    queue.push(key("a", 1), New);
    assert_eq!(queue.depth(), 1);
    assert_eq!(queue.take(now, New), Some(key("a", 1)));
    assert_eq!(queue.take(now, New), None);
}

#[test]
fn a_key_pushed_during_its_reconcile_is_taken_again_afterwards() {
    let (mut queue, now) = (queue(), Instant::now());
    queue.push(key("a", 1), New);
    queue.take(now, New);
    queue.push(key("a", 1), New);
    assert_eq!((queue.take(now, New), queue.depth()), (None, 1));
    assert!(!queue.is_idle(now));
    queue.done(&key("a", 1));
    assert_eq!(queue.take(now, New), Some(key("a", 1)));
    queue.done(&key("a", 1));
    assert!(queue.is_idle(now));
}

#[test]
fn the_earliest_due_time_wins() {
    let (mut queue, now) = (queue(), Instant::now());
    let [soon, late] = [1, 9].map(|seconds| now + Duration::from_secs(seconds));
    queue.push_at(key("a", 1), late, New);
    queue.push_at(key("a", 1), soon, New);
    queue.push_at(key("a", 1), late, New);
    assert_eq!((queue.next_due(), queue.take(now, New)), (Some(soon), None));
    assert_eq!(queue.take(soon, New), Some(key("a", 1)));
    queue.push_at(key("a", 1), late, New);
    queue.push(key("a", 1), New);
    queue.done(&key("a", 1));
    assert_eq!((queue.next_due(), queue.take(soon, New)), (None, Some(key("a", 1))));
}

#[test]
fn a_delay_given_during_a_reconcile_applies_after_it() {
    let (mut queue, now) = (queue(), Instant::now());
    let soon = now + Duration::from_secs(1);
    queue.push(key("a", 1), New);
    queue.take(now, New);
    queue.push_at(key("a", 1), soon, New);
    assert_eq!(queue.take(soon, New), None);
    queue.done(&key("a", 1));
    assert!(queue.is_idle(now) && !queue.is_idle(soon));
    assert_eq!(queue.take(soon, New), Some(key("a", 1)));
}

#[test]
fn a_single_object_is_not_delayed_by_ten_thousand_of_another_namespace() {
    let (mut queue, now) = (queue(), Instant::now());
    (0..10_000).for_each(|name| queue.push(key("crowd", name), New));
    queue.push(key("lone", 1), New);
    let first: Vec<_> = (0..2).filter_map(|_| queue.take(now, New)).collect();
    assert!(first.contains(&key("lone", 1)), "{first:?}");
}

#[test]
fn keys_in_progress_are_not_delayed_by_new_keys() {
    let (mut queue, now) = (queue(), Instant::now());
    (0..10).for_each(|name| queue.push(key("a", name), New));
    queue.push(key("a", 7), InProgress);
    assert_eq!(queue.depth(), 10);
    assert_eq!((queue.take(now, InProgress), queue.take(now, InProgress)), (Some(key("a", 7)), None));
    let rest: Vec<_> = std::iter::from_fn(|| queue.take(now, New)).map(|key| key.1).collect();
    assert_eq!(rest, [0, 1, 2, 3, 4, 5, 6, 8, 9]);
}

#[test]
fn a_change_moves_a_settled_key_ahead_of_ten_thousand_others() {
    let (mut queue, now) = (queue(), Instant::now());
    (0..10_000).for_each(|name| queue.push(key("a", name), Resync));
    queue.push(key("a", 9999), New);
    assert_eq!((queue.depth(), queue.take(now, New)), (10_000, Some(key("a", 9999))));
    assert_eq!((queue.take(now, New), queue.take(now, Resync)), (None, Some(key("a", 0))));
}

#[derive(Clone, Debug)]
enum Step {
    Push(Key, Stage),
    PushIn(Key, u64, Stage),
    Take(Stage),
    Done(usize),
    Pass(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let key = || ("[a-c]", 0_u32..4);
    let stage = || prop_oneof![Just(Resync), Just(New), Just(InProgress)];
    let step = prop_oneof![
        3 => (key(), stage()).prop_map(|(key, stage)| Step::Push(key, stage)),
        2 => (key(), 0_u64..50, stage()).prop_map(|(key, wait, stage)| Step::PushIn(key, wait, stage)),
        4 => stage().prop_map(Step::Take),
        3 => (0_usize..8).prop_map(Step::Done),
        1 => (0_u64..30).prop_map(Step::Pass),
    ];
    prop::collection::vec(step, 0..200)
}

proptest! {
    #[test]
    fn no_key_is_lost_and_none_is_reconciled_twice_at_the_same_time(steps in steps()) {
        let (mut queue, mut now) = (queue(), Instant::now());
        // Model of the queue: due time and stage of each key.
        let mut expected: BTreeMap<Key, (Instant, Stage)> = BTreeMap::new();
        let mut working: Vec<Key> = Vec::new();
        for step in steps {
            match step {
                Step::Push(key, stage) => {
                    let stage = expected.get(&key).map_or(stage, |(_, before)| stage.max(*before));
                    expected.insert(key.clone(), (now, stage));
                    queue.push(key, stage);
                }
                Step::PushIn(key, wait, stage) => {
                    let at = now + Duration::from_millis(wait);
                    let due = expected.entry(key.clone()).or_insert((at, stage));
                    *due = (at.min(due.0), stage.max(due.1));
                    queue.push_at(key, at, stage);
                }
                Step::Take(stage) => {
                    if let Some(key) = queue.take(now, stage) {
                        prop_assert!(!working.contains(&key), "{key:?} is already being reconciled");
                        let due = expected.remove(&key);
                        let is_due = due.is_some_and(|due| due.0 <= now && due.1 == stage);
                        prop_assert!(is_due, "{key:?} was due {due:?}");
                        working.push(key);
                    } else {
                        let mut open = expected.iter().filter(|(key, _)| !working.contains(key));
                        prop_assert!(open.all(|(_, due)| due.0 > now || due.1 != stage));
                    }
                }
                Step::Done(at) if at < working.len() => queue.done(&working.swap_remove(at)),
                Step::Done(_) => {}
                Step::Pass(wait) => now += Duration::from_millis(wait),
            }
        }
        for key in &working {
            queue.done(key);
        }
        now += Duration::from_secs(1);
        let mut rest = BTreeSet::new();
        let stages = [InProgress, New, Resync];
        while let Some(key) = stages.iter().find_map(|stage| queue.take(now, *stage)) {
            prop_assert!(rest.insert(key));
        }
        prop_assert!(rest.iter().eq(expected.keys()), "{rest:?} instead of {expected:?}");
        for key in &rest {
            queue.done(key);
        }
        prop_assert!(queue.is_idle(now) && queue.keys.is_empty() && queue.next_due().is_none());
    }

    #[test]
    fn namespaces_take_turns(
        keys in prop::collection::vec(("[a-e]", 0_u32..40), 1..150)
    ) {
        let (mut queue, now) = (queue(), Instant::now());
        let mut lanes: BTreeMap<String, Vec<Key>> = BTreeMap::new();
        for key in keys {
            let lane = lanes.entry(key.0.clone()).or_default();
            if !lane.contains(&key) {
                lane.push(key.clone());
            }
            queue.push(key, New);
        }
        let taken: Vec<Key> = std::iter::from_fn(|| queue.take(now, New)).collect();
        for lane in lanes.values() {
            for (ahead, key) in lane.iter().enumerate() {
                let turn = taken.iter().position(|other| other == key).unwrap();
                prop_assert!(turn < (ahead + 1) * lanes.len(), "{key:?} was taken as number {turn}");
            }
        }
    }
}
