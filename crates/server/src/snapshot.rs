//! Inputs of a decision about one Workload, read from the API for one response.
//!
//! Objects are read by name or by the name of the Workload, so that the cost does not depend on the number of Workloads.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use k8s_openapi::{api::core::v1::Namespace, jiff::Timestamp};
use kube::{
    Api, Client, Resource, ResourceExt,
    api::{ApiResource, DynamicObject, ListParams},
};
use orchestra_api::{PlatformPolicy, ResourceClaim, Workload, WorkloadExposure, WorkloadPlan, label};
use orchestra_core::{
    Inputs, Observed, claim_state,
    config::{Config, PlatformKind},
    preview::{self, PreviewContext},
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
        read_valid::<WorkloadPlan>(client, namespace, name),
        read_valid::<WorkloadExposure>(client, namespace, name),
    )?;
    let config = config.config;
    Ok(Snapshot { live, namespace, policies, unreadable_policies, config, claims, plan, exposure, runtimes })
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

    /// Further inputs of a preview, without the claims of other Workloads.
    pub(crate) fn preview_context(&self, server: &Server) -> PreviewContext {
        PreviewContext {
            live: self.live.clone(),
            claims: Vec::new(),
            engines: server.engines.clone(),
            capabilities: server.capabilities(),
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
        Inputs::assemble(observed, now, Duration::ZERO)
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
    list_claims(client, namespace, &ListParams::default().labels(&selector)).await
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

async fn read_claims(client: &Client, namespace: &str, name: &str) -> kube::Result<Vec<ResourceClaim>> {
    list_claims(client, namespace, &ListParams::default().fields(&claim_state::of_workload(name))).await
}

/// Selected claims. Malformed ones are skipped, as in the controllers.
async fn list_claims(
    client: &Client,
    namespace: &str,
    selected: &ListParams,
) -> kube::Result<Vec<ResourceClaim>> {
    let resource = ApiResource::erase::<ResourceClaim>(&());
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &resource);
    let listed = api.list(selected).await?;
    Ok(listed.into_iter().filter_map(valid).collect())
}

/// Object of this name; `None` if there is none, or if it is malformed, as in the controllers.
async fn read_valid<K>(client: &Client, namespace: &str, name: &str) -> kube::Result<Option<K>>
where
    K: Resource<DynamicType = ()> + DeserializeOwned,
{
    let api: Api<DynamicObject> =
        Api::namespaced_with(client.clone(), namespace, &ApiResource::erase::<K>(&()));
    Ok(api.get_opt(name).await?.and_then(valid))
}

/// Object as its type; `None` if it is malformed.
fn valid<K: DeserializeOwned>(object: DynamicObject) -> Option<K> {
    let (kind, name) = (object.types.as_ref().map(|types| types.kind.clone()), object.name_any());
    match serde_json::to_value(object).and_then(serde_json::from_value) {
        Ok(object) => Some(object),
        Err(error) => {
            tracing::warn!(kind, name, "a malformed object is ignored: {error}");
            None
        }
    }
}
