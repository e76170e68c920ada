use std::time::Duration;

use proptest::prelude::*;

use super::*;

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
    queue.push(key("a", 1));
    queue.push(key("a", 1));
    assert_eq!(queue.depth(), 1);
    assert_eq!(queue.take(now), Some(key("a", 1)));
    assert_eq!(queue.take(now), None);
}

#[test]
fn a_key_that_is_pushed_while_worked_on_is_taken_again_afterwards() {
    let (mut queue, now) = (queue(), Instant::now());
    queue.push(key("a", 1));
    queue.take(now);
    queue.push(key("a", 1));
    assert_eq!((queue.take(now), queue.depth()), (None, 1));
    assert!(!queue.is_idle(now));
    queue.done(&key("a", 1));
    assert_eq!(queue.take(now), Some(key("a", 1)));
    queue.done(&key("a", 1));
    assert!(queue.is_idle(now));
}

#[test]
fn the_earliest_time_counts() {
    let (mut queue, now) = (queue(), Instant::now());
    let [soon, late] = [1, 9].map(|seconds| now + Duration::from_secs(seconds));
    queue.push_at(key("a", 1), late);
    queue.push_at(key("a", 1), soon);
    queue.push_at(key("a", 1), late);
    assert_eq!((queue.next_due(), queue.take(now)), (Some(soon), None));
    assert_eq!(queue.take(soon), Some(key("a", 1)));
    queue.push_at(key("a", 1), late);
    queue.push(key("a", 1));
    queue.done(&key("a", 1));
    assert_eq!((queue.next_due(), queue.take(soon)), (None, Some(key("a", 1))));
}

#[test]
fn a_time_given_while_worked_on_counts_from_when_the_work_ends() {
    let (mut queue, now) = (queue(), Instant::now());
    let soon = now + Duration::from_secs(1);
    queue.push(key("a", 1));
    queue.take(now);
    queue.push_at(key("a", 1), soon);
    assert_eq!(queue.take(soon), None);
    queue.done(&key("a", 1));
    assert!(queue.is_idle(now) && !queue.is_idle(soon));
    assert_eq!(queue.take(soon), Some(key("a", 1)));
}

#[test]
fn one_object_does_not_wait_for_ten_thousand_of_another_namespace() {
    let (mut queue, now) = (queue(), Instant::now());
    (0..10_000).for_each(|name| queue.push(key("crowd", name)));
    queue.push(key("lone", 1));
    let first: Vec<_> = (0..2).filter_map(|_| queue.take(now)).collect();
    assert!(first.contains(&key("lone", 1)), "{first:?}");
}

#[derive(Clone, Debug)]
enum Step {
    Push(Key),
    PushIn(Key, u64),
    Take,
    Done(usize),
    Pass(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let key = || ("[a-c]", 0_u32..4);
    let step = prop_oneof![
        3 => key().prop_map(Step::Push),
        2 => (key(), 0_u64..50).prop_map(|(key, wait)| Step::PushIn(key, wait)),
        4 => Just(Step::Take),
        3 => (0_usize..8).prop_map(Step::Done),
        1 => (0_u64..30).prop_map(Step::Pass),
    ];
    prop::collection::vec(step, 0..200)
}

proptest! {
    #[test]
    fn no_key_is_lost_and_none_is_worked_on_twice_at_once(steps in steps()) {
        let (mut queue, mut now) = (queue(), Instant::now());
        // What the queue owes: each wanted key, and when.
        let mut owed: BTreeMap<Key, Instant> = BTreeMap::new();
        let mut working: Vec<Key> = Vec::new();
        for step in steps {
            match step {
                Step::Push(key) => {
                    owed.insert(key.clone(), now);
                    queue.push(key);
                }
                Step::PushIn(key, wait) => {
                    let at = now + Duration::from_millis(wait);
                    owed.entry(key.clone()).and_modify(|due| *due = at.min(*due)).or_insert(at);
                    queue.push_at(key, at);
                }
                Step::Take => match queue.take(now) {
                    Some(key) => {
                        prop_assert!(!working.contains(&key), "{key:?} is already worked on");
                        let due = owed.remove(&key);
                        prop_assert!(due.is_some_and(|due| due <= now), "{key:?} was due {due:?}");
                        working.push(key);
                    }
                    None => prop_assert!(owed.iter().all(|(key, due)| working.contains(key) || *due > now)),
                },
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
        while let Some(key) = queue.take(now) {
            prop_assert!(rest.insert(key));
        }
        prop_assert!(rest.iter().eq(owed.keys()), "{rest:?} instead of {owed:?}");
        for key in &rest {
            queue.done(key);
        }
        prop_assert!(queue.is_idle(now) && queue.keys.is_empty() && queue.next_due().is_none());
    }

    #[test]
    fn a_key_waits_for_no_more_than_its_share_of_each_namespace(
        keys in prop::collection::vec(("[a-e]", 0_u32..40), 1..150)
    ) {
        let (mut queue, now) = (queue(), Instant::now());
        let mut lanes: BTreeMap<String, Vec<Key>> = BTreeMap::new();
        for key in keys {
            let lane = lanes.entry(key.0.clone()).or_default();
            if !lane.contains(&key) {
                lane.push(key.clone());
            }
            queue.push(key);
        }
        let taken: Vec<Key> = std::iter::from_fn(|| queue.take(now)).collect();
        for lane in lanes.values() {
            for (ahead, key) in lane.iter().enumerate() {
                let turn = taken.iter().position(|other| other == key).unwrap();
                prop_assert!(turn < (ahead + 1) * lanes.len(), "{key:?} was taken as number {turn}");
            }
        }
    }
}
