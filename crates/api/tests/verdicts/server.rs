//! A server that knows the definitions, and what it answers to an apply.

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

/// Who applies.
const MANAGER: &str = "verdicts";
/// How often a server is asked again for a kind that it has just been taught.
const PATIENCE: u32 = 100;

/// A server with all definitions in it. Namespaced objects go to one namespace.
pub(crate) struct Server {
    client: Client,
    namespace: String,
    /// Ends with the server.
    _embedded: Option<TestEnv>,
}

/// What a server says to an object: what it stores, or why it refuses.
pub(crate) type Verdict = Result<Json, String>;

impl Server {
    /// The embedded server, in the process.
    pub(crate) async fn embedded(namespace: &str) -> Self {
        let env = TestEnv::start().await;
        Self { client: env.client(), namespace: namespace.to_owned(), _embedded: Some(env) }.taught().await
    }

    /// The server that KUBECONFIG names.
    pub(crate) async fn real(namespace: &str) -> Self {
        let config = Config::infer().await.expect("KUBECONFIG names a cluster");
        let client = Client::try_from(config).expect("a client of the cluster");
        Self { client, namespace: namespace.to_owned(), _embedded: None }.taught().await
    }

    async fn taught(self) -> Self {
        for definition in crd::all() {
            let json = serde_json::to_value(&definition).unwrap();
            let stored = self.apply(&json, false).await.expect("the definition is accepted");
            let name = stored["metadata"]["name"].as_str().unwrap().to_owned();
            self.wait_for_kind(&name).await;
        }
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}});
        self.apply(&namespace, false).await.expect("the namespace is made");
        self
    }

    async fn wait_for_kind(&self, definition: &str) {
        let plural = definition.split('.').next().unwrap();
        for _ in 0..PATIENCE {
            let request = Request::get(format!("/apis/score.dev/v1b1/{plural}")).body(Vec::new()).unwrap();
            if self.client.request_text(request).await.is_ok() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("{definition} is not served");
    }

    /// The objects of the kind of this one, where this one belongs.
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

    /// Applies an object; one with a status is applied to the status.
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
            Err(Error::Api(refusal)) => Err(refusal.message),
            Err(other) => panic!("{other}: {object}"),
        }
    }

    /// Applies an object without storing it, and hands out what the server warns of.
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

    /// Removes an object, if it is there.
    pub(crate) async fn delete(&self, object: &Json) {
        let name = object["metadata"]["name"].as_str().expect("a name");
        match self.api(object).delete(name, &DeleteParams::default()).await {
            Ok(_) => {}
            Err(Error::Api(gone)) if gone.code == 404 => {}
            Err(other) => panic!("{other}"),
        }
    }

    /// Removes the namespace.
    pub(crate) async fn leave(self) {
        self.delete(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}}))
            .await;
    }
}
