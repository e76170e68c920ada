//! Server with our CRDs, and its answers to server-side apply.

use std::time::Duration;

use http::Request;
use kube::{
    Api, Client, Config, Error,
    api::{ApiResource, DeleteParams, DynamicObject, Patch, PatchParams},
    client::Body,
    core::GroupVersionKind,
};
use orchestra_api::crd;
use orchestra_testkit::TestEnv;
use serde_json::{Value as Json, json};

/// Field manager.
const MANAGER: &str = "verdicts";
/// Attempts to list a new kind, 100 ms apart.
const MAX_ATTEMPTS: u32 = 100;

/// Server with all CRDs. Namespaced objects go to one namespace.
pub(crate) struct Server {
    client: Client,
    namespace: String,
    /// Stops when dropped.
    _embedded: Option<TestEnv>,
}

/// Stored object, or message of the rejection.
pub(crate) type Verdict = Result<Json, String>;

impl Server {
    /// Embedded server in this process.
    pub(crate) async fn embedded(namespace: &str) -> Self {
        let env = TestEnv::start().await;
        Self { client: env.client(), namespace: namespace.to_owned(), _embedded: Some(env) }.with_crds().await
    }

    /// Server of KUBECONFIG.
    pub(crate) async fn real(namespace: &str) -> Self {
        let config = Config::infer().await.expect("KUBECONFIG names a cluster");
        let client = Client::try_from(config).expect("a client of the cluster");
        Self { client, namespace: namespace.to_owned(), _embedded: None }.with_crds().await
    }

    async fn with_crds(self) -> Self {
        for definition in crd::all() {
            let json = serde_json::to_value(&definition).unwrap();
            let stored = self.apply(&json, false).await.expect("the CRD is accepted");
            let name = stored["metadata"]["name"].as_str().unwrap().to_owned();
            self.wait_for_kind(&name).await;
        }
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}});
        self.apply(&namespace, false).await.expect("the namespace is created");
        self
    }

    async fn wait_for_kind(&self, definition: &str) {
        let plural = definition.split('.').next().unwrap();
        for _ in 0..MAX_ATTEMPTS {
            let request = Request::get(format!("/apis/score.dev/v1b1/{plural}")).body(Vec::new()).unwrap();
            if self.client.request_text(request).await.is_ok() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("{definition} is not served");
    }

    /// API of an object's kind, in the namespace if the kind is namespaced.
    fn api(&self, object: &Json) -> Api<DynamicObject> {
        let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
        let (api_version, kind) = (text(&object["apiVersion"]), text(&object["kind"]));
        let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, &kind));
        match kind.as_str() {
            "Namespace" | "CustomResourceDefinition" | "PlatformPolicy" => {
                Api::all_with(self.client.clone(), &resource)
            }
            _ => Api::namespaced_with(self.client.clone(), &self.namespace, &resource),
        }
    }

    /// Applies an object, to the status subresource if it has a status.
    pub(crate) async fn apply(&self, object: &Json, dry_run: bool) -> Verdict {
        let api = self.api(object);
        let name = object["metadata"]["name"].as_str().expect("a name");
        let params = PatchParams { dry_run, ..PatchParams::apply(MANAGER).force() };
        let patch = Patch::Apply(object);
        let applied = if object.get("status").is_some() {
            api.patch_status(name, &params, &patch).await
        } else {
            api.patch(name, &params, &patch).await
        };
        match applied {
            Ok(stored) => Ok(serde_json::to_value(stored).unwrap()),
            Err(Error::Api(rejection)) => Err(rejection.message),
            Err(other) => panic!("{other}: {object}"),
        }
    }

    /// Warnings of a dry-run apply.
    pub(crate) async fn warnings(&self, object: &Json) -> Result<Vec<String>, String> {
        let api = self.api(object);
        let (url, name) = (api.resource_url(), object["metadata"]["name"].as_str().expect("a name"));
        let query = format!("fieldManager={MANAGER}&force=true&dryRun=All&fieldValidation=Strict");
        let request = Request::patch(format!("{url}/{name}?{query}"))
            .header("content-type", "application/apply-patch+yaml")
            .body(Body::from(object.to_string().into_bytes()))
            .unwrap();
        let response = self.client.send(request).await.map_err(|error| error.to_string())?;
        if !response.status().is_success() {
            return Err(response.status().to_string());
        }
        let warnings = response.headers().get_all("warning").iter();
        Ok(warnings.map(|warning| warning.to_str().unwrap_or("?").to_owned()).collect())
    }

    /// Deletes an object if it exists.
    pub(crate) async fn delete(&self, object: &Json) {
        let name = object["metadata"]["name"].as_str().expect("a name");
        match self.api(object).delete(name, &DeleteParams::default()).await {
            Ok(_) => {}
            Err(Error::Api(gone)) if gone.code == 404 => {}
            Err(other) => panic!("{other}"),
        }
    }

    /// Deletes the namespace.
    pub(crate) async fn clean_up(self) {
        self.delete(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}}))
            .await;
    }
}
