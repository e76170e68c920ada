//! CRDs that kube derives from types.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api, Client, CustomResourceExt, ResourceExt,
    api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams},
    core::{ApiResource, GroupVersionKind},
    runtime::wait::delete::delete_and_finalize,
};
use serde_json::{from_value, json};

use crate::kube_rs::garden::{Garden, NAMESPACE, code, garden, install};

on_both!(
    deleting_a_crd_deletes_its_objects,
    applying_a_crd_again_changes_nothing,
    objects_that_violate_the_schema_are_rejected,
    dynamic_and_typed_objects_are_the_same,
);

async fn deleting_a_crd_deletes_its_objects(client: Client) {
    let gardens = install(&client).await;
    gardens.create(&PostParams::default(), &garden("one", &[])).await.unwrap();
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    delete_and_finalize(definitions, Garden::crd_name(), &DeleteParams::default()).await.unwrap();
    assert_eq!(code(gardens.list(&ListParams::default()).await), 404);
    let gardens = install(&client).await;
    assert!(gardens.list(&ListParams::default()).await.unwrap().items.is_empty());
}

async fn applying_a_crd_again_changes_nothing(client: Client) {
    install(&client).await;
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let before = definitions.get(Garden::crd_name()).await.unwrap();
    let params = PatchParams::apply("tests").force();
    let after = definitions.patch(Garden::crd_name(), &params, &Patch::Apply(Garden::crd())).await.unwrap();
    assert_eq!(after.resource_version(), before.resource_version());
    assert_eq!(after.metadata.generation, Some(1));
}

async fn objects_that_violate_the_schema_are_rejected(client: Client) {
    let gardens = install(&client).await;
    gardens.create(&PostParams::default(), &garden("one", &[])).await.unwrap();
    let wrong = Patch::Merge(json!({"spec": {"plants": [3]}}));
    let refused = gardens.patch("one", &PatchParams::default(), &wrong).await;
    let Err(kube::Error::Api(status)) = refused else { panic!("{refused:?}") };
    assert!(status.is_invalid(), "{status:?}");
    assert!(status.message.contains("spec.plants[0]"), "{}", status.message);
}

async fn dynamic_and_typed_objects_are_the_same(client: Client) {
    let gardens = install(&client).await;
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("botany.example.org", "v1", "Garden"));
    let dynamic: Api<DynamicObject> = Api::namespaced_with(client, NAMESPACE, &resource);
    let object = from_value(json!({
        "apiVersion": "botany.example.org/v1", "kind": "Garden",
        "metadata": {"name": "one"}, "spec": {"plants": ["rose"]},
    }));
    dynamic.create(&PostParams::default(), &object.unwrap()).await.unwrap();
    assert_eq!(gardens.get("one").await.unwrap().spec.plants, ["rose"]);
    assert_eq!(dynamic.get("one").await.unwrap().data["spec"]["climate"], "mild");
}
