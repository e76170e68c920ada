//! How many objects there are in which state, kept up to date change by change.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use orchestra_api::{ResourceClaim, Workload, WorkloadPlan};

use crate::{cache::Change, metrics::Metrics};

/// A state that objects are counted by: a kind, what is spoken of, and how it stands.
type State = (&'static str, String, String);

/// How many objects there are in which state. Clones count together.
#[derive(Clone, Debug)]
pub(crate) struct Tally {
    counts: Arc<Mutex<BTreeMap<State, i64>>>,
    metrics: Metrics,
}

impl Tally {
    pub(crate) fn new(metrics: Metrics) -> Self {
        Self { counts: Arc::default(), metrics }
    }

    pub(crate) fn workload(&self, change: &Change<Workload>) {
        self.count(change, |workload| {
            let conditions = workload.status.iter().flat_map(|status| &status.conditions);
            conditions
                .map(|condition| ("Workload", condition.type_.to_string(), condition.status.to_string()))
                .collect()
        });
    }

    pub(crate) fn claim(&self, change: &Change<ResourceClaim>) {
        self.count(change, |claim| {
            let phase = claim.status.as_ref().map(|status| status.phase).unwrap_or_default();
            vec![("ResourceClaim", "Phase".to_owned(), format!("{phase:?}"))]
        });
    }

    pub(crate) fn plan(&self, change: &Change<WorkloadPlan>) {
        self.count(change, |plan| {
            let phase = plan.status.as_ref().map(|status| status.phase).unwrap_or_default();
            vec![("WorkloadPlan", "Phase".to_owned(), format!("{phase:?}"))]
        });
    }

    fn count<K>(&self, change: &Change<K>, states: impl Fn(&K) -> Vec<State>) {
        let was = change.previous.as_ref().map(&states).unwrap_or_default();
        let is = if change.gone { Vec::new() } else { states(&change.object) };
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        for (states, step) in [(was, -1), (is, 1)] {
            for state in states {
                let count = counts.entry(state.clone()).or_default();
                *count += step;
                self.metrics.set_objects(state.0, &state.1, &state.2, *count);
            }
        }
    }
}
