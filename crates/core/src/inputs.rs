//! Inputs of a decision about one Workload, and which of them the Workload owns.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use k8s_openapi::{
    api::core::v1::Namespace,
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference},
    jiff::Timestamp,
};
use orchestra_api::{
    PlatformPolicy, ResourceClaim, Workload, WorkloadExposure, WorkloadPlan, WorkloadRef, annotation,
};

use serde_json::Value as Json;

use crate::{
    claim_state,
    config::Config,
    policy::{self, UnreadablePolicy},
};

/// Inputs of a decision about one Workload. [`Inputs::assemble`] makes them from objects of the API.
#[derive(Clone, Debug)]
pub struct Inputs {
    /// The Workload, with the annotations of its author only.
    pub workload: Workload,
    /// Its namespace; absent if it has not been observed yet.
    pub namespace: Option<NamespaceFacts>,
    /// All policies of the platform, with the last accepted versions of those that cannot be deserialized.
    pub policies: Vec<PlatformPolicy>,
    /// Policies that cannot be deserialized.
    pub unreadable_policies: Vec<UnreadablePolicy>,
    /// The orchestrator config in force.
    pub config: Arc<Config>,
    /// Claims with the Workload's name.
    pub claims: Vec<ResourceClaim>,
    /// Plan with the Workload's name.
    pub plan: Option<WorkloadPlan>,
    /// Exposure with the Workload's name.
    pub exposure: Option<WorkloadExposure>,
    /// Classes of the built-in runtimes.
    pub runtimes: BTreeSet<String>,
    /// Current time.
    pub now: Timestamp,
    /// State of the queue.
    pub queue: QueueState,
}

/// State of the queue of Workloads; nothing waits in a preview.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueState {
    /// Time for which the first status of this one has been deferred.
    pub deferred_for: Duration,
    /// Number of Workloads that wait to be reconciled.
    pub backlog: usize,
}

/// Facts about a namespace that decisions depend on.
#[derive(Clone, Debug, Default)]
pub struct NamespaceFacts {
    /// Labels, which policies select.
    pub labels: BTreeMap<String, String>,
    /// True if it is being deleted: nothing can be created in it.
    pub terminating: bool,
}

impl From<&Namespace> for NamespaceFacts {
    fn from(namespace: &Namespace) -> Self {
        Self {
            labels: namespace.metadata.labels.clone().unwrap_or_default(),
            terminating: namespace.metadata.deletion_timestamp.is_some(),
        }
    }
}

/// Objects of the API around one Workload, the config in force and the built-in runtimes.
#[derive(Clone, Debug)]
pub struct Observed {
    /// The Workload.
    pub workload: Workload,
    /// Its namespace, if it was observed.
    pub namespace: Option<Namespace>,
    /// All policies of the platform that can be deserialized, and known earlier versions of the others.
    pub policies: Vec<PlatformPolicy>,
    /// Policies that cannot be deserialized.
    pub unreadable_policies: Vec<Json>,
    /// The orchestrator config in force.
    pub config: Arc<Config>,
    /// Claims with the Workload's name.
    pub claims: Vec<ResourceClaim>,
    /// Plan with the Workload's name.
    pub plan: Option<WorkloadPlan>,
    /// Exposure with the Workload's name.
    pub exposure: Option<WorkloadExposure>,
    /// Classes of the built-in runtimes.
    pub runtimes: BTreeSet<String>,
}

/// Objects with the Workload's name, by owner.
#[derive(Debug)]
pub(crate) struct Owned<'a> {
    /// Its own claims, by name.
    pub(crate) claims: BTreeMap<&'a str, &'a ResourceClaim>,
    /// Names of claims with another owner.
    pub(crate) foreign_claims: Vec<&'a str>,
    /// Its plan.
    pub(crate) plan: Ownership<'a, WorkloadPlan>,
    /// Its exposure.
    pub(crate) exposure: Ownership<'a, WorkloadExposure>,
}

/// Owner of a name.
#[derive(Debug)]
pub(crate) enum Ownership<'a, K> {
    /// None.
    Free,
    /// The Workload itself.
    Ours(&'a K),
    /// Another Workload, or an earlier one of the same name.
    Foreign,
}

impl<'a, K> Ownership<'a, K> {
    fn of(object: Option<&'a K>, is_ours: impl Fn(&K) -> bool) -> Self {
        match object {
            None => Self::Free,
            Some(object) if is_ours(object) => Self::Ours(object),
            Some(_) => Self::Foreign,
        }
    }

    pub(crate) fn ours(&self) -> Option<&'a K> {
        match self {
            Self::Ours(object) => Some(object),
            _ => None,
        }
    }
}

impl Owned<'_> {
    /// True if a deleted claim is kept because the running version uses it.
    pub(crate) fn is_kept(&self, claim: &ResourceClaim) -> bool {
        let is_in_use = self.plan.ours().is_some_and(|plan| claim_state::is_in_use(claim, plan));
        claim_state::is_kept(claim, is_in_use)
    }
}

/// Drops what decisions do not read: the managed fields, which identify the author of annotations, and the annotations of
/// other authors.
pub fn prune(workload: &mut Workload) {
    let annotations = annotation::of_score(&workload.metadata);
    workload.metadata.annotations = (!annotations.is_empty()).then_some(annotations);
    workload.metadata.managed_fields = None;
}

impl Inputs {
    /// Inputs made of objects of the API: the same for the controller and for previews of its decision.
    pub fn assemble(observed: Observed, now: Timestamp, queue: QueueState) -> Self {
        let Observed { mut workload, namespace, policies, unreadable_policies, .. } = observed;
        let Observed { config, claims, plan, exposure, runtimes, .. } = observed;
        let (policies, unreadable_policies) = policy::unreadable::resolve(policies, &unreadable_policies);
        prune(&mut workload);
        let namespace = namespace.as_ref().map(NamespaceFacts::from);
        Self {
            workload,
            namespace,
            policies,
            unreadable_policies,
            config,
            claims,
            plan,
            exposure,
            runtimes,
            now,
            queue,
        }
    }

    /// Reference to the Workload.
    pub fn workload_ref(&self) -> WorkloadRef {
        let ObjectMeta { name, uid, .. } = &self.workload.metadata;
        WorkloadRef { name: name.clone().unwrap_or_default(), uid: uid.clone().unwrap_or_default() }
    }

    /// The namespace of the Workload.
    pub fn namespace_name(&self) -> &str {
        self.workload.metadata.namespace.as_deref().unwrap_or_default()
    }

    /// Labels of the namespace.
    pub(crate) fn namespace_labels(&self) -> &BTreeMap<String, String> {
        static NONE: BTreeMap<String, String> = BTreeMap::new();
        self.namespace.as_ref().map_or(&NONE, |namespace| &namespace.labels)
    }

    /// Generation of the Workload.
    pub fn generation(&self) -> i64 {
        self.workload.metadata.generation.unwrap_or_default()
    }

    pub(crate) fn owner_reference(&self) -> OwnerReference {
        let WorkloadRef { name, uid } = self.workload_ref();
        OwnerReference {
            api_version: orchestra_api::API_VERSION.to_owned(),
            kind: "Workload".to_owned(),
            name,
            uid,
            controller: Some(true),
            // The finalizer of the Workload deletes dependents in an order that the garbage collector does not know.
            block_owner_deletion: Some(false),
        }
    }

    /// Its own claims, by name.
    pub(crate) fn live_claims(&self) -> BTreeMap<String, ResourceClaim> {
        let live = self.owned();
        live.claims.into_iter().map(|(name, claim)| (name.to_owned(), claim.clone())).collect()
    }

    pub(crate) fn owned(&self) -> Owned<'_> {
        let me = self.workload_ref();
        let mut live = Owned {
            claims: BTreeMap::new(),
            foreign_claims: Vec::new(),
            plan: Ownership::of(self.plan.as_ref(), |plan| plan.spec.workload_ref == me),
            exposure: Ownership::of(self.exposure.as_ref(), |exposure| exposure.spec.workload_ref == me),
        };
        for claim in &self.claims {
            let name = claim.metadata.name.as_deref().unwrap_or_default();
            if claim.spec.workload_ref == me {
                live.claims.insert(name, claim);
            } else {
                live.foreign_claims.push(name);
            }
        }
        live
    }
}
