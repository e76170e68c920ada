//! Server-side apply: ownership and conflicts.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client, ResourceExt,
    api::{Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};

use crate::kube_rs::garden::{NAMESPACE, code, install};

on_both!(
    apply_creates_an_object_and_prunes_fields_that_are_no_longer_applied,
    a_conflict_is_resolved_by_force,
    two_appliers_share_an_object_field_by_field,
    custom_objects_are_applied_by_their_schema,
    strict_validation_rejects_unknown_fields,
);

fn map(data: &Value) -> Patch<Value> {
    Patch::Apply(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}, "data": data}))
}

async fn apply_creates_an_object_and_prunes_fields_that_are_no_longer_applied(client: Client) {
    let maps: Api<ConfigMap> = Api::namespaced(client, NAMESPACE);
    let ann = PatchParams::apply("ann");
    let made = maps.patch("one", &ann, &map(&json!({"a": "1", "b": "2"}))).await.unwrap();
    let manager = &made.managed_fields()[0];
    assert_eq!(manager.manager.as_deref(), Some("ann"));
    assert_eq!(manager.operation.as_deref(), Some("Apply"));
    let again = maps.patch("one", &ann, &map(&json!({"a": "1", "b": "2"}))).await.unwrap();
    assert_eq!(again.resource_version(), made.resource_version(), "nothing changed");
    let less = maps.patch("one", &ann, &map(&json!({"b": "2"}))).await.unwrap();
    assert_eq!(less.data.unwrap().into_keys().collect::<Vec<_>>(), ["b"]);
}

async fn a_conflict_is_resolved_by_force(client: Client) {
    let maps: Api<ConfigMap> = Api::namespaced(client, NAMESPACE);
    maps.patch("one", &PatchParams::apply("ann"), &map(&json!({"a": "1"}))).await.unwrap();

    let refused = maps.patch("one", &PatchParams::apply("bob"), &map(&json!({"a": "2"}))).await;
    let Err(kube::Error::Api(status)) = refused else { panic!("{refused:?}") };
    assert!(status.is_conflict(), "{status:?}");
    assert!(status.message.contains(r#"conflict with "ann": .data.a"#), "{}", status.message);
    let cause = &status.details.as_ref().unwrap().causes[0];
    assert_eq!((cause.reason.as_str(), cause.field.as_str()), ("FieldManagerConflict", ".data.a"));

    let forced = PatchParams::apply("bob").force();
    let taken = maps.patch("one", &forced, &map(&json!({"a": "2"}))).await.unwrap();
    assert_eq!(taken.data.as_ref().unwrap()["a"], "2");
    let managers: Vec<_> =
        taken.managed_fields().iter().map(|entry| entry.manager.clone().unwrap()).collect();
    assert_eq!(managers, ["bob"], "ann owns no field");
}

async fn two_appliers_share_an_object_field_by_field(client: Client) {
    let maps: Api<ConfigMap> = Api::namespaced(client, NAMESPACE);
    let (ann, bob) = (PatchParams::apply("ann"), PatchParams::apply("bob"));
    maps.patch("one", &ann, &map(&json!({"a": "1", "both": "x"}))).await.unwrap();
    maps.patch("one", &bob, &map(&json!({"b": "2", "both": "x"}))).await.unwrap();
    let left = maps.patch("one", &ann, &map(&json!({}))).await.unwrap();
    let keys: Vec<_> = left.data.unwrap().into_keys().collect();
    assert_eq!(keys, ["b", "both"], "fields of bob remain");
}

async fn custom_objects_are_applied_by_their_schema(client: Client) {
    let gardens = install(&client).await;
    let patch = |spec: Value| {
        Patch::Apply(json!({
            "apiVersion": "botany.example.org/v1", "kind": "Garden", "metadata": {"name": "one"}, "spec": spec,
        }))
    };
    let (ann, bob) = (PatchParams::apply("ann"), PatchParams::apply("bob"));
    let made = gardens.patch("one", &ann, &patch(json!({"plants": ["rose"]}))).await.unwrap();
    assert_eq!((made.spec.climate.as_str(), made.metadata.generation), ("mild", Some(1)));
    gardens.patch("one", &bob, &patch(json!({"climate": "dry"}))).await.unwrap();
    // A list without a list type is atomic.
    assert_eq!(code(gardens.patch("one", &bob, &patch(json!({"plants": ["fern"]}))).await), 409);
    let left = gardens.patch("one", &bob, &patch(json!({}))).await.unwrap();
    assert_eq!((left.spec.climate.as_str(), left.spec.plants.as_slice()), ("mild", &["rose".to_owned()][..]));
}

async fn strict_validation_rejects_unknown_fields(client: Client) {
    let gardens = install(&client).await;
    let patch = Patch::Merge(json!({"spec": {"gnomes": 3}}));
    gardens.create(&PostParams::default(), &crate::kube_rs::garden::garden("one", &[])).await.unwrap();
    let strict = PatchParams::default().validation_strict();
    let refused = gardens.patch("one", &strict, &patch).await;
    let Err(kube::Error::Api(status)) = refused else { panic!("{refused:?}") };
    assert_eq!(status.code, 422, "{status:?}");
    assert!(status.message.contains("spec.gnomes"), "{}", status.message);
    gardens.patch("one", &PatchParams::default(), &patch).await.unwrap();
}
