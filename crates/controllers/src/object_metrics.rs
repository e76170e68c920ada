//! Number of objects by state, updated with each change. Only the leader publishes it: the sum over all processes is right.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use orchestra_api::{ResourceClaim, Workload, WorkloadPlan};
use serde::Serialize;
use serde_json::Value as Json;

use crate::{engine::cache::ObjectChange, metrics::Metrics};

/// State of an object: kind, condition or phase, and its value.
type State = (&'static str, String, String);

/// Number of objects by state. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct ObjectMetrics {
    counts: Arc<Mutex<BTreeMap<State, i64>>>,
    is_published: Arc<AtomicBool>,
    metrics: Metrics,
}

impl ObjectMetrics {
    pub(crate) fn new(metrics: Metrics) -> Self {
        Self { counts: Arc::default(), is_published: Arc::default(), metrics }
    }

    /// Publishes the numbers from now on.
    pub(crate) fn publish(&self) {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        self.is_published.store(true, Ordering::Relaxed);
        for (state, count) in counts.iter() {
            self.metrics.set_objects(state.0, &state.1, &state.2, *count);
        }
    }

    pub(crate) fn workload(&self, change: &ObjectChange<Workload>) {
        self.count(change, |workload| {
            let conditions = workload.status.iter().flat_map(|status| &status.conditions);
            conditions
                .map(|condition| ("Workload", condition.type_.to_string(), condition.status.to_string()))
                .collect()
        });
    }

    pub(crate) fn claim(&self, change: &ObjectChange<ResourceClaim>) {
        self.count(change, |claim| {
            let phase = claim.status.as_ref().map(|status| status.phase).unwrap_or_default();
            vec![("ResourceClaim", "Phase".to_owned(), name(phase))]
        });
    }

    pub(crate) fn plan(&self, change: &ObjectChange<WorkloadPlan>) {
        self.count(change, |plan| {
            let phase = plan.status.as_ref().map(|status| status.phase).unwrap_or_default();
            vec![("WorkloadPlan", "Phase".to_owned(), name(phase))]
        });
    }

    fn count<K>(&self, change: &ObjectChange<K>, states: impl Fn(&K) -> Vec<State>) {
        let was = change.previous.as_ref().map(&states).unwrap_or_default();
        let is = if change.gone { Vec::new() } else { states(&change.object) };
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        for (states, step) in [(was, -1), (is, 1)] {
            for state in states {
                let count = counts.entry(state.clone()).or_default();
                *count += step;
                if self.is_published.load(Ordering::Relaxed) {
                    self.metrics.set_objects(state.0, &state.1, &state.2, *count);
                }
            }
        }
    }
}

/// Name of a phase, as in the API.
fn name(phase: impl Serialize) -> String {
    let name = serde_json::to_value(phase).ok();
    name.as_ref().and_then(Json::as_str).unwrap_or_default().to_owned()
}
