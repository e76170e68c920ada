//! Services: an empty collection, so that kubectl can list it.

use futures_util::StreamExt as _;
use http::Request;
use k8s_openapi::api::core::v1::Service;
use kube::{
    Api, Client,
    api::{ListParams, PostParams, WatchEvent, WatchParams},
};
use orchestra_apiserver::Caller;
use orchestra_testkit::TestEnv;
use serde_json::{Value, json};

async fn send(client: &Client, method: &str, path: &str, body: Value) -> kube::Result<Value> {
    let bytes = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    let request = Request::builder().method(method).uri(path).header("content-type", "application/json");
    client.request(request.body(bytes).unwrap()).await
}

fn code(result: kube::Result<Value>) -> u16 {
    match result {
        Err(kube::Error::Api(status)) => status.code,
        other => panic!("not refused: {other:?}"),
    }
}

#[tokio::test]
async fn there_are_no_services_and_nobody_can_make_one() {
    let env = TestEnv::start().await;
    let client = env.client();
    let services: Api<Service> = Api::default_namespaced(client.clone());
    assert_eq!(services.list(&ListParams::default()).await.unwrap().items, []);
    assert_eq!(services.get_opt("kubernetes").await.unwrap(), None);
    let collection = "/api/v1/namespaces/default/services";
    let one = &format!("{collection}/one");
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "one"}});
    for (method, path, body) in [
        ("POST", collection, service.clone()),
        ("POST", "/api/v1/services", service.clone()),
        ("PUT", one, service.clone()),
        ("PATCH", one, json!({})),
        ("DELETE", one, Value::Null),
        ("DELETE", collection, Value::Null),
    ] {
        assert_eq!(code(send(&client, method, path, body).await), 405, "{method} {path}");
    }
    let refused = services.create(&PostParams::default(), &Service::default()).await.unwrap_err();
    assert!(refused.to_string().contains("does not allow this method"), "{refused}");
}

#[tokio::test]
async fn services_are_listed_by_those_who_may_and_only_for_reading() {
    let env = TestEnv::start().await;
    let listed = send(&env.client(), "GET", "/api/v1", Value::Null).await.unwrap();
    let services =
        listed["resources"].as_array().unwrap().iter().find(|one| one["name"] == "services").unwrap();
    assert_eq!(services["verbs"], json!(["get", "list", "watch"]));
    assert_eq!(services["categories"], json!(["all"]));
    let document = send(&env.client(), "GET", "/openapi/v3/api/v1", Value::Null).await.unwrap();
    for (path, operations) in document["paths"].as_object().unwrap() {
        if path.contains("/services") {
            let names: Vec<&String> = operations.as_object().unwrap().keys().collect();
            assert_eq!(names, ["get", "parameters"], "{path}");
        }
    }
    let stranger = env.client_of(Caller::new("eve", [""; 0]));
    let path = "/api/v1/namespaces/default/services";
    for method in ["GET", "POST"] {
        assert_eq!(code(send(&stranger, method, path, Value::Null).await), 403, "{method}");
    }
}

#[tokio::test]
async fn a_watch_of_services_has_no_objects() {
    let env = TestEnv::start().await;
    let services: Api<Service> = Api::default_namespaced(env.client());
    let watch = services.watch(&WatchParams::default().timeout(1), "0").await.unwrap();
    let events: Vec<_> = watch.map(Result::unwrap).collect().await;
    assert!(events.iter().all(|event| matches!(event, WatchEvent::Bookmark(_))), "{events:?}");
}
