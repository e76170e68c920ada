//! End of a user: tokens, streams and connections end with the service account.

use crate::serve::client::{Client, Connection, request};
use crate::serve::server::Server;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http2::SendRequest;
use hyper::header::AUTHORIZATION;
use hyper::{Method, Request};
use serde_json::{Value, json};

const ACCOUNTS: &str = "/api/v1/namespaces/default/serviceaccounts";
const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";
const WORKLOADS: &str = "/apis/score.dev/v1b1/namespaces/default/workloads";
const LOGS: &str = "/orchestra/v1/namespaces/default/workloads/web/logs?follow=true";

async fn create(admin: &mut Connection, path: &str, body: Value) -> Value {
    let (status, created) = admin.call(Method::POST, path, body.to_string()).await.unwrap();
    assert_eq!(status, 201, "{created}");
    created
}

/// Creates an account; returns its token.
async fn account(admin: &mut Connection, name: &str) -> String {
    create(admin, ACCOUNTS, json!({"metadata": {"name": name}})).await;
    let issued = create(admin, &format!("{ACCOUNTS}/{name}/token"), json!({})).await;
    issued["status"]["token"].as_str().unwrap().to_owned()
}

/// Gives an account the cluster role of users.
async fn bind(admin: &mut Connection, name: &str) {
    let binding = json!({
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "score-user"},
        "subjects": [{"kind": "ServiceAccount", "namespace": "default", "name": name}],
    });
    create(admin, &format!("{RBAC}/namespaces/default/rolebindings"), binding).await;
}

/// Server with a Workload that gets no plan, so that its log stays open.
async fn server_with_workload() -> (tempfile::TempDir, Server, Connection) {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let mut admin = server.client().connect().await.unwrap();
    let containers = json!({"app": {"image": ".", "variables": {"A": "${resources.none.value}"}}});
    let workload = json!({
        "apiVersion": "score.dev/v1b1", "kind": "Workload", "metadata": {"name": "web"}, "spec": {"containers": containers},
    });
    create(&mut admin, WORKLOADS, workload).await;
    (folder, server, admin)
}

fn with_token(path: &str, token: &str) -> Request<Full<Bytes>> {
    let mut request = request(Method::GET, path, "");
    request.headers_mut().insert(AUTHORIZATION, format!("Bearer {token}").parse().unwrap());
    request
}

async fn get(sender: &mut SendRequest<Full<Bytes>>, path: &str, token: &str) -> (u16, Incoming) {
    let response = sender.send_request(with_token(path, token)).await.unwrap();
    (response.status().as_u16(), response.into_body())
}

/// Waits for the end of a stream; a closed connection is one.
async fn until_end(mut body: Incoming) {
    while let Some(Ok(_)) = body.frame().await {}
}

#[tokio::test]
async fn a_deleted_account_loses_its_token_its_streams_and_its_connections_at_once() {
    let (folder, server, mut admin) = server_with_workload().await;
    let (jane, john) = (account(&mut admin, "jane").await, account(&mut admin, "john").await);
    bind(&mut admin, "jane").await;
    bind(&mut admin, "john").await;
    let client = Client::without_certificate(server.address, folder.path());
    let (mut streams, streams_end) = client.connect_monitored().await.unwrap();
    let (status, watch) = get(&mut streams, &format!("{WORKLOADS}?watch=true"), &jane).await;
    assert_eq!(status, 200);
    let (status, log) = get(&mut streams, LOGS, &jane).await;
    assert_eq!(status, 200);
    let (mut idle, idle_end) = client.connect_monitored().await.unwrap();
    let (status, body) = get(&mut idle, WORKLOADS, &jane).await;
    assert_eq!(status, 200);
    until_end(body).await;
    let (mut other, other_end) = client.connect_monitored().await.unwrap();
    assert_eq!(get(&mut other, WORKLOADS, &john).await.0, 200);

    let (status, _) = admin.call(Method::DELETE, &format!("{ACCOUNTS}/jane"), "").await.unwrap();
    assert_eq!(status, 200);
    until_end(watch).await;
    until_end(log).await;
    streams_end.await.unwrap();
    idle_end.await.unwrap();
    assert_eq!(get(&mut other, WORKLOADS, &john).await.0, 200, "another user is not affected");
    assert_eq!(get(&mut other, WORKLOADS, &jane).await.0, 401);

    let again = account(&mut admin, "jane").await;
    assert_eq!(get(&mut other, WORKLOADS, &jane).await.0, 401, "a new account of that name has another uid");
    assert_eq!(get(&mut other, WORKLOADS, &again).await.0, 200);
    drop(other);
    other_end.await.unwrap();
}

#[tokio::test]
async fn streams_of_a_user_end_with_the_right_also_on_a_connection_that_others_use() {
    let (folder, server, mut admin) = server_with_workload().await;
    let (jane, john) = (account(&mut admin, "jane").await, account(&mut admin, "john").await);
    bind(&mut admin, "jane").await;
    bind(&mut admin, "john").await;
    let client = Client::without_certificate(server.address, folder.path());
    let (mut shared, _) = client.connect_monitored().await.unwrap();
    let (_, watch) = get(&mut shared, &format!("{WORKLOADS}?watch=true"), &jane).await;
    let (_, log) = get(&mut shared, LOGS, &jane).await;
    assert_eq!(get(&mut shared, WORKLOADS, &john).await.0, 200);
    let binding = format!("{RBAC}/namespaces/default/rolebindings/jane");
    assert_eq!(admin.call(Method::DELETE, &binding, "").await.unwrap().0, 200);
    until_end(watch).await;
    until_end(log).await;
    assert_eq!(get(&mut shared, WORKLOADS, &jane).await.0, 403);
    assert_eq!(get(&mut shared, WORKLOADS, &john).await.0, 200);
}
