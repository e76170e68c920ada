//! Deletion of owners in the foreground, and of owners that orphan their dependents.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions},
    core::PartialObjectMeta,
};
use orchestra_testkit::TestEnv;
use serde_json::{Value, json};

const FOREGROUND: &str = "foregroundDeletion";
const ORPHAN: &str = "orphan";

struct Maps(Api<ConfigMap>);

impl Maps {
    fn new(env: &TestEnv) -> Self {
        Self(Api::namespaced(env.client(), "default"))
    }

    /// Creates an object with these owners; true if the object blocks their deletion.
    async fn create(&self, name: &str, owners: &[(&ConfigMap, bool)], finalizers: &[&str]) -> ConfigMap {
        let references: Vec<Value> = owners
            .iter()
            .map(|(owner, blocks)| {
                json!({
                    "apiVersion": "v1", "kind": "ConfigMap", "name": owner.name_any(), "uid": owner.uid(),
                    "blockOwnerDeletion": blocks,
                })
            })
            .collect();
        let metadata = json!({"name": name, "ownerReferences": references, "finalizers": finalizers});
        let object = serde_json::from_value(json!({"metadata": metadata})).unwrap();
        self.0.create(&PostParams::default(), &object).await.unwrap()
    }

    async fn get(&self, name: &str) -> Option<ConfigMap> {
        self.0.get_opt(name).await.unwrap()
    }

    async fn finalizers(&self, name: &str) -> Vec<String> {
        self.get(name).await.map(|object| object.finalizers().to_vec()).unwrap_or_default()
    }

    async fn release(&self, name: &str) {
        let patch = json!({"metadata": {"finalizers": null}});
        self.0.patch(name, &PatchParams::default(), &Patch::Merge(&patch)).await.unwrap();
    }

    async fn gone(&self, env: &TestEnv, name: &str) {
        env.eventually(&format!("{name} is gone"), async || self.get(name).await.is_none()).await;
    }
}

#[tokio::test]
async fn an_owner_deleted_in_the_foreground_goes_after_the_dependents_that_block_it() {
    let env = TestEnv::start().await;
    let maps = Maps::new(&env);
    let owner = maps.create("owner", &[], &[]).await;
    maps.create("blocking", &[(&owner, true)], &["example.org/hold"]).await;
    maps.create("other", &[(&owner, false)], &["example.org/hold"]).await;
    let answer = maps.0.delete("owner", &DeleteParams::foreground()).await.unwrap();
    let marked = answer.left().expect("the owner waits");
    assert_eq!(marked.finalizers(), [FOREGROUND]);
    assert!(marked.metadata.deletion_timestamp.is_some());
    for name in ["blocking", "other"] {
        env.eventually("the dependents are terminating", async || {
            maps.get(name).await.unwrap().metadata.deletion_timestamp.is_some()
        })
        .await;
    }
    assert_eq!(maps.finalizers("owner").await, [FOREGROUND]);
    maps.release("blocking").await;
    maps.gone(&env, "owner").await;
    assert!(maps.get("other").await.is_some(), "it does not block its owner");
    maps.release("other").await;
    maps.gone(&env, "other").await;
}

#[tokio::test]
async fn dependents_with_dependents_are_deleted_in_the_foreground_too() {
    let env = TestEnv::start().await;
    let maps = Maps::new(&env);
    let owner = maps.create("owner", &[], &[]).await;
    let child = maps.create("child", &[(&owner, true)], &[]).await;
    maps.create("grandchild", &[(&child, true)], &["example.org/hold"]).await;
    maps.0.delete("owner", &DeleteParams::foreground()).await.unwrap();
    env.eventually("the grandchild is terminating", async || {
        maps.get("grandchild").await.unwrap().metadata.deletion_timestamp.is_some()
    })
    .await;
    assert_eq!(maps.finalizers("child").await, [FOREGROUND]);
    assert_eq!(maps.finalizers("owner").await, [FOREGROUND]);
    maps.release("grandchild").await;
    for name in ["grandchild", "child", "owner"] {
        maps.gone(&env, name).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dependents_with_dependents_wait_for_them_also_if_the_collector_is_behind() {
    let env = TestEnv::start().await;
    let maps = Maps::new(&env);
    for round in 0..3 {
        let names = ["first", "second", "third"].map(|name| format!("{name}-{round}"));
        let first = maps.create(&names[0], &[], &[]).await;
        // The collector deletes these one after the other, and follows the changes after them late.
        let busy = maps.create(&format!("busy-{round}"), &[], &[]).await;
        for dependent in 0..200 {
            maps.create(&format!("busy-{round}-{dependent}"), &[(&busy, false)], &[]).await;
        }
        maps.0.delete(&busy.name_any(), &DeleteParams::background()).await.unwrap();
        let second = maps.create(&names[1], &[(&first, true)], &[]).await;
        maps.create(&names[2], &[(&second, true)], &["example.org/hold"]).await;
        maps.0.delete(&names[0], &DeleteParams::foreground()).await.unwrap();
        env.eventually("the last one is terminating", async || {
            maps.get(&names[2]).await.is_some_and(|third| third.metadata.deletion_timestamp.is_some())
        })
        .await;
        assert_eq!(maps.finalizers(&names[1]).await, [FOREGROUND], "round {round}");
    }
}

#[tokio::test]
async fn a_cycle_of_owners_does_not_block_itself() {
    let env = TestEnv::start().await;
    let maps = Maps::new(&env);
    let first = maps.create("first", &[], &[]).await;
    let second = maps.create("second", &[(&first, true)], &[]).await;
    let reference = json!([{
        "apiVersion": "v1", "kind": "ConfigMap", "name": "second", "uid": second.uid(), "blockOwnerDeletion": true,
    }]);
    let patch = json!({"metadata": {"ownerReferences": reference}});
    maps.0.patch("first", &PatchParams::default(), &Patch::Merge(&patch)).await.unwrap();
    maps.0.delete("first", &DeleteParams::foreground()).await.unwrap();
    for name in ["first", "second"] {
        maps.gone(&env, name).await;
    }
}

#[tokio::test]
async fn a_dependent_of_another_owner_too_stays_and_blocks_no_longer() {
    let env = TestEnv::start().await;
    let maps = Maps::new(&env);
    let going = maps.create("going", &[], &[]).await;
    let staying = maps.create("staying", &[], &[]).await;
    maps.create("shared", &[(&going, true), (&staying, true)], &[]).await;
    maps.0.delete("going", &DeleteParams::foreground()).await.unwrap();
    maps.gone(&env, "going").await;
    let owners = maps.get("shared").await.unwrap().owner_references().to_vec();
    assert_eq!(owners.iter().map(|owner| owner.name.as_str()).collect::<Vec<_>>(), ["staying"]);
}

#[tokio::test]
async fn a_dependent_that_stops_to_block_lets_its_owner_go() {
    let env = TestEnv::start().await;
    let maps = Maps::new(&env);
    let owner = maps.create("owner", &[], &[]).await;
    maps.create("child", &[(&owner, true)], &["example.org/hold"]).await;
    maps.0.delete("owner", &DeleteParams::foreground()).await.unwrap();
    let reference = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner.uid()}]);
    let patch = json!({"metadata": {"ownerReferences": reference}});
    maps.0.patch("child", &PatchParams::default(), &Patch::Merge(&patch)).await.unwrap();
    maps.gone(&env, "owner").await;
    maps.release("child").await;
    maps.gone(&env, "child").await;
}

#[tokio::test]
async fn an_owner_that_orphans_leaves_its_dependents_without_the_reference() {
    let env = TestEnv::start().await;
    let maps = Maps::new(&env);
    let owner = maps.create("owner", &[], &[]).await;
    let second = maps.create("second", &[], &[]).await;
    maps.create("child", &[(&owner, true)], &[]).await;
    maps.create("shared", &[(&owner, true), (&second, false)], &[]).await;
    let answer = maps.0.delete("owner", &DeleteParams::orphan()).await.unwrap();
    assert_eq!(answer.left().expect("the owner waits").finalizers(), [ORPHAN]);
    maps.gone(&env, "owner").await;
    assert!(maps.get("child").await.unwrap().owner_references().is_empty());
    assert_eq!(maps.get("shared").await.unwrap().owner_references().len(), 1);
}

#[tokio::test]
async fn without_a_policy_the_finalizers_of_the_object_decide() {
    let env = TestEnv::start().await;
    let maps = Maps::new(&env);
    let owner = maps.create("owner", &[], &[ORPHAN]).await;
    maps.create("child", &[(&owner, false)], &[]).await;
    maps.0.delete("owner", &DeleteParams::default()).await.unwrap();
    maps.gone(&env, "owner").await;
    assert!(maps.get("child").await.is_some());
    maps.create("owner", &[], &[ORPHAN]).await;
    let gone = maps.0.delete("owner", &DeleteParams::background()).await.unwrap();
    assert!(gone.right().is_some(), "a policy overrides the finalizers");
}

#[tokio::test]
async fn the_policy_of_a_second_deletion_replaces_the_first() {
    let env = TestEnv::start().await;
    let maps = Maps::new(&env);
    let owner = maps.create("owner", &[], &["example.org/hold"]).await;
    maps.create("child", &[(&owner, true)], &["example.org/hold"]).await;
    maps.0.delete("owner", &DeleteParams::background()).await.unwrap();
    assert_eq!(maps.finalizers("owner").await, ["example.org/hold"]);
    maps.0.delete("owner", &DeleteParams::foreground()).await.unwrap();
    assert_eq!(maps.finalizers("owner").await, ["example.org/hold", FOREGROUND]);
    maps.0.delete("owner", &DeleteParams::orphan()).await.unwrap();
    env.eventually("the child is orphaned", async || {
        maps.get("child").await.unwrap().owner_references().is_empty()
    })
    .await;
    maps.release("owner").await;
    maps.gone(&env, "owner").await;
}

#[tokio::test]
async fn a_dry_run_of_a_foreground_deletion_shows_the_finalizer_and_changes_nothing() {
    let env = TestEnv::start().await;
    let maps = Maps::new(&env);
    let owner = maps.create("owner", &[], &[]).await;
    let shown = maps.0.delete("owner", &DeleteParams::foreground().dry_run()).await.unwrap();
    assert_eq!(shown.left().unwrap().finalizers(), [FOREGROUND]);
    assert_eq!(maps.get("owner").await.unwrap().resource_version(), owner.resource_version());
}

#[tokio::test]
async fn a_precondition_guards_a_foreground_deletion() {
    let env = TestEnv::start().await;
    let maps = Maps::new(&env);
    maps.create("owner", &[], &[]).await;
    let other = Preconditions { uid: Some("another".to_owned()), ..Preconditions::default() };
    let refused = maps.0.delete("owner", &DeleteParams::foreground().preconditions(other)).await;
    assert!(matches!(refused, Err(kube::Error::Api(status)) if status.code == 409));
    assert!(maps.finalizers("owner").await.is_empty());
}

#[tokio::test]
async fn a_namespace_deleted_in_the_foreground_goes() {
    let env = TestEnv::start().await;
    env.namespace("short").await;
    let namespaces: Api<k8s_openapi::api::core::v1::Namespace> = Api::all(env.client());
    namespaces.delete("short", &DeleteParams::foreground()).await.unwrap();
    env.eventually("the namespace is gone", async || namespaces.get_opt("short").await.unwrap().is_none())
        .await;
}

#[tokio::test]
async fn a_collection_is_deleted_with_the_same_policy() {
    let env = TestEnv::start().await;
    let maps = Maps::new(&env);
    let owner = maps.create("owner", &[], &[]).await;
    let secrets: Api<k8s_openapi::api::core::v1::Secret> = Api::namespaced(env.client(), "default");
    let reference = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner.uid()});
    let secret = json!({"metadata": {"name": "child", "ownerReferences": [reference]}});
    secrets.create(&PostParams::default(), &serde_json::from_value(secret).unwrap()).await.unwrap();
    maps.0.delete_collection(&DeleteParams::orphan(), &kube::api::ListParams::default()).await.unwrap();
    maps.gone(&env, "owner").await;
    let child: PartialObjectMeta<_> = secrets.get_metadata("child").await.unwrap();
    assert!(child.owner_references().is_empty());
}
