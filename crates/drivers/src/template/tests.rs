//! The engine on a mocked cluster.

use std::{collections::BTreeMap, convert::Infallible, sync::Arc};

use http::{Method, Request, Response};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{client::Body, runtime::watcher};
use orchestra_api::{config::Provisioner as Entry, label, plan::Port, reference::SecretKeyRef};
use orchestra_core::provision::Dependent;
use serde_json::{Map, json};
use tower::service_fn;

use super::*;
use crate::{
    DriverErrorKind, Secrets,
    provision_context::{Edit, SecretData},
    secret::Read,
};

const URI: &str = "template://test/thing";

/// Answer to a request, by method and path.
type Answer = fn(&Method, &str) -> (u16, Json);

/// Client of a cluster with these answers, and the methods and paths of its requests.
fn cluster(answer: Answer) -> (Client, Arc<Mutex<Vec<String>>>) {
    let requests = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&requests);
    let service = service_fn(move |request: Request<Body>| {
        let (code, body) = answer(request.method(), request.uri().path());
        seen.lock().unwrap().push(format!("{} {}", request.method(), request.uri().path()));
        let body = Body::from(body.to_string().into_bytes());
        async move { Ok::<_, Infallible>(Response::builder().status(code).body(body).unwrap()) }
    });
    (Client::new(service, "shop"), requests)
}

fn failure(code: u16, reason: &str, message: &str) -> (u16, Json) {
    let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason,
        "message": message});
    (code, status)
}

/// Config map with a provisioner file whose entry only has outputs.
fn file(name: &str) -> Json {
    let entry = format!("- uri: {URI}\n  type: thing\n  outputs: |\n    name: it\n");
    json!({"metadata": {"name": name}, "data": {"own.provisioners.yaml": entry}})
}

fn instance() -> Instance {
    Instance {
        namespace: "shop".to_owned(),
        id: "0123456789abcdef".to_owned(),
        type_: "thing".to_owned(),
        class: "default".to_owned(),
        shared_id: None,
        params: Map::new(),
        metadata: Map::new(),
        values: Map::new(),
        entry: Entry {
            type_: "thing".to_owned(),
            engine: TEMPLATE.to_owned(),
            params: Map::from_iter([("template".to_owned(), json!(URI))]),
            ..Entry::default()
        },
        claims: vec!["web-it".to_owned()],
        dependents: vec![Dependent { workload: "web".to_owned(), key: "it".to_owned() }],
        warning: None,
    }
}

/// Provision context with the Secret of an instance in memory.
#[derive(Default)]
struct TestContext(Mutex<SecretData>);

impl Secrets for TestContext {
    fn read<'a>(&'a self, _: &'a SecretKeyRef) -> BoxFuture<'a, Result<Option<Read>, DriverError>> {
        Box::pin(async { Ok(None) })
    }
}

impl ProvisionContext for TestContext {
    fn update_secret<'a>(&'a self, edit: &'a Edit<'a>) -> BoxFuture<'a, Result<InstanceSecret, DriverError>> {
        Box::pin(async move {
            let mut stored = self.0.lock().unwrap();
            let contents = edit(&stored)?;
            stored.clone_from(&contents);
            Ok(InstanceSecret { name: "thing".to_owned(), version: "1".to_owned(), contents })
        })
    }

    fn delete_secret(&self) -> BoxFuture<'_, Result<(), DriverError>> {
        Box::pin(async { Ok(()) })
    }

    fn workload_ports(&self, _: &str) -> Option<BTreeMap<String, Port>> {
        None
    }

    fn workload_names(&self) -> Vec<String> {
        Vec::new()
    }
}

#[tokio::test]
async fn an_entry_that_no_longer_creates_anything_deletes_what_it_created_before() {
    let (client, requests) = cluster(|method, path| match path {
        "/api/v1/namespaces/score-system/configmaps" => {
            (200, json!({"metadata": {}, "items": [file("files")]}))
        }
        "/api/v1/namespaces/shop/services/old" if method == Method::GET => {
            let labels = json!({label::INSTANCE: "0123456789abcdef", label::MANAGED_BY: label::ORCHESTRA});
            let metadata = json!({"name": "old", "namespace": "shop", "uid": "1", "labels": labels});
            (200, json!({"apiVersion": "v1", "kind": "Service", "metadata": metadata}))
        }
        "/api/v1/namespaces/shop/services/old" => (200, json!({"kind": "Status", "status": "Success"})),
        _ => failure(404, "NotFound", "not found"),
    });
    let old = Item { api_version: "v1".to_owned(), kind: "Service".to_owned(), name: "old".to_owned() };
    let record = Record { objects: [old].into(), ..Record::default() };
    let ctx = TestContext(Mutex::new(instance_secret::noted(&SecretData::new(), &record)));
    let engine = Template::open(client);
    let delete = "DELETE /api/v1/namespaces/shop/services/old";
    for _ in 0..2 {
        let answer = engine.ensure(&instance(), &ctx).await.unwrap();
        assert!(matches!(answer, Provision::Bound(_)), "{answer:?}");
        let deleted = requests.lock().unwrap().iter().filter(|request| *request == delete).count();
        assert_eq!(deleted, 1, "it is deleted once");
    }
}

#[tokio::test]
async fn a_missing_permission_to_read_provisioner_files_is_not_a_network_fault() {
    let (client, _) = cluster(|_, _| {
        let message = "configmaps is forbidden: User \"system:serviceaccount:score-system:orchestra\" cannot list resource \"configmaps\"";
        failure(403, "Forbidden", message)
    });
    let error = Template::open(client).ensure(&instance(), &TestContext::default()).await.unwrap_err();
    assert_eq!((error.kind, error.reason), (DriverErrorKind::Transient, Reason::PermissionDenied));
    assert!(error.message.contains("may not read the provisioner files"), "{error}");
}

#[tokio::test]
async fn provisioner_files_that_were_deleted_while_their_watch_was_broken_are_dropped() {
    let (client, _) = cluster(|_, _| failure(404, "NotFound", "not found"));
    let files = ProvisionerFiles::new(client);
    let map = |name: &str| -> ConfigMap { serde_json::from_value(file(name)).unwrap() };
    let mut listed = BTreeSet::new();
    let mut list = |maps: &[&str]| {
        let maps = maps.iter().map(|name| watcher::Event::InitApply(map(name)));
        let events = [watcher::Event::Init].into_iter().chain(maps).chain([watcher::Event::InitDone]);
        events.filter(|event| files.handle(&mut listed, Ok(event.clone()))).count()
    };
    assert_eq!(list(&["a", "b"]), 2, "both are new");
    assert_eq!(list(&["a", "b"]), 0);
    assert_eq!(list(&["a"]), 1, "one was deleted");
    assert_eq!(files.names(), ["a/own.provisioners.yaml"]);
}
