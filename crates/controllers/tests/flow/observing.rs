//! More ways to look at a platform, and to act on it as others would.

use std::sync::Arc;

use k8s_openapi::api::events::v1::Event;
use kube::{
    Api, Client, ResourceExt,
    api::{ListParams, Patch, PatchParams},
};
use orchestra_api::{
    Condition, ConditionStatus, ConditionType, PlatformPolicy, Reason, ResourceClaim, Workload,
};
use orchestra_controllers::{Controllers, Options, metrics::Metrics};
use orchestra_drivers::static_engine::Static;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value as Json, json};

use crate::flow::platform::Platform;

/// One container, and a port.
pub(crate) fn web() -> Json {
    json!({"containers": {"app": {"image": "nginx"}}, "service": {"ports": {"http": {"port": 80}}}})
}

/// One container that refers to a resource `db`.
pub(crate) fn with_database(resource: &Json) -> Json {
    json!({
        "containers": {"app": {"image": "nginx", "variables": {"HOST": "${resources.db.host}"}}},
        "resources": {"db": resource},
    })
}

/// A condition of a Workload.
pub(crate) fn condition(workload: &Workload, type_: ConditionType) -> Condition {
    let conditions = workload.status.iter().flat_map(|status| &status.conditions);
    conditions.into_iter().find(|condition| condition.type_ == type_).cloned().unwrap()
}

impl Platform {
    /// Starts the controllers again with a client and metrics of the test.
    pub(crate) async fn begin_with(&mut self, client: Client, metrics: Metrics) {
        self.end().await;
        let options = Options {
            runtimes: vec![Arc::new(self.runtime.clone())],
            provisioners: vec![Arc::new(self.provisioner.clone()), Arc::new(Static)],
            metrics,
            ..Options::default()
        };
        self.controllers = Some(Controllers::start(client, options).await.unwrap());
    }

    pub(crate) async fn idle(&self) {
        self.controllers.as_ref().unwrap().idle().await;
    }

    pub(crate) fn policies(&self) -> Api<PlatformPolicy> {
        Api::all(self.env.client())
    }

    /// Applies a policy, and waits until the controllers have observed it: Workloads that come later get it.
    pub(crate) async fn policy(&self, name: &str, spec: Json) {
        let object = json!({
            "apiVersion": "score.dev/v1b1", "kind": "PlatformPolicy", "metadata": {"name": name}, "spec": spec,
        });
        let params = PatchParams::apply("platform").force();
        let policies = self.policies();
        let applied = policies.patch(name, &params, &Patch::Apply(object)).await.unwrap();
        self.env
            .eventually(format!("the policy {name} is observed"), async || {
                let status = policies.get(name).await.unwrap().status.unwrap_or_default();
                let mut observed = status.conditions.iter().map(|condition| condition.observed_generation);
                if observed.any(|observed| observed >= applied.metadata.generation) {
                    Ok(true)
                } else {
                    Err(format!("{status:?}"))
                }
            })
            .await;
    }

    /// Waits until a condition is false for this reason, and tells its message.
    pub(crate) async fn until_not(&self, name: &str, type_: ConditionType, reason: Reason) -> String {
        let workload = self.until(name, type_, ConditionStatus::False, reason).await;
        condition(&workload, type_).message
    }

    /// The claims of a Workload, by key; a key may stand twice while one claim takes the place of another.
    pub(crate) async fn claims_of(&self, name: &str) -> Vec<(String, ResourceClaim)> {
        let labelled = ListParams::default().labels(&format!("score.dev/workload={name}"));
        let claims = self.claims().list(&labelled).await.unwrap().items;
        claims.into_iter().map(|claim| (claim.spec.key.clone(), claim)).collect()
    }

    pub(crate) async fn claim_of(&self, name: &str, key: &str) -> ResourceClaim {
        let claims = self.claims_of(name).await;
        let mut of_key = claims.into_iter().filter(|(known, _)| known == key).map(|(_, claim)| claim);
        of_key.next().unwrap_or_else(|| panic!("{name} has no claim for {key}"))
    }

    /// Events about an object.
    pub(crate) async fn events_of(&self, namespace: &str, kind: &str, name: &str) -> Vec<Event> {
        let events: Api<Event> = Api::namespaced(self.env.client(), namespace);
        let all = events.list(&ListParams::default()).await.unwrap().items;
        let is_about = |event: &Event| {
            let regarding = event.regarding.clone().unwrap_or_default();
            regarding.kind.as_deref() == Some(kind) && regarding.name.as_deref() == Some(name)
        };
        all.into_iter().filter(is_about).collect()
    }

    /// Writes a status as a controller of somebody else.
    pub(crate) async fn say<K>(&self, api: &Api<K>, object: &K, status: Json)
    where
        K: kube::Resource<DynamicType = ()> + Clone + DeserializeOwned + Serialize + std::fmt::Debug,
    {
        let patch = Patch::Merge(json!({"status": status}));
        api.patch_status(&object.name_any(), &PatchParams::default(), &patch).await.unwrap();
    }
}
