//! Cluster roles of every cluster, and aggregated ones.

use orchestra_apiserver::store::Folder;
use serde_json::json;

use super::*;

#[tokio::test]
async fn users_bound_to_the_roles_of_every_cluster_have_their_rights() {
    let env = TestEnv::start().await;
    env.namespace("shop").await;
    for role in ["admin", "edit", "view"] {
        let name = format!("{role}-user");
        let binding = role_binding(role, "ClusterRole", role, user(&name));
        create(&env, &in_namespace("shop", "rolebindings"), binding).await;
    }
    let maps = "/api/v1/namespaces/shop/configmaps";
    let secrets = "/api/v1/namespaces/shop/secrets";
    let roles = in_namespace("shop", "roles");
    for (name, read, write, secret, role) in [
        ("admin-user", true, true, true, true),
        ("edit-user", true, true, true, false),
        ("view-user", true, false, false, false),
        ("other", false, false, false, false),
    ] {
        let who = As::User(name, &[]);
        let found = [
            get(&env, &who, maps).await.is_allowed(),
            call(&env, &who, "POST", maps, json!({"metadata": {"generateName": "m"}})).await.is_allowed(),
            get(&env, &who, secrets).await.is_allowed(),
            get(&env, &who, &roles).await.is_allowed(),
        ];
        assert_eq!(found, [read, write, secret, role], "{name}");
    }
}

#[tokio::test]
async fn an_aggregated_role_follows_its_parts_at_once_and_shows_them_soon() {
    let env = TestEnv::start().await;
    env.namespace("shop").await;
    let who = As::User("viewer", &[]);
    let binding = role_binding("view", "ClusterRole", "view", user("viewer"));
    create(&env, &in_namespace("shop", "rolebindings"), binding).await;
    let leases = "/apis/coordination.k8s.io/v1/namespaces/shop/leases";
    assert!(!get(&env, &who, leases).await.is_allowed());
    let own = rule(&["get", "list"], "coordination.k8s.io", &["leases"]);
    let mut part = cluster_role("see-leases", json!([own]));
    part["metadata"]["labels"] = json!({"rbac.authorization.k8s.io/aggregate-to-view": "true"});
    create(&env, &format!("{RBAC}/clusterroles"), part).await;
    assert!(get(&env, &who, leases).await.is_allowed(), "for the next request");
    let view = format!("{RBAC}/clusterroles/view");
    let shown = async |wanted: bool| {
        let rules = get(&env, &As::Admin, &view).await.body["rules"].clone();
        (rules.as_array().unwrap().contains(&own) == wanted).then_some(())
    };
    env.eventually("the object shows the rule", || shown(true)).await;
    call(&env, &As::Admin, "DELETE", &format!("{RBAC}/clusterroles/see-leases"), json!({})).await.created();
    assert!(!get(&env, &who, leases).await.is_allowed());
    env.eventually("the object no longer shows it", || shown(false)).await;
}

#[tokio::test]
async fn a_restarted_server_restores_what_is_missing_in_the_roles_of_every_cluster() {
    let folder = tempfile::tempdir().unwrap();
    let open = async || {
        use orchestra_apiserver::{
            Api, Options,
            store::{Folder, Redb},
        };
        let store = Redb::open(Folder::hold(folder.path()).unwrap()).unwrap();
        Api::open(store, Options::default()).await.unwrap()
    };
    let discovery = format!("{RBAC}/clusterroles/system:discovery");
    let binding = format!("{RBAC}/clusterrolebindings/system:discovery");
    let is_user_allowed = async |api: &orchestra_apiserver::Api| {
        let router = api.router_for(Caller::new("alice", [""; 0]));
        router.oneshot(request("GET", "/apis", &Value::Null)).await.unwrap().status().is_success()
    };
    let api = open().await;
    assert!(is_user_allowed(&api).await);
    for (method, path) in [("DELETE", &binding), ("PATCH", &discovery)] {
        let router = api.router_for(Caller::admin());
        let body = if method == "PATCH" { json!({"rules": []}) } else { json!({}) };
        assert!(router.oneshot(request(method, path, &body)).await.unwrap().status().is_success());
    }
    assert!(!is_user_allowed(&api).await);
    api.stop();
    drop(api);
    let api = loop {
        // The background task of the first server has to end before its folder is free.
        match Folder::hold(folder.path()) {
            Ok(held) => {
                drop(held);
                break open().await;
            }
            Err(_) => tokio::task::yield_now().await,
        }
    };
    assert!(is_user_allowed(&api).await);
}
