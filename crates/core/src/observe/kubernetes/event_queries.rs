//! Choice of the failures whose events are queried: queries are limited, and every failure has its turn.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

/// Intervals in which a failure is queried every time: two minutes. Later events are rare:
const FREQUENT_INTERVALS: u32 = 120;
/// then only once in this number of intervals.
const SLOW_QUERY_FACTOR: u32 = 5;
/// Queries in one interval: bounds the load on the API server when a node fails.
const MAX_QUERIES: usize = 30;

/// Failures without a known cause.
#[derive(Debug)]
pub struct EventQueries<K>(BTreeMap<K, Failure>);

#[derive(Clone, Copy, Debug, Default)]
struct Failure {
    /// Intervals since it was found.
    age: u32,
    /// Intervals since its last query, or since it was found.
    waited: u32,
}

impl<K> Default for EventQueries<K> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<K: Ord + Clone> EventQueries<K> {
    /// Failures to query in this interval, given all current ones: those that waited longest first, of these the newest. A failure is
    /// first queried in its second interval, since most pass.
    pub fn due(&mut self, failures: BTreeSet<K>) -> Vec<K> {
        self.0.retain(|failure, _| failures.contains(failure));
        for failure in failures {
            let state = self.0.entry(failure).or_default();
            state.age = state.age.saturating_add(1);
            state.waited = state.waited.saturating_add(1);
        }
        let is_due = |state: &Failure| {
            state.age > 1 && (state.age < FREQUENT_INTERVALS || state.waited >= SLOW_QUERY_FACTOR)
        };
        let mut due: Vec<_> = self.0.iter_mut().filter(|(_, state)| is_due(state)).collect();
        due.sort_by_key(|(_, state)| (Reverse(state.waited), state.age));
        due.truncate(MAX_QUERIES);
        due.into_iter()
            .map(|(failure, state)| {
                state.waited = 0;
                failure.clone()
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_failure_is_queried_even_if_there_are_more_than_an_interval_allows() {
        let failures: BTreeSet<_> = (0..100).collect();
        let mut queries = EventQueries::default();
        let mut queried = BTreeSet::new();
        for _ in 0..5 {
            let due = queries.due(failures.clone());
            assert!(due.len() <= MAX_QUERIES);
            queried.extend(due);
        }
        assert_eq!(queried, failures);
    }

    #[test]
    fn a_failure_is_queried_from_its_second_interval_on_and_less_often_after_a_while() {
        let mut queries = EventQueries::default();
        let queried: Vec<_> = (1..=200).filter(|_| !queries.due([()].into()).is_empty()).collect();
        assert_eq!((queried[0], queried[1]), (2, 3));
        let late: Vec<_> = queried.iter().filter(|interval| **interval >= 150).take(3).collect();
        assert_eq!((late[1] - late[0], late[2] - late[1]), (5, 5));
    }

    #[test]
    fn a_failure_that_passed_and_returns_is_new() {
        let mut queries = EventQueries::default();
        let _ = queries.due(["a"].into());
        let _ = queries.due(BTreeSet::new());
        assert!(queries.due(["a"].into()).is_empty());
        assert_eq!(queries.due(["a"].into()), ["a"]);
    }
}
