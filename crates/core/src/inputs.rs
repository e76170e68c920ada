//! Everything that a decision about one Workload rests on, and what of it is the Workload's own.

use std::collections::BTreeMap;

use k8s_openapi::{
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference},
    jiff::Timestamp,
};
use orchestra_api::{PlatformPolicy, ResourceClaim, Workload, WorkloadExposure, WorkloadPlan, WorkloadRef};

use crate::{config::Config, provision};

/// Everything that a decision about one Workload rests on.
#[derive(Clone, Debug)]
pub struct Inputs {
    /// The Workload.
    pub workload: Workload,
    /// Its namespace.
    pub namespace: Namespace,
    /// The platform's policies, all of them.
    pub policies: Vec<PlatformPolicy>,
    /// The platform's document.
    pub config: std::sync::Arc<Config>,
    /// The claims that bear the Workload's name.
    pub claims: Vec<ResourceClaim>,
    /// The plan that bears its name.
    pub plan: Option<WorkloadPlan>,
    /// The exposure that bears its name.
    pub exposure: Option<WorkloadExposure>,
    /// The time of day.
    pub now: Timestamp,
}

/// What is known of a namespace.
#[derive(Clone, Debug, Default)]
pub struct Namespace {
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Whether it is going away; nothing can be made in it any more.
    pub terminating: bool,
}

/// What there is under the Workload's name: its own, and what is in the way.
#[derive(Debug)]
pub(crate) struct Live<'a> {
    /// Its own claims, by name.
    pub(crate) claims: BTreeMap<&'a str, &'a ResourceClaim>,
    /// The names of claims that others hold.
    pub(crate) foreign_claims: Vec<&'a str>,
    /// Its plan.
    pub(crate) plan: Held<'a, WorkloadPlan>,
    /// Its exposure.
    pub(crate) exposure: Held<'a, WorkloadExposure>,
}

/// Who holds a name.
#[derive(Debug)]
pub(crate) enum Held<'a, K> {
    /// Nobody.
    Free,
    /// The Workload itself.
    Ours(&'a K),
    /// Another Workload, or an earlier one of the same name.
    Foreign,
}

impl<'a, K> Held<'a, K> {
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

impl Live<'_> {
    /// Whether a claim that somebody deletes is kept all the same, since what runs uses it: it is released only once
    /// nothing does, so until then it gives what it gave.
    pub(crate) fn is_kept(&self, claim: &ResourceClaim) -> bool {
        let plan = self.plan.ours().filter(|plan| plan.metadata.deletion_timestamp.is_none());
        !provision::is_releasing(claim) && plan.is_some_and(|plan| provision::is_in_use(claim, plan))
    }
}

impl Inputs {
    /// How others refer to the Workload.
    pub fn workload_ref(&self) -> WorkloadRef {
        let ObjectMeta { name, uid, .. } = &self.workload.metadata;
        WorkloadRef { name: name.clone().unwrap_or_default(), uid: uid.clone().unwrap_or_default() }
    }

    /// The namespace of the Workload.
    pub fn namespace_name(&self) -> &str {
        self.workload.metadata.namespace.as_deref().unwrap_or_default()
    }

    /// The generation that is looked at.
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
            // The Workload waits for its own by its finalizer, in an order that the collector does not know.
            block_owner_deletion: Some(false),
        }
    }

    /// Its own claims, by name.
    pub(crate) fn live_claims(&self) -> BTreeMap<String, ResourceClaim> {
        let live = self.live();
        live.claims.into_iter().map(|(name, claim)| (name.to_owned(), claim.clone())).collect()
    }

    pub(crate) fn live(&self) -> Live<'_> {
        let me = self.workload_ref();
        let mut live = Live {
            claims: BTreeMap::new(),
            foreign_claims: Vec::new(),
            plan: Held::of(self.plan.as_ref(), |plan| plan.spec.workload_ref == me),
            exposure: Held::of(self.exposure.as_ref(), |exposure| exposure.spec.workload_ref == me),
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
