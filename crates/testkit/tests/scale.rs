//! Subresource `scale` of custom kinds.

use k8s_openapi::api::autoscaling::v1::Scale;
use kube::{
    Api, Client, Error,
    api::{DynamicObject, Patch, PatchParams, PostParams},
    core::{ApiResource, GroupVersionKind},
};
use orchestra_apiserver::Caller;
use orchestra_testkit::TestEnv;
use serde_json::{Value, from_value, json};

const GROUP: &str = "sea.example.org";

/// Fleets in the namespace `default`; one of two ships exists.
async fn fleets(env: &TestEnv) -> Api<DynamicObject> {
    env.install(json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("fleets.{GROUP}")},
        "spec": {
            "group": GROUP, "scope": "Namespaced", "names": {"plural": "fleets", "kind": "Fleet"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "subresources": {"status": {}, "scale": {
                    "specReplicasPath": ".spec.deep.ships", "statusReplicasPath": ".status.ships",
                    "labelSelectorPath": ".status.selector",
                }},
                "schema": {"openAPIV3Schema": {
                    "type": "object", "x-kubernetes-preserve-unknown-fields": true,
                }},
            }],
        },
    }))
    .await;
    let fleets = of(env.client());
    let one = json!({
        "apiVersion": format!("{GROUP}/v1"), "kind": "Fleet", "metadata": {"name": "one"},
        "spec": {"deep": {"ships": 2, "name": "armada"}},
    });
    fleets.create(&PostParams::default(), &from_value(one).unwrap()).await.unwrap();
    fleets
}

fn of(client: Client) -> Api<DynamicObject> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(GROUP, "v1", "Fleet"));
    Api::default_namespaced_with(client, &resource)
}

fn to(replicas: i32) -> Patch<Value> {
    Patch::Merge(json!({"spec": {"replicas": replicas}}))
}

fn code<T: std::fmt::Debug>(result: Result<T, Error>) -> u16 {
    match result {
        Err(Error::Api(status)) => status.code,
        other => panic!("not refused: {other:?}"),
    }
}

#[tokio::test]
async fn a_scale_reads_and_writes_the_fields_that_the_definition_names() {
    let env = TestEnv::start().await;
    let fleets = fleets(&env).await;
    let scale = fleets.get_scale("one").await.unwrap();
    assert_eq!(scale.spec.unwrap().replicas, Some(2));
    let status = json!({"status": {"ships": 1, "selector": "fleet=one"}});
    fleets.patch_status("one", &PatchParams::default(), &Patch::Merge(status)).await.unwrap();

    let patched = fleets.patch_scale("one", &PatchParams::default(), &to(3)).await.unwrap();
    let status = patched.status.unwrap();
    assert_eq!((status.replicas, status.selector.as_deref()), (1, Some("fleet=one")));
    let stored = fleets.get("one").await.unwrap();
    assert_eq!(stored.data["spec"], json!({"deep": {"ships": 3, "name": "armada"}}));
    assert_eq!(stored.metadata.generation, Some(2), "the spec has changed");

    let mut next: Scale = fleets.get_scale("one").await.unwrap();
    next.spec.as_mut().unwrap().replicas = Some(4);
    fleets.replace_scale("one", &PostParams::default(), &next).await.unwrap();
    assert_eq!(code(fleets.replace_scale("one", &PostParams::default(), &next).await), 409, "outdated");
    assert_eq!(fleets.get("one").await.unwrap().data["spec"]["deep"]["ships"], 4);
}

#[tokio::test]
async fn concurrent_patches_of_a_scale_and_its_object_are_all_kept() {
    let env = TestEnv::start().await;
    let fleets = fleets(&env).await;
    let params = PatchParams::default();
    let notes = (0..20).map(|n| {
        let note = Patch::Merge(json!({"metadata": {"annotations": {format!("n{n}"): "x"}}}));
        let (fleets, params) = (fleets.clone(), params.clone());
        async move { fleets.patch("one", &params, &note).await.map(drop) }
    });
    let counts = (1..=20).map(|n| {
        let (fleets, params) = (fleets.clone(), params.clone());
        async move { fleets.patch_scale("one", &params, &to(n)).await.map(drop) }
    });
    let (notes, counts) =
        tokio::join!(futures_util::future::join_all(notes), futures_util::future::join_all(counts));
    assert!(notes.into_iter().chain(counts).all(|done| done.is_ok()));
    assert_eq!(fleets.get("one").await.unwrap().metadata.annotations.unwrap().len(), 20);
}

#[tokio::test]
async fn a_scale_needs_a_right_of_its_own_and_gives_no_other() {
    let env = TestEnv::start().await;
    let admin = fleets(&env).await;
    let rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";
    for (name, resource) in [("scaler", "fleets/scale"), ("sailor", "fleets")] {
        let rules = json!([{"apiGroups": [GROUP], "resources": [resource], "verbs": ["get", "patch"]}]);
        let subject = json!({"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": name});
        let reference = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name});
        for (plural, object) in [
            ("roles", json!({"metadata": {"name": name}, "rules": rules})),
            (
                "rolebindings",
                json!({"metadata": {"name": name}, "roleRef": reference, "subjects": [subject]}),
            ),
        ] {
            let request =
                http::Request::post(format!("{rbac}/{plural}")).header("content-type", "application/json");
            let request = request.body(object.to_string().into_bytes()).unwrap();
            env.client().request::<Value>(request).await.unwrap();
        }
    }
    let (scaler, sailor) = (
        of(env.client_of(Caller::new("scaler", [""; 0]))),
        of(env.client_of(Caller::new("sailor", [""; 0]))),
    );
    let params = PatchParams::default();
    assert_eq!(code(sailor.patch_scale("one", &params, &to(5)).await), 403);
    assert_eq!(code(scaler.get("one").await), 403);
    let spec = Patch::Merge(json!({"spec": {"deep": {"name": "mine"}}}));
    assert_eq!(code(scaler.patch("one", &params, &spec).await), 403);
    // Only the number of replicas gets through.
    let more =
        json!({"spec": {"replicas": 6}, "status": {"replicas": 9}, "metadata": {"labels": {"a": "b"}}});
    scaler.patch_scale("one", &params, &Patch::Merge(more)).await.unwrap();
    let stored = admin.get("one").await.unwrap();
    assert_eq!(stored.data["spec"], json!({"deep": {"ships": 6, "name": "armada"}}));
    assert_eq!((stored.data.get("status"), stored.metadata.labels), (None, None));
}

#[tokio::test]
async fn a_scale_that_cannot_be_is_refused() {
    let env = TestEnv::start().await;
    let fleets = fleets(&env).await;
    let params = PatchParams::default();
    assert_eq!(code(fleets.get_scale("none").await), 404);
    assert_eq!(code(fleets.patch_scale("one", &params, &to(-1)).await), 422);
    let unset = json!({"apiVersion": format!("{GROUP}/v1"), "kind": "Fleet", "metadata": {"name": "unset"}});
    fleets.create(&PostParams::default(), &from_value(unset).unwrap()).await.unwrap();
    assert_eq!(code(fleets.get_scale("unset").await), 500, "as on a real server");
    assert_eq!(code(fleets.patch_scale("unset", &params, &Patch::Merge(json!({}))).await), 400);
    let maps: Api<k8s_openapi::api::core::v1::ConfigMap> = Api::default_namespaced(env.client());
    assert_eq!(code(maps.get_scale("one").await), 404);
}
