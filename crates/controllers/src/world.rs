//! What the controllers know: one cache for each kind, shared by all of them.

use k8s_openapi::{api::core::v1::Namespace, jiff::Timestamp};
use kube::ResourceExt;
use orchestra_api::{
    PlatformPolicy, ResourceClaim, Workload, WorkloadExposure, WorkloadPlan, annotation, label,
};
use orchestra_core::{Inputs, inputs, provision::neighbour};

use crate::{
    cache::{self, Cache},
    settings::Settings,
};

/// What the controllers know.
#[derive(Clone, Debug)]
pub struct World {
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
    /// The platform's document.
    pub settings: Settings,
    /// The time of day.
    pub clock: fn() -> Timestamp,
}

impl World {
    /// A world of which nothing is known yet.
    pub fn new(clock: fn() -> Timestamp) -> Self {
        Self {
            workloads: Cache::new(cache::Options { prune: prune_workload, ..cache::Options::default() }),
            policies: Cache::default(),
            claims: Cache::new(cache::Options { index: claim_keys, ..cache::Options::default() }),
            plans: Cache::default(),
            exposures: Cache::default(),
            namespaces: Cache::default(),
            settings: Settings::default(),
            clock,
        }
    }

    /// Everything that a decision about a Workload rests on.
    pub fn inputs(&self, workload: Workload) -> Inputs {
        let namespace = workload.namespace().unwrap_or_default();
        let name = workload.name_any();
        let home = self.namespaces.get("", &namespace);
        Inputs {
            namespace: home.map(|home| namespace_of(&home)).unwrap_or_default(),
            policies: self.policies.all(),
            config: self.settings.config(),
            claims: self.claims.indexed(&by_workload(&namespace, &name)),
            plan: self.plans.get(&namespace, &name),
            exposure: self.exposures.get(&namespace, &name),
            now: (self.clock)(),
            workload,
        }
    }
}

/// What decisions look at in a namespace.
pub fn namespace_of(namespace: &Namespace) -> inputs::Namespace {
    inputs::Namespace {
        labels: namespace.metadata.labels.clone().unwrap_or_default(),
        terminating: namespace.metadata.deletion_timestamp.is_some(),
    }
}

/// The key of all claims that bear the name of a Workload.
pub fn by_workload(namespace: &str, workload: &str) -> String {
    format!("workload/{namespace}/{workload}")
}

/// The key of all claims of a namespace that are about its Workloads.
pub fn about_workloads(namespace: &str) -> String {
    format!("about-workloads/{namespace}")
}

/// The key of all claims of an instance.
pub fn by_instance(namespace: &str, instance: &str) -> String {
    format!("instance/{namespace}/{instance}")
}

fn claim_keys(claim: &ResourceClaim) -> Vec<String> {
    let namespace = claim.namespace().unwrap_or_default();
    let instance = claim.labels().get(label::INSTANCE).map(|instance| by_instance(&namespace, instance));
    let about = neighbour::is_about_workloads(&claim.spec.type_).then(|| about_workloads(&namespace));
    let own = by_workload(&namespace, &claim.spec.workload_ref.name);
    instance.into_iter().chain(about).chain([own]).collect()
}

/// Who wrote which annotation is told by the managed fields, which are then of no more use.
fn prune_workload(workload: &mut Workload) {
    let annotations = annotation::of_score(&workload.metadata);
    workload.metadata.annotations = (!annotations.is_empty()).then_some(annotations);
    workload.metadata.managed_fields = None;
}
