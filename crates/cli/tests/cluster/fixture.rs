//! Test fixture: a cluster, and its users.

use std::{path::PathBuf, time::Duration};

use k8s_openapi::api::{
    authentication::v1::TokenRequest,
    core::v1::{Namespace, ServiceAccount},
};
use kube::{
    Api, Client, Config,
    api::{ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams},
    config::{KubeConfigOptions, Kubeconfig},
    core::GroupVersionKind,
};
use serde_json::{Value as Json, json};
use tempfile::TempDir;
use tokio::time::{Instant, sleep};

use crate::cluster::process::Process;

/// Namespace of the developers.
pub(crate) const NAMESPACE: &str = "shop";
/// Timeout of an awaited condition: generous, for loaded clusters.
const CONDITION_TIMEOUT: Duration = Duration::from_mins(1);

pub(crate) struct Cluster {
    pub(crate) client: Client,
    /// Kubeconfig of the administrator.
    pub(crate) admin: PathBuf,
    kubeconfig: Kubeconfig,
    home: TempDir,
}

impl Cluster {
    pub(crate) async fn from_environment() -> Self {
        let admin = PathBuf::from(std::env::var_os("KUBECONFIG").expect("KUBECONFIG names a cluster"));
        let kubeconfig = Kubeconfig::read_from(&admin).unwrap();
        let client = Self::client_of(&admin).await;
        Self { client, admin, kubeconfig, home: TempDir::new().unwrap() }
    }

    pub(crate) async fn client_of(kubeconfig: &PathBuf) -> Client {
        let file = Kubeconfig::read_from(kubeconfig).unwrap();
        let config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await.unwrap();
        Client::try_from(config).unwrap()
    }

    /// Starts `orchestra serve --cluster` with the orchestrator's service account.
    pub(crate) async fn serve(&self, identity: &str) -> Process {
        let kubeconfig = self.kubeconfig_of("score-orchestrator", "score-system").await;
        Process::serve(&kubeconfig, identity)
    }

    pub(crate) async fn namespace(&self, name: &str) {
        self.apply(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})).await;
    }

    /// Kubeconfig of a service account, with a role in its namespace or none.
    pub(crate) async fn account(&self, name: &str, namespace: &str, role: &str) -> PathBuf {
        let metadata = json!({"name": name, "namespace": namespace});
        self.apply(&json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})).await;
        if !role.is_empty() {
            self.apply(&json!({
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": metadata,
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
                "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace}],
            }))
            .await;
        }
        self.kubeconfig_of(name, namespace).await
    }

    async fn kubeconfig_of(&self, account: &str, namespace: &str) -> PathBuf {
        let accounts: Api<ServiceAccount> = Api::namespaced(self.client.clone(), namespace);
        let request = TokenRequest::default();
        let answer = accounts.create_token_request(account, &PostParams::default(), &request).await.unwrap();
        let current = self.kubeconfig.current_context.as_ref().unwrap();
        let context = self.kubeconfig.contexts.iter().find(|context| context.name == *current).unwrap();
        let cluster = &context.context.as_ref().unwrap().cluster;
        let cluster = self.kubeconfig.clusters.iter().find(|named| named.name == *cluster).unwrap();
        let file = self.home.path().join(format!("{namespace}.{account}"));
        let content = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "it",
            "clusters": [{"name": "it", "cluster": cluster.cluster}],
            "users": [{"name": "it", "user": {"token": answer.status.unwrap().token}}],
            "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it", "namespace": namespace}}],
        });
        std::fs::write(&file, content.to_string()).unwrap();
        file
    }

    pub(crate) async fn apply(&self, object: &Json) {
        let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
        let (api_version, kind) = (text(&object["apiVersion"]), text(&object["kind"]));
        let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, &kind));
        let api: Api<DynamicObject> = match object["metadata"]["namespace"].as_str() {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &resource),
            None => Api::all_with(self.client.clone(), &resource),
        };
        let params = PatchParams::apply("test").force();
        api.patch(&text(&object["metadata"]["name"]), &params, &Patch::Apply(object)).await.unwrap();
    }

    /// Polls until a condition is true.
    pub(crate) async fn until(&self, what: &str, mut condition: impl AsyncFnMut(&Self) -> bool) {
        let end = Instant::now() + CONDITION_TIMEOUT;
        while !condition(self).await {
            assert!(Instant::now() < end, "timed out: {what}");
            sleep(Duration::from_millis(50)).await;
        }
    }

    /// Deletes the namespace of the test, and waits until it is gone: the next run starts without it.
    pub(crate) async fn clear(&self) {
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        namespaces.delete(NAMESPACE, &DeleteParams::default()).await.unwrap();
        self.until("the namespace is gone", async |_| namespaces.get_opt(NAMESPACE).await.unwrap().is_none())
            .await;
    }
}
