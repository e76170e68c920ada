//! Everything that a decision about one Workload rests on, read from the API for one answer.
//!
//! Each object is read by its name or by the label of the Workload: an answer costs the same however many Workloads
//! there are.

use std::{collections::BTreeMap, sync::Arc};

use k8s_openapi::{
    api::core::v1::{ConfigMap, Namespace},
    jiff::Timestamp,
};
use kube::{Api, Client, api::ListParams, core::DeserializeGuard};
use orchestra_api::{
    PlatformPolicy, ResourceClaim, SYSTEM_NAMESPACE, Workload, WorkloadExposure, WorkloadPlan, annotation,
    config::{CONFIG_KEY, CONFIG_MAP, IN_FORCE_MAP},
    label, name as names,
};
use orchestra_core::{
    Inputs,
    config::{self, Config, Ground},
    inputs,
    preview::{self, Surroundings},
    provision::Engine,
};

/// What the API holds around one Workload.
#[derive(Clone, Debug)]
pub struct Gathered {
    /// The Workload, if it exists.
    pub live: Option<Workload>,
    /// Its namespace, if it exists.
    pub namespace: Option<Namespace>,
    policies: Vec<PlatformPolicy>,
    unread_policies: Vec<String>,
    config: Arc<Config>,
    claims: Vec<ResourceClaim>,
    plan: Option<WorkloadPlan>,
    exposure: Option<WorkloadExposure>,
}

/// Reads everything that a decision about one Workload rests on.
pub async fn gather(client: &Client, ground: Ground, namespace: &str, name: &str) -> kube::Result<Gathered> {
    let workloads: Api<Workload> = Api::namespaced(client.clone(), namespace);
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let plans: Api<WorkloadPlan> = Api::namespaced(client.clone(), namespace);
    let exposures: Api<WorkloadExposure> = Api::namespaced(client.clone(), namespace);
    let (live, namespace, (policies, unread_policies), config, claims, plan, exposure) = tokio::try_join!(
        workloads.get_opt(name),
        namespaces.get_opt(namespace),
        read_policies(client),
        read_config(client, ground),
        read_claims(client, namespace, name),
        plans.get_opt(name),
        exposures.get_opt(name),
    )?;
    Ok(Gathered { live, namespace, policies, unread_policies, config, claims, plan, exposure })
}

impl Gathered {
    /// What a decision about the Workload as it is rests on; nothing if there is none.
    pub fn inputs(self, now: Timestamp) -> Option<Inputs> {
        let live = self.live.clone()?;
        Some(self.about(live, now))
    }

    /// What a decision would rest on if this were applied.
    pub fn proposing(self, proposed: Workload, now: Timestamp) -> Inputs {
        let workload = preview::propose(self.live.as_ref(), proposed);
        self.about(workload, now)
    }

    /// What a look ahead rests on beside that, but for the claims of others.
    pub fn surroundings(&self, engines: Option<&BTreeMap<String, Engine>>) -> Surroundings {
        Surroundings {
            held: self.live.clone(),
            claims: Vec::new(),
            engines: engines.cloned(),
            unread_policies: self.unread_policies.clone(),
        }
    }

    fn about(self, mut workload: Workload, now: Timestamp) -> Inputs {
        let Self { live: _, namespace, policies, unread_policies: _, config, claims, plan, exposure } = self;
        // Decisions look at the author's annotations only; who wrote which is then of no more use.
        let annotations = annotation::of_score(&workload.metadata);
        workload.metadata.annotations = (!annotations.is_empty()).then_some(annotations);
        workload.metadata.managed_fields = None;
        let namespace = namespace.map(|namespace| inputs::Namespace {
            terminating: namespace.metadata.deletion_timestamp.is_some(),
            labels: namespace.metadata.labels.unwrap_or_default(),
        });
        let namespace = namespace.unwrap_or_default();
        Inputs { workload, namespace, policies, config, claims, plan, exposure, now }
    }
}

/// Reads the claims of others for the instances that a Workload would share.
pub async fn read_sharers(client: &Client, inputs: &Inputs) -> kube::Result<Vec<ResourceClaim>> {
    let instances: Vec<String> = preview::shared_instances(inputs).into_iter().collect();
    if instances.is_empty() {
        return Ok(Vec::new());
    }
    let api: Api<ResourceClaim> = Api::namespaced(client.clone(), inputs.namespace_name());
    let selector = format!("{} in ({})", label::INSTANCE, instances.join(","));
    Ok(api.list(&ListParams::default().labels(&selector)).await?.items)
}

/// The policies that can be read, and the names of the others.
async fn read_policies(client: &Client) -> kube::Result<(Vec<PlatformPolicy>, Vec<String>)> {
    let api: Api<DeserializeGuard<PlatformPolicy>> = Api::all(client.clone());
    let (mut policies, mut unread) = (Vec::new(), Vec::new());
    for policy in api.list(&ListParams::default()).await?.items {
        match policy.0 {
            Ok(policy) => policies.push(policy),
            Err(error) => unread.extend(error.metadata.name),
        }
    }
    Ok((policies, unread))
}

/// The document that is in force: the platform's, or the last good one if it has faults now.
async fn read_config(client: &Client, ground: Ground) -> kube::Result<Arc<Config>> {
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), SYSTEM_NAMESPACE);
    if let Some(map) = api.get_opt(CONFIG_MAP).await?
        && let Ok(config) = config::check_on(ground, &text(Some(map)))
    {
        return Ok(Arc::new(config));
    }
    let kept = config::check_on(ground, &text(api.get_opt(IN_FORCE_MAP).await?));
    Ok(Arc::new(kept.unwrap_or_else(|_| Config::builtin_on(ground))))
}

fn text(map: Option<ConfigMap>) -> String {
    map.and_then(|map| map.data).and_then(|mut data| data.remove(CONFIG_KEY)).unwrap_or_default()
}

async fn read_claims(client: &Client, namespace: &str, name: &str) -> kube::Result<Vec<ResourceClaim>> {
    // A name that is no label has no claims.
    if name.len() > names::MAX {
        return Ok(Vec::new());
    }
    let api: Api<ResourceClaim> = Api::namespaced(client.clone(), namespace);
    let of_workload = ListParams::default().labels(&format!("{}={name}", label::WORKLOAD));
    Ok(api.list(&of_workload).await?.items)
}
