//! Access control of the API: who may do what, over the same router that the listener serves.
#![expect(clippy::needless_pass_by_value, reason = "values of tests are written where they are used")]

mod aggregation;
mod escalation;
mod impersonation;
mod paths;
mod reviews;
mod service_accounts;
mod tokens;
mod watches;

use axum::body::{Body, to_bytes};
use http::{Request, StatusCode, header};
use orchestra_apiserver::Caller;
use orchestra_testkit::TestEnv;
use serde_json::{Value, json};
use tower::ServiceExt as _;

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";
const RBAC_GROUP: &str = "rbac.authorization.k8s.io";

/// Credentials of a request.
#[derive(Clone, Debug)]
enum As {
    Anonymous,
    Admin,
    /// Holder of a client certificate: name and groups.
    User(&'static str, &'static [&'static str]),
    Token(String),
}

/// Response: status and body.
#[derive(Clone, Debug)]
struct Answer {
    code: StatusCode,
    body: Value,
}

impl Answer {
    /// True unless the request was refused for lack of credentials or rights.
    fn is_allowed(&self) -> bool {
        !matches!(self.code, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN)
    }

    #[track_caller]
    fn created(self) -> Value {
        assert!(self.code.is_success(), "{self:?}");
        self.body
    }

    fn message(&self) -> &str {
        self.body["message"].as_str().unwrap_or_default()
    }
}

fn request(method: &str, path: &str, body: &Value) -> Request<Body> {
    let kind = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
    let body = if body.is_null() { Body::empty() } else { Body::from(body.to_string()) };
    Request::builder().method(method).uri(path).header(header::CONTENT_TYPE, kind).body(body).unwrap()
}

async fn send(env: &TestEnv, who: &As, mut request: Request<Body>) -> http::Response<Body> {
    let router = match who {
        As::Anonymous => env.api().router(),
        As::Admin => env.api().router_for(Caller::admin()),
        As::User(name, groups) => env.api().router_for(Caller::new(*name, groups.iter().copied())),
        As::Token(token) => {
            let value = format!("Bearer {token}").parse().unwrap();
            request.headers_mut().insert(header::AUTHORIZATION, value);
            env.api().router()
        }
    };
    router.oneshot(request).await.unwrap()
}

async fn answer(response: http::Response<Body>) -> Answer {
    let code = response.status();
    let bytes = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    Answer { code, body: serde_json::from_slice(&bytes).unwrap_or_default() }
}

async fn call(env: &TestEnv, who: &As, method: &str, path: &str, body: Value) -> Answer {
    answer(send(env, who, request(method, path, &body)).await).await
}

async fn get(env: &TestEnv, who: &As, path: &str) -> Answer {
    call(env, who, "GET", path, Value::Null).await
}

/// Creates an object as administrator.
async fn create(env: &TestEnv, path: &str, body: Value) -> Value {
    call(env, &As::Admin, "POST", path, body).await.created()
}

/// Object of a kind of RBAC.
fn rbac(kind: &str, name: &str, fields: Value) -> Value {
    let mut object =
        json!({"apiVersion": format!("{RBAC_GROUP}/v1"), "kind": kind, "metadata": {"name": name}});
    for (field, value) in fields.as_object().unwrap() {
        object[field] = value.clone();
    }
    object
}

fn role(name: &str, rules: Value) -> Value {
    rbac("Role", name, json!({"rules": rules}))
}

fn cluster_role(name: &str, rules: Value) -> Value {
    rbac("ClusterRole", name, json!({"rules": rules}))
}

fn rule(verbs: &[&str], group: &str, resources: &[&str]) -> Value {
    json!({"verbs": verbs, "apiGroups": [group], "resources": resources})
}

fn role_binding(name: &str, kind: &str, role: &str, subject: Value) -> Value {
    let reference = json!({"apiGroup": RBAC_GROUP, "kind": kind, "name": role});
    rbac("RoleBinding", name, json!({"roleRef": reference, "subjects": [subject]}))
}

fn cluster_role_binding(name: &str, role: &str, subject: Value) -> Value {
    let mut binding = role_binding(name, "ClusterRole", role, subject);
    binding["kind"] = json!("ClusterRoleBinding");
    binding
}

fn user(name: &str) -> Value {
    json!({"kind": "User", "apiGroup": RBAC_GROUP, "name": name})
}

fn group(name: &str) -> Value {
    json!({"kind": "Group", "apiGroup": RBAC_GROUP, "name": name})
}

fn account(namespace: &str, name: &str) -> Value {
    json!({"kind": "ServiceAccount", "namespace": namespace, "name": name})
}

fn in_namespace(namespace: &str, plural: &str) -> String {
    format!("{RBAC}/namespaces/{namespace}/{plural}")
}

/// Binds a user to rules in a namespace.
async fn grant(env: &TestEnv, namespace: &str, name: &str, subject: Value, rules: Value) {
    create(env, &in_namespace(namespace, "roles"), role(name, rules)).await;
    let binding = role_binding(name, "Role", name, subject);
    create(env, &in_namespace(namespace, "rolebindings"), binding).await;
}

/// Creates a service account, and a token of it.
async fn service_account(env: &TestEnv, namespace: &str, name: &str) -> As {
    let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts");
    create(env, &path, json!({"metadata": {"name": name}})).await;
    As::Token(token(env, namespace, name, json!({})).await)
}

/// New token of a service account.
async fn token(env: &TestEnv, namespace: &str, name: &str, spec: Value) -> String {
    let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token");
    let issued = create(env, &path, json!({"spec": spec})).await;
    issued["status"]["token"].as_str().unwrap().to_owned()
}
