//! Specs, queries and writes of other clients for the flow tests.

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

/// Spec with one container and a port.
pub(crate) fn web_workload() -> Json {
    json!({"containers": {"app": {"image": "nginx"}}, "service": {"ports": {"http": {"port": 80}}}})
}

/// Spec with one container that refers to the resource `db`.
pub(crate) fn db_workload(resource: &Json) -> Json {
    json!({
        "containers": {"app": {"image": "nginx", "variables": {"HOST": "${resources.db.host}"}}},
        "resources": {"db": resource},
    })
}

/// Condition of a Workload.
pub(crate) fn condition(workload: &Workload, type_: ConditionType) -> Condition {
    let conditions = workload.status.iter().flat_map(|status| &status.conditions);
    conditions.into_iter().find(|condition| condition.type_ == type_).cloned().unwrap()
}

impl Platform {
    /// Restarts the controllers with a client and metrics of the test.
    pub(crate) async fn start_controllers_with(&mut self, client: Client, metrics: Metrics) {
        self.stop_controllers().await;
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

    /// Applies a policy, and waits until the controllers have observed it, so that it applies to later Workloads.
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

    /// Waits until a condition is false for this reason; returns its message.
    pub(crate) async fn until_false(&self, name: &str, type_: ConditionType, reason: Reason) -> String {
        let workload = self.until(name, type_, ConditionStatus::False, reason).await;
        condition(&workload, type_).message
    }

    /// Claims of a Workload with their keys. A key occurs twice while one claim replaces another.
    pub(crate) async fn claims_of(&self, name: &str) -> Vec<(String, ResourceClaim)> {
        let labelled = ListParams::default().labels(&format!("score.dev/workload={name}"));
        let claims = self.claims().list(&labelled).await.unwrap().items;
        claims.into_iter().map(|claim| (claim.spec.key.clone(), claim)).collect()
    }

    pub(crate) async fn claim_of(&self, name: &str, key: &str) -> ResourceClaim {
        let claims = self.claims_of(name).await;
        let mut matching = claims.into_iter().filter(|(found, _)| found == key).map(|(_, claim)| claim);
        matching.next().unwrap_or_else(|| panic!("{name} has no claim for {key}"))
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

    /// Writes a status as an external controller.
    pub(crate) async fn write_status<K>(&self, api: &Api<K>, object: &K, status: Json)
    where
        K: kube::Resource<DynamicType = ()> + Clone + DeserializeOwned + Serialize + std::fmt::Debug,
    {
        let patch = Patch::Merge(json!({"status": status}));
        api.patch_status(&object.name_any(), &PatchParams::default(), &patch).await.unwrap();
    }
}
