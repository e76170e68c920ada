//! CRUD of built-in and custom kinds.

use std::fmt::Debug;

use k8s_openapi::{
    NamespaceResourceScope,
    api::{
        coordination::v1::Lease,
        core::v1::{ConfigMap, Namespace, Secret, ServiceAccount},
    },
};
use kube::{
    Api, Client, Resource, ResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams, Preconditions},
    runtime::wait::delete::delete_and_finalize,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, from_value, json, to_value};

use crate::kube_rs::garden::{NAMESPACE, code, config_map, garden, install};

on_both!(
    built_in_objects_support_all_verbs,
    custom_objects_support_all_verbs,
    deleting_a_namespace_deletes_its_objects,
    dry_runs_change_nothing,
    preconditions_protect_an_object_from_deletion,
    generated_names_differ,
    no_op_writes_keep_the_resource_version,
);

/// Creates, reads, replaces, patches and deletes an object. `field` is a string field of it.
async fn live<K>(api: Api<K>, object: Value, field: &str)
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    K: Clone + Debug + DeserializeOwned + Serialize + Send + 'static,
{
    let kind = K::kind(&());
    let at = |object: &K| to_value(object).unwrap().pointer(field).cloned();
    let name = object["metadata"]["name"].as_str().unwrap().to_owned();
    let object: K = from_value(object).unwrap();

    let created = api.create(&PostParams::default(), &object).await.unwrap();
    assert!(created.uid().is_some() && created.creation_timestamp().is_some(), "{kind}: {created:?}");
    assert_eq!(created.namespace().as_deref(), Some(NAMESPACE), "{kind}");
    assert_eq!(code(api.create(&PostParams::default(), &object).await), 409, "{kind} twice");
    assert_eq!(at(&api.get(&name).await.unwrap()), at(&object), "{kind} as it was written");

    let mut changed = to_value(&created).unwrap();
    *changed.pointer_mut(field).unwrap() = json!("bmV3");
    let changed: K = from_value(changed).unwrap();
    let replaced = api.replace(&name, &PostParams::default(), &changed).await.unwrap();
    assert_eq!(at(&replaced), Some(json!("bmV3")), "{kind}");
    assert_ne!(replaced.resource_version(), created.resource_version(), "{kind}");
    assert_eq!(code(api.replace(&name, &PostParams::default(), &changed).await), 409, "{kind}, outdated");

    let note = json!({"metadata": {"annotations": {"note": "x"}}});
    let patched = api.patch(&name, &PatchParams::default(), &Patch::Merge(&note)).await.unwrap();
    assert_eq!(patched.annotations().get("note").map(String::as_str), Some("x"), "{kind}");
    assert_eq!(at(&patched), Some(json!("bmV3")), "{kind}");
    let operations = json!([{"op": "remove", "path": "/metadata/annotations/note"}]);
    let operations = Patch::Json::<()>(from_value(operations).unwrap());
    let patched = api.patch(&name, &PatchParams::default(), &operations).await.unwrap();
    assert!(patched.annotations().is_empty(), "{kind}");
    // Every namespace has a service account of its own.
    let others = ListParams::default().fields("metadata.name!=default");
    assert_eq!(api.list(&others).await.unwrap().items.len(), 1, "{kind}");

    delete_and_finalize(api.clone(), &name, &DeleteParams::default()).await.unwrap();
    assert!(api.get_opt(&name).await.unwrap().is_none(), "{kind}");
    assert_eq!(code(api.delete(&name, &DeleteParams::default()).await), 404, "{kind}");
}

async fn built_in_objects_support_all_verbs(client: Client) {
    let here = || client.clone();
    let map = json!({"metadata": {"name": "one"}, "data": {"key": "old"}});
    live::<ConfigMap>(Api::namespaced(here(), NAMESPACE), map, "/data/key").await;
    let secret = json!({"metadata": {"name": "one"}, "type": "Opaque", "data": {"key": "b2xk"}});
    live::<Secret>(Api::namespaced(here(), NAMESPACE), secret, "/data/key").await;
    let lease = json!({"metadata": {"name": "one"}, "spec": {"holderIdentity": "old"}});
    live::<Lease>(Api::namespaced(here(), NAMESPACE), lease, "/spec/holderIdentity").await;
    let account = json!({"metadata": {"name": "one"}, "imagePullSecrets": [{"name": "old"}]});
    live::<ServiceAccount>(Api::namespaced(here(), NAMESPACE), account, "/imagePullSecrets/0/name").await;
}

async fn custom_objects_support_all_verbs(client: Client) {
    let gardens = install(&client).await;
    live(gardens.clone(), to_value(garden("one", &["rose"])).unwrap(), "/spec/plants/0").await;

    // Only custom objects have defaults and generations.
    let bare = from_value(json!({"metadata": {"name": "two"}, "spec": {}})).unwrap();
    let created = gardens.create(&PostParams::default(), &bare).await.unwrap();
    assert_eq!(created.spec.climate, "mild");
    assert_eq!(created.metadata.generation, Some(1));
    let dry = json!({"spec": {"climate": "dry"}});
    let changed = gardens.patch("two", &PatchParams::default(), &Patch::Merge(dry)).await.unwrap();
    assert_eq!(changed.metadata.generation, Some(2));
}

async fn deleting_a_namespace_deletes_its_objects(client: Client) {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let shop = from_value(json!({"metadata": {"name": "shop"}})).unwrap();
    let created = namespaces.create(&PostParams::default(), &shop).await.unwrap();
    assert_eq!(created.status.as_ref().unwrap().phase.as_deref(), Some("Active"));
    assert_eq!(created.labels().get("kubernetes.io/metadata.name").map(String::as_str), Some("shop"));
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "shop");
    maps.create(&PostParams::default(), &config_map("one", &[])).await.unwrap();

    delete_and_finalize(namespaces.clone(), "shop", &DeleteParams::default()).await.unwrap();
    assert!(maps.list(&ListParams::default()).await.unwrap().items.is_empty());
    assert_eq!(code(maps.create(&PostParams::default(), &config_map("one", &[])).await), 404);
}

async fn dry_runs_change_nothing(client: Client) {
    let maps: Api<ConfigMap> = Api::namespaced(client, NAMESPACE);
    let dry = PostParams { dry_run: true, ..PostParams::default() };
    let answer = maps.create(&dry, &config_map("one", &[("key", "old")])).await.unwrap();
    assert!(answer.uid().is_some());
    assert!(maps.get_opt("one").await.unwrap().is_none());

    let created = maps.create(&PostParams::default(), &config_map("one", &[("key", "old")])).await.unwrap();
    let new = json!({"data": {"key": "new"}});
    let answer = maps.patch("one", &PatchParams::default().dry_run(), &Patch::Merge(&new)).await.unwrap();
    assert_eq!(answer.data.unwrap()["key"], "new");
    let answer = maps.replace("one", &dry, &config_map("one", &[("key", "new")])).await.unwrap();
    assert_eq!(answer.data.unwrap()["key"], "new");
    maps.delete("one", &DeleteParams::default().dry_run()).await.unwrap();
    assert_eq!(maps.get("one").await.unwrap(), created);
}

async fn preconditions_protect_an_object_from_deletion(client: Client) {
    let maps: Api<ConfigMap> = Api::namespaced(client, NAMESPACE);
    let created = maps.create(&PostParams::default(), &config_map("one", &[])).await.unwrap();
    let only = |uid: Option<String>, resource_version: Option<String>| {
        DeleteParams::default().preconditions(Preconditions { uid, resource_version })
    };
    assert_eq!(code(maps.delete("one", &only(Some("another".to_owned()), None)).await), 409);
    assert_eq!(code(maps.delete("one", &only(None, Some("1".to_owned()))).await), 409);
    let exact = only(created.uid(), created.resource_version());
    let status = maps.delete("one", &exact).await.unwrap().right().expect("it is gone at once");
    assert!(status.is_success(), "{status:?}");
}

async fn generated_names_differ(client: Client) {
    let maps: Api<ConfigMap> = Api::namespaced(client, NAMESPACE);
    let map: ConfigMap = from_value(json!({"metadata": {"generateName": "map-"}})).unwrap();
    let one = maps.create(&PostParams::default(), &map).await.unwrap().name_any();
    let two = maps.create(&PostParams::default(), &map).await.unwrap().name_any();
    assert!(one.starts_with("map-") && two.starts_with("map-") && one != two, "{one} {two}");
}

async fn no_op_writes_keep_the_resource_version(client: Client) {
    let maps: Api<ConfigMap> = Api::namespaced(client, NAMESPACE);
    let created = maps.create(&PostParams::default(), &config_map("one", &[("key", "old")])).await.unwrap();
    let replaced = maps.replace("one", &PostParams::default(), &created).await.unwrap();
    assert_eq!(replaced.resource_version(), created.resource_version());
    let same = json!({"data": {"key": "old"}});
    let patched = maps.patch("one", &PatchParams::default(), &Patch::Merge(same)).await.unwrap();
    assert_eq!(patched.resource_version(), created.resource_version());
}
