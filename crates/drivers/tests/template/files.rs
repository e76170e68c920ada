//! The platform's own provisioner files.

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::{
    Api,
    api::{DeleteParams, ListParams, Patch, PatchParams},
};
use orchestra_api::{SYSTEM_NAMESPACE, label};
use orchestra_core::provision::Provision;
use orchestra_drivers::template::Template;
use serde_json::{Value as Json, json};

use super::support::Place;

/// A file whose entry makes config maps of these names.
fn file(uri: &str, names: &[&str]) -> String {
    let object = |name: &&str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "b"}});
    let manifests = Json::Array(names.iter().map(object).collect());
    format!("- uri: {uri}\n  type: thing\n  outputs: |\n    name: it\n  manifests: |\n    {manifests}\n")
}

async fn publish(place: &Place, map: &str, text: &str) {
    let spaces: Api<Namespace> = Api::all(place.client.clone());
    let params = PatchParams::apply("test").force();
    let space = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SYSTEM_NAMESPACE}});
    spaces.patch(SYSTEM_NAMESPACE, &params, &Patch::Apply(&space)).await.unwrap();
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": map, "labels": {label::PROVISIONERS: "true"}},
        "data": {"own.provisioners.yaml": text}});
    let api: Api<ConfigMap> = Api::namespaced(place.client.clone(), SYSTEM_NAMESPACE);
    api.patch(map, &params, &Patch::Apply(&object)).await.unwrap();
}

async fn made(place: &Place) -> Vec<String> {
    let found = place.api::<ConfigMap>().list(&ListParams::default().labels(label::INSTANCE)).await.unwrap();
    found.iter().map(kube::ResourceExt::name_any).collect()
}

#[tokio::test]
#[ignore = "needs KUBECONFIG"]
async fn a_file_of_the_platform_is_used_and_what_it_no_longer_makes_goes() {
    let place = Place::new("files").await;
    let map = place.namespace.clone();
    let uri = format!("template://test/{map}");
    let mut instance = place.instance("thing", &json!({}));
    instance.entry.params.insert("template".to_owned(), json!(uri));

    publish(&place, &map, &file(&uri, &["one", "two"])).await;
    let engine = Template::open(place.client.clone());
    let Provision::Bound(bound) = place.ensure(&engine, &instance).await.unwrap() else { panic!() };
    assert_eq!(serde_json::to_value(&bound.outputs).unwrap()["name"], json!({"value": "it"}) as Json);
    assert_eq!(made(&place).await, ["one", "two"]);

    publish(&place, &map, &file(&uri, &["two", "three"])).await;
    let engine = Template::open(place.client.clone());
    place.ensure(&engine, &instance).await.unwrap();
    assert_eq!(made(&place).await, ["three", "two"]);

    let api: Api<ConfigMap> = Api::namespaced(place.client.clone(), SYSTEM_NAMESPACE);
    api.delete(&map, &DeleteParams::default()).await.unwrap();
    place.leave().await;
}
