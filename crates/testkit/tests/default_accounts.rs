//! The default service account of every namespace.

use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use kube::{
    Api,
    api::{DeleteParams, PostParams},
    runtime::wait::delete::delete_and_finalize,
};
use orchestra_testkit::TestEnv;
use serde_json::{from_value, json};

/// Default account of a namespace, once it has one.
async fn default_account(env: &TestEnv, namespace: &str) -> ServiceAccount {
    let accounts: Api<ServiceAccount> = Api::namespaced(env.client(), namespace);
    env.eventually("the namespace has its default account", || async {
        accounts.get_opt("default").await.unwrap()
    })
    .await
}

#[tokio::test]
async fn every_namespace_gets_a_default_service_account() {
    let env = TestEnv::start().await;
    env.namespace("shop").await;
    for namespace in ["default", "kube-system", "shop"] {
        let account = default_account(&env, namespace).await;
        assert!(account.metadata.uid.is_some());
        assert_eq!(account.metadata.managed_fields, None, "{namespace}: nobody owns its fields");
    }
}

#[tokio::test]
async fn a_deleted_default_account_is_replaced_and_a_changed_one_is_kept() {
    let env = TestEnv::start().await;
    env.namespace("shop").await;
    let first = default_account(&env, "shop").await;
    let accounts: Api<ServiceAccount> = Api::namespaced(env.client(), "shop");
    let mut changed = first.clone();
    changed.automount_service_account_token = Some(false);
    accounts.replace("default", &PostParams::default(), &changed).await.unwrap();
    accounts.delete("default", &DeleteParams::default()).await.unwrap();
    let second = env
        .eventually("the account is replaced", || async {
            accounts
                .get_opt("default")
                .await
                .unwrap()
                .filter(|found| found.metadata.uid != first.metadata.uid)
        })
        .await;
    assert_eq!(second.automount_service_account_token, None);
    // Another account is not replaced: the task has seen its deletion before the namespace that follows it.
    let other: ServiceAccount = from_value(json!({"metadata": {"name": "other"}})).unwrap();
    accounts.create(&PostParams::default(), &other).await.unwrap();
    accounts.delete("other", &DeleteParams::default()).await.unwrap();
    env.namespace("later").await;
    default_account(&env, "later").await;
    assert_eq!(accounts.get_opt("other").await.unwrap(), None);
}

#[tokio::test]
async fn a_default_account_does_not_keep_its_namespace() {
    let env = TestEnv::start().await;
    env.namespace("shop").await;
    default_account(&env, "shop").await;
    let namespaces: Api<Namespace> = Api::all(env.client());
    delete_and_finalize(namespaces.clone(), "shop", &DeleteParams::default()).await.unwrap();
    let accounts: Api<ServiceAccount> = Api::namespaced(env.client(), "shop");
    assert_eq!(accounts.get_opt("default").await.unwrap(), None);
    env.namespace("later").await;
    default_account(&env, "later").await;
    assert_eq!(
        accounts.get_opt("default").await.unwrap(),
        None,
        "nothing is left in a namespace that is gone"
    );
}
