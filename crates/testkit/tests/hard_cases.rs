//! Edge cases of clusters: races, unusual CRDs, unusual requests.

use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams},
    core::{ApiResource, GroupVersionKind},
};
use orchestra_testkit::TestEnv;
use serde_json::{Value, json};

fn definition(group: &str, plural: &str, kind: &str, served: bool) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}"), "annotations": {"api-approved.kubernetes.io": "unapproved, a test"}},
        "spec": {
            "group": group, "scope": "Namespaced", "names": {"plural": plural, "kind": kind},
            "versions": [{
                "name": "v1", "served": served, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
            }],
        },
    })
}

fn definitions(env: &TestEnv) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    Api::all_with(env.client(), &ApiResource::from_gvk(&kind))
}

async fn raw(env: &TestEnv, method: &str, path: &str, kind: &str, body: &Value) -> (u16, Value) {
    let request = http::Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", kind)
        .body(serde_json::to_vec(body).unwrap())
        .unwrap();
    let response = env.client().send(request.map(kube::client::Body::from)).await.unwrap();
    let code = response.status().as_u16();
    let bytes = response.into_body().collect_bytes().await.unwrap();
    (code, serde_json::from_slice(&bytes).unwrap_or_default())
}

const APPLY: &str = "application/apply-patch+yaml";

#[tokio::test]
async fn an_apply_cannot_store_invalid_values_of_built_in_kinds() {
    let env = TestEnv::start().await;
    let secret =
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"a": "#no base64"}});
    let path = "/api/v1/namespaces/default/secrets/s?fieldManager=m";
    let (code, status) = raw(&env, "PATCH", path, APPLY, &secret).await;
    assert_eq!(code, 500);
    assert!(status["message"].as_str().unwrap().ends_with("data: illegal base64 data"), "{status}");
    assert!(Api::<Secret>::namespaced(env.client(), "default").get_opt("s").await.unwrap().is_none());
}

#[tokio::test]
async fn a_watch_accepts_any_timeout() {
    let env = TestEnv::start().await;
    let path = format!("/api/v1/configmaps?watch=true&resourceVersion={}&timeoutSeconds={}", 4, i64::MAX);
    let request = http::Request::get(path).body(kube::client::Body::empty()).unwrap();
    assert_eq!(env.client().send(request).await.unwrap().status(), 200);
}

#[tokio::test]
async fn a_definition_cannot_take_a_built_in_kind() {
    let env = TestEnv::start().await;
    let leases = Api::<k8s_openapi::api::coordination::v1::Lease>::namespaced(env.client(), "default");
    leases
        .create(&PostParams::default(), &serde_json::from_value(json!({"metadata": {"name": "l"}})).unwrap())
        .await
        .unwrap();
    let conflicting = definition("coordination.k8s.io", "leases", "Lease", true);
    let all = definitions(&env);
    all.create(&PostParams::default(), &serde_json::from_value(conflicting).unwrap()).await.unwrap();
    all.delete("leases.coordination.k8s.io", &DeleteParams::default()).await.unwrap();
    env.eventually("the conflicting kind is gone", async || {
        all.get_opt("leases.coordination.k8s.io").await.unwrap().is_none()
    })
    .await;
    assert!(leases.get_opt("l").await.unwrap().is_some(), "the lease is still there");
}

#[tokio::test]
async fn a_definition_that_is_not_served_can_be_deleted() {
    let env = TestEnv::start().await;
    let all = definitions(&env);
    let hidden = definition("example.org", "ghosts", "Ghost", false);
    all.create(&PostParams::default(), &serde_json::from_value(hidden).unwrap()).await.unwrap();
    all.delete("ghosts.example.org", &DeleteParams::default()).await.unwrap();
    env.eventually("the definition is gone", async || {
        all.get_opt("ghosts.example.org").await.unwrap().is_none()
    })
    .await;
}

#[tokio::test]
async fn an_owner_that_cannot_be_found_does_not_count_as_gone() {
    let env = TestEnv::start().await;
    let maps = Api::<ConfigMap>::namespaced(env.client(), "default");
    let owner: ConfigMap = serde_json::from_value(json!({"metadata": {"name": "owner"}})).unwrap();
    let owner = maps.create(&PostParams::default(), &owner).await.unwrap();
    let reference =
        json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner.uid().unwrap()}]);
    let owned = json!({"metadata": {"name": "owned", "ownerReferences": reference}});
    let namespaces = Api::<Namespace>::all(env.client());
    namespaces.create(&PostParams::default(), &serde_json::from_value(owned).unwrap()).await.unwrap();
    // The deletion of a later dependent shows that the garbage collector has processed this one.
    let dead = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "never", "uid": "00000000-0000-4000-8000-000000000000"}]);
    let orphan = json!({"metadata": {"name": "orphan", "ownerReferences": dead}});
    maps.create(&PostParams::default(), &serde_json::from_value(orphan).unwrap()).await.unwrap();
    env.eventually("the orphan is gone", async || maps.get_opt("orphan").await.unwrap().is_none()).await;
    assert!(namespaces.get("owned").await.unwrap().metadata.deletion_timestamp.is_none());
}

#[tokio::test]
async fn concurrent_applies_of_a_new_object_all_succeed() {
    let env = TestEnv::start().await;
    let applies = (0..12).map(|at| {
        let maps = Api::<ConfigMap>::namespaced(env.client(), "default");
        tokio::spawn(async move {
            let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}, "data": {format!("k{at}"): "v"}});
            maps.patch("m", &PatchParams::apply(&format!("m{at}")), &Patch::Apply(map)).await
        })
    });
    for apply in applies.collect::<Vec<_>>() {
        apply.await.unwrap().unwrap();
    }
    let map = Api::<ConfigMap>::namespaced(env.client(), "default").get("m").await.unwrap();
    assert_eq!(map.data.unwrap().len(), 12);
}

#[tokio::test]
async fn patches_cannot_exceed_the_object_size_limit() {
    let env = TestEnv::start().await;
    let path = "/api/v1/namespaces/default/serviceaccounts";
    raw(&env, "POST", path, "application/json", &json!({"metadata": {"name": "a"}})).await;
    let names: Vec<Value> =
        (0..16_000).map(|at| json!({"name": format!("{at}-{}", "x".repeat(100))})).collect();
    let (code, status) = raw(
        &env,
        "PATCH",
        &format!("{path}/a"),
        "application/merge-patch+json",
        &json!({"imagePullSecrets": names}),
    )
    .await;
    assert_eq!((code, status["message"].as_str().unwrap()), (500, "etcdserver: request is too large"));
}

#[tokio::test]
async fn stored_versions_are_recorded_in_the_crd_status() {
    let env = TestEnv::start().await;
    let mut first = definition("example.org", "pumps", "Pump", true);
    let all = definitions(&env);
    all.create(&PostParams::default(), &serde_json::from_value(first.clone()).unwrap()).await.unwrap();
    let mut second = first["spec"]["versions"][0].clone();
    second["name"] = json!("v2");
    first["spec"]["versions"][0]["storage"] = json!(false);
    let patch = json!({"spec": {"versions": [first["spec"]["versions"][0], second]}});
    let changed =
        all.patch("pumps.example.org", &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    assert_eq!(changed.data["status"]["storedVersions"], json!(["v1", "v2"]));
}
