//! Context of the controllers: one cache per kind, the config in force and the clock.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use k8s_openapi::{api::core::v1::Namespace, jiff::Timestamp};
use kube::ResourceExt;
use orchestra_api::{PlatformPolicy, ResourceClaim, Workload, WorkloadExposure, WorkloadPlan};
use orchestra_core::{
    Inputs, Observed, claim_state,
    inputs::{self, QueueState},
    provision::service_ref,
};
use serde_json::Value as Json;

use crate::{
    config_watcher::SharedConfig,
    engine::cache::{self, Cache},
};

/// Context shared by all controllers.
#[derive(Clone, Debug)]
pub struct Context {
    /// Workloads, with the annotations of their authors only.
    pub workloads: Cache<Workload>,
    /// Policies.
    pub policies: Cache<PlatformPolicy>,
    /// Claims, by Workload and by instance.
    pub claims: Cache<ResourceClaim>,
    /// Plans.
    pub plans: Cache<WorkloadPlan>,
    /// Exposures.
    pub exposures: Cache<WorkloadExposure>,
    /// Namespaces.
    pub namespaces: Cache<Namespace>,
    /// Orchestrator config in force.
    pub config: SharedConfig,
    /// Classes of the built-in runtimes.
    pub runtimes: Arc<BTreeSet<String>>,
    /// Current time.
    pub clock: fn() -> Timestamp,
    /// Number of Workloads that wait to be reconciled.
    pub backlog: Arc<AtomicUsize>,
}

impl Context {
    /// Context with empty caches.
    pub fn new(clock: fn() -> Timestamp) -> Self {
        Self {
            workloads: Cache::new(cache::Options { prune: inputs::prune, ..cache::Options::default() }),
            policies: Cache::default(),
            claims: Cache::new(cache::Options { index: claim_keys, ..cache::Options::default() }),
            plans: Cache::default(),
            exposures: Cache::default(),
            namespaces: Cache::default(),
            config: SharedConfig::default(),
            runtimes: Arc::default(),
            clock,
            backlog: Arc::default(),
        }
    }

    /// Inputs of a decision about a Workload, whose first status has been deferred for this long.
    pub fn inputs(&self, workload: Workload, deferred_for: Duration) -> Inputs {
        let namespace = workload.namespace().unwrap_or_default();
        let name = workload.name_any();
        let observed = Observed {
            namespace: self.namespaces.get("", &namespace),
            policies: self.policies.all(),
            unreadable_policies: self.unreadable_policies(),
            config: self.config.get(),
            claims: self.claims.indexed(&by_workload(&namespace, &name)),
            plan: self.plans.get(&namespace, &name),
            exposure: self.exposures.get(&namespace, &name),
            runtimes: BTreeSet::clone(&self.runtimes),
            workload,
        };
        let queue = QueueState { deferred_for, backlog: self.backlog.load(Ordering::Relaxed) };
        Inputs::assemble(observed, (self.clock)(), queue)
    }

    /// Policies that cannot be deserialized.
    pub(crate) fn unreadable_policies(&self) -> Vec<Json> {
        self.policies.invalid().iter().filter_map(|json| serde_json::from_str(json).ok()).collect()
    }
}

/// Index key of the claims with a Workload's name.
pub fn by_workload(namespace: &str, workload: &str) -> String {
    format!("workload/{namespace}/{workload}")
}

/// Index key of the claims of a namespace that refer to its Workloads.
pub fn refers_to_workloads(namespace: &str) -> String {
    format!("refers-to-workloads/{namespace}")
}

/// Index key of the claims of an instance.
pub fn by_instance(namespace: &str, instance: &str) -> String {
    format!("instance/{namespace}/{instance}")
}

fn claim_keys(claim: &ResourceClaim) -> Vec<String> {
    let namespace = claim.namespace().unwrap_or_default();
    let instance = by_instance(&namespace, &claim_state::instance(claim));
    let about = service_ref::refers_to_workloads(&claim.spec.type_).then(|| refers_to_workloads(&namespace));
    let own = by_workload(&namespace, claim_state::workload(claim));
    [instance, own].into_iter().chain(about).collect()
}
