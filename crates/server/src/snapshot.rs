//! Inputs of a decision about one Workload, read from the API for one response.
//!
//! Objects are read by name or by the name of the Workload, so that the cost does not depend on the number of Workloads.

use std::{collections::BTreeSet, sync::Arc};

use k8s_openapi::{api::core::v1::Namespace, jiff::Timestamp};
use kube::{
    Api, Client, Resource, ResourceExt,
    api::{ApiResource, DynamicObject, ListParams},
};
use orchestra_api::{PlatformPolicy, ResourceClaim, Workload, WorkloadExposure, WorkloadPlan, label};
use orchestra_core::{
    Inputs, Observed, claim_state,
    config::{Config, PlatformKind},
    inputs::QueueState,
    preview::{self, ObjectKind, PreviewContext},
};
use serde::{Deserialize as _, de::DeserializeOwned};
use serde_json::Value as Json;

use crate::{Server, config::config_in_force};

/// Workload and related objects in the API.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// Workload, if it exists.
    pub(crate) live: Option<Workload>,
    /// Namespace, if it exists.
    pub(crate) namespace: Option<Namespace>,
    policies: Vec<PlatformPolicy>,
    unreadable_policies: Vec<Json>,
    config: Arc<Config>,
    claims: Vec<ResourceClaim>,
    plan: Option<WorkloadPlan>,
    exposure: Option<WorkloadExposure>,
    runtimes: BTreeSet<String>,
    /// Objects that cannot be deserialized.
    malformed: Vec<(ObjectKind, String)>,
}

/// Reads a Workload and everything that a decision about it depends on.
pub async fn read(
    client: &Client,
    runtimes: BTreeSet<String>,
    namespace: &str,
    name: &str,
) -> kube::Result<Snapshot> {
    let platform = PlatformKind::of(runtimes.iter().map(String::as_str));
    let workloads: Api<Workload> = Api::namespaced(client.clone(), namespace);
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let (live, namespace, (policies, unreadable_policies), config, claims, plan, exposure) = tokio::try_join!(
        workloads.get_opt(name),
        namespaces.get_opt(namespace),
        read_policies(client),
        config_in_force(client, platform),
        read_claims(client, namespace, name),
        read_object::<WorkloadPlan>(client, namespace, name),
        read_object::<WorkloadExposure>(client, namespace, name),
    )?;
    let config = config.config;
    let mut malformed = Vec::new();
    let claims =
        claims.into_iter().filter_map(|claim| valid(claim, ObjectKind::ResourceClaim, &mut malformed));
    let claims = claims.collect();
    let plan = plan.and_then(|plan| valid(plan, ObjectKind::WorkloadPlan, &mut malformed));
    let exposure =
        exposure.and_then(|exposure| valid(exposure, ObjectKind::WorkloadExposure, &mut malformed));
    Ok(Snapshot {
        live,
        namespace,
        policies,
        unreadable_policies,
        config,
        claims,
        plan,
        exposure,
        runtimes,
        malformed,
    })
}

impl Snapshot {
    /// Inputs of a decision about the existing Workload; `None` if it does not exist.
    pub fn inputs(self, now: Timestamp) -> Option<Inputs> {
        let live = self.live.clone()?;
        Some(self.assemble(live, now))
    }

    /// Inputs of a decision after an apply of this Workload.
    pub(crate) fn proposing(self, proposed: Workload, now: Timestamp) -> Inputs {
        let workload = preview::propose(self.live.as_ref(), proposed);
        self.assemble(workload, now)
    }

    /// Further inputs of a preview, without the claims and plans of other Workloads.
    pub(crate) fn preview_context(&self, server: &Server) -> PreviewContext {
        PreviewContext {
            live: self.live.clone(),
            claims: Vec::new(),
            plans: Vec::new(),
            engines: server.engines.clone(),
            capabilities: server.capabilities(),
            malformed: self.malformed.clone(),
        }
    }

    fn assemble(self, workload: Workload, now: Timestamp) -> Inputs {
        let Self {
            live: _,
            namespace,
            policies,
            unreadable_policies,
            config,
            claims,
            plan,
            exposure,
            runtimes,
            malformed: _,
        } = self;
        let observed = Observed {
            workload,
            namespace,
            policies,
            unreadable_policies,
            config,
            claims,
            plan,
            exposure,
            runtimes,
        };
        Inputs::assemble(observed, now, QueueState::default())
    }
}

/// Reads the claims of other Workloads to these instances, which [`preview::shared_instances`] lists.
pub(crate) async fn read_sharers(
    client: &Client,
    namespace: &str,
    instances: BTreeSet<String>,
) -> kube::Result<Vec<ResourceClaim>> {
    if instances.is_empty() {
        return Ok(Vec::new());
    }
    let instances: Vec<String> = instances.into_iter().collect();
    let selector = format!("{} in ({})", label::INSTANCE, instances.join(","));
    let listed = list_claims(client, namespace, &ListParams::default().labels(&selector)).await?;
    let mut malformed = Vec::new();
    Ok(listed
        .into_iter()
        .filter_map(|claim| valid(claim, ObjectKind::ResourceClaim, &mut malformed))
        .collect())
}

/// Reads the plans of the Workloads of those claims that may be kept for what still runs.
pub(crate) async fn read_plans(
    client: &Client,
    namespace: &str,
    claims: &[ResourceClaim],
) -> kube::Result<Vec<WorkloadPlan>> {
    let (mut plans, mut malformed) = (Vec::new(), Vec::new());
    for name in preview::kept_by(claims) {
        let plan = read_object::<WorkloadPlan>(client, namespace, &name).await?;
        plans.extend(plan.and_then(|plan| valid(plan, ObjectKind::WorkloadPlan, &mut malformed)));
    }
    Ok(plans)
}

/// Policies that deserialize, and the others.
async fn read_policies(client: &Client) -> kube::Result<(Vec<PlatformPolicy>, Vec<Json>)> {
    let resource = ApiResource::erase::<PlatformPolicy>(&());
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
    let (mut policies, mut unreadable) = (Vec::new(), Vec::new());
    for object in api.list(&ListParams::default()).await?.items {
        let object = serde_json::to_value(object).map_err(kube::Error::SerdeError)?;
        match PlatformPolicy::deserialize(&object) {
            Ok(policy) => policies.push(policy),
            Err(_) => unreadable.push(object),
        }
    }
    Ok((policies, unreadable))
}

async fn read_claims(client: &Client, namespace: &str, name: &str) -> kube::Result<Vec<DynamicObject>> {
    list_claims(client, namespace, &ListParams::default().fields(&claim_state::of_workload(name))).await
}

async fn list_claims(
    client: &Client,
    namespace: &str,
    selected: &ListParams,
) -> kube::Result<Vec<DynamicObject>> {
    let resource = ApiResource::erase::<ResourceClaim>(&());
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &resource);
    Ok(api.list(selected).await?.items)
}

/// Object of this name, if it exists.
async fn read_object<K>(client: &Client, namespace: &str, name: &str) -> kube::Result<Option<DynamicObject>>
where
    K: Resource<DynamicType = ()>,
{
    let api: Api<DynamicObject> =
        Api::namespaced_with(client.clone(), namespace, &ApiResource::erase::<K>(&()));
    api.get_opt(name).await
}

/// Object as its type. A malformed one is recorded: unlike a controller, this has no earlier version of it.
fn valid<K: DeserializeOwned>(
    object: DynamicObject,
    kind: ObjectKind,
    malformed: &mut Vec<(ObjectKind, String)>,
) -> Option<K> {
    let name = object.name_any();
    match serde_json::to_value(object).and_then(serde_json::from_value) {
        Ok(object) => Some(object),
        Err(error) => {
            tracing::warn!(?kind, name, "malformed object: {error}");
            malformed.push((kind, name));
            None
        }
    }
}
