//! In-process platform, and a client of its server.

use std::{collections::BTreeMap, sync::Arc};

use axum::{Router, body::Body};
use http::{Request, StatusCode, header};
use http_body_util::BodyExt;
use k8s_openapi::{api::core::v1::ConfigMap, jiff::Timestamp};
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams},
};
use orchestra_api::{
    ConditionStatus, ConditionType, ResourceClaim, Workload, WorkloadExposure, WorkloadPlan, crd,
};
use orchestra_controllers::{Controllers, Options};
use orchestra_core::provision::Engine;
use orchestra_drivers::{Provisioner, Runtime, static_engine::Static};
use orchestra_limits::Limits;
use orchestra_server::{Caller, ERROR_CODE, Reviews, Server, router};
use orchestra_testkit::{
    TestEnv,
    scripted::{ScriptedProvisioner, ScriptedRuntime},
};
use serde_json::{Value as Json, json};
use tower::ServiceExt;

/// Secret value that must appear in Secrets only.
pub(crate) const CANARY: &str = "canary-5up3r-s3cr3t";

const CONFIG: &str = r"
apiVersion: score.dev/v1b1
kind: OrchestratorConfig
metadata: {name: default}
spec:
  profiles:
    - name: web-service
      backends: [{backendId: here, runtimeClass: scripted}]
  provisioners:
    - {type: postgres, engine: builtin}
    - {type: redis, engine: builtin}
    - {type: service, engine: static, outputs: {host: {value: flags.example.test}}}
    - {type: elasticsearch, engine: helm}
    - {type: queue, engine: external}
  defaults: {profile: web-service}
";

pub(crate) struct Platform {
    pub(crate) env: TestEnv,
    pub(crate) runtime: ScriptedRuntime,
    pub(crate) provisioner: ScriptedProvisioner,
    controllers: Option<Controllers>,
}

/// Response of the server.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) kind: String,
    /// Code in the header of an error.
    pub(crate) error: String,
    pub(crate) text: String,
}

impl Reply {
    pub(crate) fn json(&self) -> Json {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }

    pub(crate) fn code(&self) -> String {
        self.json()["error"]["code"].as_str().unwrap_or_default().to_owned()
    }
}

impl Platform {
    pub(crate) async fn start() -> Self {
        let env = TestEnv::start().await;
        for definition in crd::all() {
            env.install(definition).await;
        }
        env.namespace("score-system").await;
        let provisioner = ScriptedProvisioner::new("builtin", CANARY, env.client());
        let runtime = ScriptedRuntime::new("scripted");
        let mut platform = Self { env, runtime, provisioner, controllers: None };
        platform.configure("orchestrator-config", CONFIG).await;
        platform.start_controllers().await;
        platform
    }

    fn provisioners(&self) -> Vec<Arc<dyn Provisioner>> {
        vec![Arc::new(self.provisioner.clone()), Arc::new(Static)]
    }

    fn engines(&self) -> BTreeMap<String, Engine> {
        let engines = self.provisioners().into_iter();
        engines.map(|engine| (engine.name().to_owned(), engine.capabilities())).collect()
    }

    pub(crate) async fn start_controllers(&mut self) {
        let options = Options {
            runtimes: vec![Arc::new(self.runtime.clone())],
            provisioners: self.provisioners(),
            ..Options::default()
        };
        self.controllers = Some(Controllers::start(self.env.client(), options).await.unwrap());
    }

    /// Waits until the controllers are idle, and stops them.
    pub(crate) async fn stop_controllers(&mut self) {
        if let Some(controllers) = self.controllers.take() {
            controllers.idle().await;
            controllers.stop().await;
        }
    }

    pub(crate) async fn configure(&self, name: &str, document: &str) {
        let api: Api<ConfigMap> = Api::namespaced(self.env.client(), "score-system");
        let map = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"config.yaml": document},
        });
        api.patch(name, &PatchParams::apply("test").force(), &Patch::Apply(map)).await.unwrap();
    }

    fn workloads(&self) -> Api<Workload> {
        Api::default_namespaced(self.env.client())
    }

    pub(crate) async fn apply(&self, name: &str, spec: &Json) {
        let params = PatchParams::apply("author").force();
        self.workloads().patch(name, &params, &Patch::Apply(object(name, spec))).await.unwrap();
    }

    pub(crate) async fn delete(&self, name: &str) {
        self.workloads().delete(name, &DeleteParams::default()).await.unwrap();
    }

    /// Waits until a condition of the current generation has a status.
    pub(crate) async fn until(&self, name: &str, type_: ConditionType, status: ConditionStatus) -> Workload {
        let workloads = self.workloads();
        self.env
            .eventually(format!("{name} is {type_}={status}"), async || {
                let workload = workloads.get(name).await.map_err(|error| error.to_string())?;
                let conditions = workload.status.clone().unwrap_or_default().conditions;
                let reached = conditions.iter().any(|condition| {
                    condition.type_ == type_
                        && condition.status == status
                        && Some(condition.observed_generation) == workload.metadata.generation
                });
                if reached { Ok(Some(workload)) } else { Err(format!("{conditions:#?}")) }
            })
            .await
    }

    pub(crate) async fn until_ready(&self, name: &str) -> Workload {
        self.until(name, ConditionType::Ready, ConditionStatus::True).await
    }

    /// Resource versions of all our objects and config maps.
    pub(crate) async fn versions(&self) -> BTreeMap<String, Option<String>> {
        let client = self.env.client();
        let mut versions = BTreeMap::new();
        let all = ListParams::default();
        for object in Api::<Workload>::all(client.clone()).list(&all).await.unwrap() {
            versions.insert(format!("workload {}", object.name_any()), object.resource_version());
        }
        for object in Api::<ResourceClaim>::all(client.clone()).list(&all).await.unwrap() {
            versions.insert(format!("claim {}", object.name_any()), object.resource_version());
        }
        for object in Api::<WorkloadPlan>::all(client.clone()).list(&all).await.unwrap() {
            versions.insert(format!("plan {}", object.name_any()), object.resource_version());
        }
        for object in Api::<WorkloadExposure>::all(client.clone()).list(&all).await.unwrap() {
            versions.insert(format!("exposure {}", object.name_any()), object.resource_version());
        }
        for object in Api::<ConfigMap>::all(client).list(&all).await.unwrap() {
            versions.insert(format!("map {}", object.name_any()), object.resource_version());
        }
        versions
    }

    pub(crate) fn server(&self) -> Server {
        Server {
            client: self.env.client(),
            access: Arc::new(Reviews::new(self.env.client())),
            limits: Limits::default(),
            metrics: Arc::new(|| "orchestra_up 1\n".to_owned()),
            awaited: Arc::new(Vec::new),
            engines: Some(self.engines()),
            runtimes: [("scripted".to_owned(), Arc::new(self.runtime.clone()) as Arc<dyn Runtime>)].into(),
            origins: None,
            clock: Timestamp::now,
        }
    }

    /// GET as administrator.
    pub(crate) async fn get(&self, path: &str, accept: &str) -> Reply {
        request(
            router(self.server()),
            Some(administrator()),
            "GET",
            path,
            accept,
            "application/json",
            Body::empty(),
        )
        .await
    }

    pub(crate) async fn post(&self, path: &str, accept: &str, kind: &str, body: impl Into<Body>) -> Reply {
        request(router(self.server()), Some(administrator()), "POST", path, accept, kind, body.into()).await
    }

    /// Preview of an apply, as JSON.
    pub(crate) async fn plan(&self, name: &str, spec: &Json) -> Json {
        let path = format!("/orchestra/v1/namespaces/default/workloads/{name}/plan");
        let body = object(name, spec).to_string();
        let reply = self.post(&path, "application/json", "application/json", body).await;
        assert_eq!(reply.status, StatusCode::OK, "{reply:?}");
        reply.json()
    }
}

pub(crate) fn object(name: &str, spec: &Json) -> Json {
    json!({"apiVersion": "score.dev/v1b1", "kind": "Workload", "metadata": {"name": name}, "spec": spec})
}

pub(crate) fn administrator() -> Caller {
    Caller { user: "admin".to_owned(), groups: vec!["system:masters".to_owned()], ..Caller::default() }
}

pub(crate) async fn request(
    router: Router,
    caller: Option<Caller>,
    method: &str,
    path: &str,
    accept: &str,
    kind: &str,
    body: Body,
) -> Reply {
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        .header(header::ACCEPT, accept)
        .header(header::CONTENT_TYPE, kind)
        .body(body)
        .unwrap();
    if let Some(caller) = caller {
        request.extensions_mut().insert(caller);
    }
    let response = router.oneshot(request).await.unwrap();
    let header = |name: &str| {
        let value = response.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
        value.unwrap_or_default()
    };
    let (kind, error) = (header(header::CONTENT_TYPE.as_str()), header(ERROR_CODE));
    let status = response.status();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    Reply { status, kind, error, text: String::from_utf8(bytes.to_vec()).unwrap() }
}
