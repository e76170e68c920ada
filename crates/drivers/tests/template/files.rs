//! Provisioner files of the platform.

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::{
    Api,
    api::{DeleteParams, ListParams, Patch, PatchParams},
};
use orchestra_api::{SYSTEM_NAMESPACE, label};
use orchestra_core::provision::Provision;
use orchestra_drivers::template::Template;
use serde_json::{Value as Json, json};

use super::support::Fixture;

/// Provisioner file with an entry that creates config maps of these names.
fn file(uri: &str, names: &[&str]) -> String {
    let object = |name: &&str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "b"}});
    let manifests = Json::Array(names.iter().map(object).collect());
    format!("- uri: {uri}\n  type: thing\n  outputs: |\n    name: it\n  manifests: |\n    {manifests}\n")
}

async fn publish(fixture: &Fixture, map: &str, text: &str) {
    let spaces: Api<Namespace> = Api::all(fixture.client.clone());
    let params = PatchParams::apply("test").force();
    let space = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SYSTEM_NAMESPACE}});
    spaces.patch(SYSTEM_NAMESPACE, &params, &Patch::Apply(&space)).await.unwrap();
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": map, "labels": {label::PROVISIONERS: "true"}},
        "data": {"own.provisioners.yaml": text}});
    let api: Api<ConfigMap> = Api::namespaced(fixture.client.clone(), SYSTEM_NAMESPACE);
    api.patch(map, &params, &Patch::Apply(&object)).await.unwrap();
}

async fn config_maps(fixture: &Fixture) -> Vec<String> {
    let found =
        fixture.api::<ConfigMap>().list(&ListParams::default().labels(label::INSTANCE)).await.unwrap();
    found.iter().map(kube::ResourceExt::name_any).collect()
}

#[tokio::test]
#[ignore = "needs KUBECONFIG"]
async fn a_provisioner_file_of_the_platform_is_used_and_dropped_manifests_are_deleted() {
    let fixture = Fixture::new("files").await;
    let map = fixture.namespace.clone();
    let uri = format!("template://test/{map}");
    let mut instance = fixture.instance("thing", &json!({}));
    instance.entry.params.insert("template".to_owned(), json!(uri));

    publish(&fixture, &map, &file(&uri, &["one", "two"])).await;
    let engine = Template::open(fixture.client.clone());
    let Provision::Bound(bound) = fixture.ensure(&engine, &instance).await.unwrap() else { panic!() };
    assert_eq!(serde_json::to_value(&bound.outputs).unwrap()["name"], json!({"value": "it"}) as Json);
    assert_eq!(config_maps(&fixture).await, ["one", "two"]);

    publish(&fixture, &map, &file(&uri, &["two", "three"])).await;
    let engine = Template::open(fixture.client.clone());
    fixture.ensure(&engine, &instance).await.unwrap();
    assert_eq!(config_maps(&fixture).await, ["three", "two"]);

    let api: Api<ConfigMap> = Api::namespaced(fixture.client.clone(), SYSTEM_NAMESPACE);
    api.delete(&map, &DeleteParams::default()).await.unwrap();
    fixture.delete_namespace().await;
}
