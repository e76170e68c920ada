//! Requests of typed Go clients: bodies in protobuf, strategic merge patches.

use orchestra_testkit::TestEnv;
use serde_json::{Value, json};

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const STRATEGIC: &str = "application/strategic-merge-patch+json";

async fn send(env: &TestEnv, method: &str, path: &str, kind: &str, body: Vec<u8>) -> (u16, Value) {
    let request = http::Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", kind)
        .header("accept", format!("{PROTOBUF},application/json"))
        .body(kube::client::Body::from(body))
        .unwrap();
    let response = env.client().send(request).await.unwrap();
    let code = response.status().as_u16();
    let bytes = response.into_body().collect_bytes().await.unwrap();
    (code, serde_json::from_slice(&bytes).unwrap_or_default())
}

/// Field of a message, of at most 127 bytes.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    [&[number << 3 | 2, u8::try_from(bytes.len()).unwrap()], bytes].concat()
}

fn protobuf(api_version: &str, kind: &str, message: &[u8]) -> Vec<u8> {
    let of = [field(1, api_version.as_bytes()), field(2, kind.as_bytes())].concat();
    [b"k8s\0".to_vec(), field(1, &of), field(2, message), field(3, b""), field(4, b"")].concat()
}

fn named(name: &str) -> Vec<u8> {
    field(1, &field(1, name.as_bytes()))
}

#[tokio::test]
async fn a_namespace_and_its_objects_are_created_from_protobuf() {
    let env = TestEnv::start().await;
    let namespace = protobuf("v1", "Namespace", &[named("shop"), field(2, b""), field(3, b"")].concat());
    let (code, created) = send(&env, "POST", "/api/v1/namespaces", PROTOBUF, namespace).await;
    assert_eq!((code, &created["status"]["phase"]), (201, &json!("Active")));
    let entry = field(2, &[field(1, b"key"), field(2, &[0, 1, 255])].concat());
    let secret = protobuf("v1", "Secret", &[named("sealed"), entry].concat());
    let (code, created) = send(&env, "POST", "/api/v1/namespaces/shop/secrets", PROTOBUF, secret).await;
    assert_eq!((code, &created["data"]["key"]), (201, &json!("AAH/")));
    // Replaced by an update in the same format.
    let entry = field(4, &[field(1, b"word"), field(2, b"open")].concat());
    let secret = protobuf("v1", "Secret", &[named("sealed"), entry].concat());
    let (code, replaced) =
        send(&env, "PUT", "/api/v1/namespaces/shop/secrets/sealed", PROTOBUF, secret).await;
    assert_eq!((code, &replaced["data"]), (200, &json!({"word": "b3Blbg=="})));
}

#[tokio::test]
async fn protobuf_is_refused_for_custom_resources_and_other_kinds() {
    let env = TestEnv::start().await;
    let path = "/api/v1/namespaces/default/configmaps";
    let (code, _) = send(&env, "POST", path, PROTOBUF, protobuf("v1", "Secret", &named("a"))).await;
    assert_eq!(code, 400);
    let (code, _) = send(&env, "POST", path, PROTOBUF, b"k8s\0\xff".to_vec()).await;
    assert_eq!(code, 400);
    let (code, _) =
        send(&env, "PATCH", &format!("{path}/a"), PROTOBUF, protobuf("v1", "ConfigMap", &[])).await;
    assert_eq!(code, 415);
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "cups.example.org"},
        "spec": {
            "group": "example.org", "scope": "Namespaced", "names": {"plural": "cups", "kind": "Cup"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}}],
        },
    });
    env.install(&definition).await;
    let cups = "/apis/example.org/v1/namespaces/default/cups";
    let (code, _) = send(&env, "POST", cups, PROTOBUF, protobuf("example.org/v1", "Cup", &named("a"))).await;
    assert_eq!(code, 415);
    let (code, _) = send(&env, "PATCH", &format!("{cups}/a"), STRATEGIC, b"{}".to_vec()).await;
    assert_eq!(code, 415);
}

#[tokio::test]
async fn the_options_of_a_deletion_are_read_from_protobuf() {
    let env = TestEnv::start().await;
    let path = "/api/v1/namespaces/default/configmaps";
    let (code, created) = send(&env, "POST", path, PROTOBUF, protobuf("v1", "ConfigMap", &named("a"))).await;
    assert_eq!(code, 201, "{created}");
    let options = |uid: &str| {
        let preconditions = field(2, &field(1, uid.as_bytes()));
        protobuf("v1", "DeleteOptions", &[preconditions, field(4, b"Foreground")].concat())
    };
    let (code, _) = send(&env, "DELETE", &format!("{path}/a"), PROTOBUF, options("another")).await;
    assert_eq!(code, 409);
    let uid = created["metadata"]["uid"].as_str().unwrap();
    let (code, marked) = send(&env, "DELETE", &format!("{path}/a"), PROTOBUF, options(uid)).await;
    assert_eq!((code, &marked["metadata"]["finalizers"]), (200, &json!(["foregroundDeletion"])));
}

#[tokio::test]
async fn a_strategic_merge_patch_merges_lists_and_owns_what_it_changes() {
    let env = TestEnv::start().await;
    let path = "/api/v1/namespaces/default/serviceaccounts";
    let account = json!({
        "metadata": {"name": "maid", "finalizers": ["example.org/a"]},
        "secrets": [{"name": "one"}], "imagePullSecrets": [{"name": "one"}],
    });
    let (code, _) = send(&env, "POST", path, "application/json", account.to_string().into_bytes()).await;
    assert_eq!(code, 201);
    let patch = json!({
        "metadata": {"finalizers": ["example.org/b"]},
        "secrets": [{"name": "two"}], "imagePullSecrets": [{"name": "two"}],
    });
    let path = format!("{path}/maid?fieldManager=cook");
    let (code, patched) = send(&env, "PATCH", &path, STRATEGIC, patch.to_string().into_bytes()).await;
    assert_eq!(code, 200, "{patched}");
    assert_eq!(patched["secrets"], json!([{"name": "two"}, {"name": "one"}]));
    assert_eq!(patched["imagePullSecrets"], json!([{"name": "two"}]));
    assert_eq!(patched["metadata"]["finalizers"], json!(["example.org/b", "example.org/a"]));
    let managers: Vec<&Value> = patched["metadata"]["managedFields"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| &entry["manager"])
        .collect();
    assert!(managers.contains(&&json!("cook")), "{managers:?}");
    let (code, again) = send(&env, "PATCH", &path, STRATEGIC, patch.to_string().into_bytes()).await;
    assert_eq!(code, 200);
    assert_eq!(
        again["metadata"]["resourceVersion"], patched["metadata"]["resourceVersion"],
        "nothing changed"
    );
}
