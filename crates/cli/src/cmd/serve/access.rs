//! Callers of the server on the embedded platform: those of the API, with the roles of the API.

use std::time::Duration;

use axum::{
    extract::{Request, State},
    middleware::Next,
    response::Response,
};
use futures_util::future::BoxFuture;
use k8s_openapi::jiff::Timestamp;
use orchestra_apiserver as apiserver;
use orchestra_server::{Access, AccessError, AccessRequest, Caller, ERROR_CODE, METRICS_PATH};

/// Authorizer by the roles and bindings of the embedded API. They are read without a cache, so that a revoked permission
/// is gone at once.
pub(super) struct EmbeddedAccess(pub(super) apiserver::Api);

impl EmbeddedAccess {
    fn allows(&self, caller: &Caller, request: apiserver::AccessRequest<'_>) -> bool {
        self.0.allows(&of_api(caller), request)
    }
}

/// The same caller, for the API.
fn of_api(caller: &Caller) -> apiserver::Caller {
    let Caller { user, groups, uid, extra, expires: _ } = caller.clone();
    apiserver::Caller { name: user, groups, uid: uid.unwrap_or_default(), extra }
}

impl Access for EmbeddedAccess {
    fn review<'a>(
        &'a self,
        caller: &'a Caller,
        request: &'a AccessRequest<'a>,
    ) -> BoxFuture<'a, Result<bool, AccessError>> {
        Box::pin(std::future::ready(Ok(self.allows(caller, of_workload(request)))))
    }

    /// Resolves when the right, the account or the token ends.
    fn revoked(&self, caller: &Caller, request: &AccessRequest<'_>) -> BoxFuture<'static, ()> {
        let revoked = self.0.revoked(&of_api(caller), of_workload(request));
        let Some(expires) = caller.expires else { return Box::pin(revoked) };
        let left = u64::try_from(expires - Timestamp::now().as_second()).unwrap_or_default();
        Box::pin(async move {
            tokio::select! {
                () = revoked => {}
                () = tokio::time::sleep(Duration::from_secs(left)) => {}
            }
        })
    }

    fn review_metrics<'a>(&'a self, caller: &'a Caller) -> BoxFuture<'a, Result<bool, AccessError>> {
        let request = apiserver::AccessRequest::Path { verb: "get", path: METRICS_PATH };
        Box::pin(std::future::ready(Ok(self.allows(caller, request))))
    }
}

/// The same question for the API.
fn of_workload<'a>(request: &AccessRequest<'a>) -> apiserver::AccessRequest<'a> {
    let AccessRequest { verb, namespace, name, subresource } = *request;
    let (group, resource) = (orchestra_api::GROUP, "workloads");
    apiserver::AccessRequest::Resource { verb, group, resource, subresource, namespace, name }
}

/// Middleware that adds the [`Caller`] of a client certificate or bearer token to a request, rejects invalid tokens, and
/// records the request in the audit log.
pub(super) async fn authenticate(
    State(api): State<apiserver::Api>,
    request: Request,
    next: Next,
) -> Response {
    let (mut parts, body) = request.into_parts();
    let mut recording = api.record(&parts);
    // Health and metrics are recorded only if they are refused.
    if let Some(wanted) = orchestra_server::required_access(&parts.method, &parts.uri) {
        recording.wants(of_workload(&wanted), true);
        if orchestra_server::is_followed(&parts.uri) {
            recording.set_long();
        }
    }
    match api.authenticate(&parts) {
        Ok(None) => {}
        Ok(Some((caller, expires))) => {
            recording.caller(caller.clone());
            let apiserver::Caller { name, groups, uid, extra } = caller;
            let uid = Some(uid).filter(|uid| !uid.is_empty());
            parts.extensions.insert(Caller { user: name, groups, uid, extra, expires });
        }
        Err(_) => return recording.finish(orchestra_server::reject_token(&parts.headers)).await,
    }
    let response = next.run(Request::from_parts(parts, body)).await;
    if let Some(code) = response.headers().get(ERROR_CODE).and_then(|code| code.to_str().ok()) {
        recording.set_reason(code);
    }
    recording.finish(response).await
}

#[cfg(test)]
mod tests {
    use axum::{
        Extension, Router, body::Body, http::StatusCode, middleware::from_fn_with_state, routing::get,
    };
    use orchestra_apiserver::{Api, Options, store::Memory};
    use serde_json::{Value as Json, json};
    use tower::ServiceExt as _;

    use super::*;

    const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";

    async fn write(api: &Api, method: &str, path: &str, body: &Json) -> Json {
        let request =
            axum::http::Request::builder().method(method).uri(path).body(Body::from(body.to_string()));
        let router = api.router_for(apiserver::Caller::admin());
        let response = router.oneshot(request.unwrap()).await.unwrap();
        assert!(response.status().is_success(), "{method} {path}: {}", response.status());
        let bytes = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
        serde_json::from_slice(&bytes).unwrap()
    }

    /// API with a role for logs and a service account; and a token of it.
    async fn api() -> (Api, String) {
        let api = Api::open(Memory, Options::default()).await.unwrap();
        let rule = json!({"verbs": ["get"], "apiGroups": ["score.dev"], "resources": ["workloads/log"]});
        let role = json!({"metadata": {"name": "logs"}, "rules": [rule]});
        write(&api, "POST", &format!("{RBAC}/roles"), &role).await;
        let accounts = "/api/v1/namespaces/default/serviceaccounts";
        write(&api, "POST", accounts, &json!({"metadata": {"name": "ann"}})).await;
        let issued = write(&api, "POST", &format!("{accounts}/ann/token"), &json!({})).await;
        (api, issued["status"]["token"].as_str().unwrap().to_owned())
    }

    async fn bind(api: &Api) {
        let binding = json!({
            "metadata": {"name": "ann"},
            "roleRef": {"kind": "Role", "name": "logs"},
            "subjects": [{"kind": "ServiceAccount", "namespace": "default", "name": "ann"}],
        });
        write(api, "POST", &format!("{RBAC}/rolebindings"), &binding).await;
    }

    #[tokio::test]
    async fn a_role_of_the_api_counts_at_once_and_so_does_its_end() {
        let (api, _) = api().await;
        let access = EmbeddedAccess(api.clone());
        let ann = Caller { user: "system:serviceaccount:default:ann".to_owned(), ..Caller::default() };
        let may = async |subresource: &'static str| {
            let request = AccessRequest { verb: "get", namespace: "default", name: "web", subresource };
            access.review(&ann, &request).await.unwrap()
        };
        assert!(!may("log").await);
        bind(&api).await;
        assert!(may("log").await);
        assert!(!may("plan").await);
        assert!(!access.review_metrics(&ann).await.unwrap());
        write(&api, "DELETE", &format!("{RBAC}/rolebindings/ann"), &json!({})).await;
        assert!(!may("log").await);
        let admin = Caller { groups: vec!["system:masters".to_owned()], ..Caller::default() };
        assert!(access.review_metrics(&admin).await.unwrap());
    }

    #[tokio::test]
    async fn callers_are_those_of_the_api() {
        let (api, token) = api().await;
        let whoami = |caller: Option<Extension<Caller>>| async move {
            caller.map(|Extension(caller)| caller.user).unwrap_or_default()
        };
        let router =
            Router::new().route("/", get(whoami)).layer(from_fn_with_state(api.clone(), authenticate));
        let ask = async |token: &str, certificate: Option<apiserver::Caller>| {
            let mut request = axum::http::Request::get("/");
            if !token.is_empty() {
                request = request.header("authorization", format!("Bearer {token}"));
            }
            let mut request = request.body(Body::empty()).unwrap();
            if let Some(caller) = certificate {
                request.extensions_mut().insert(caller);
            }
            let response = router.clone().oneshot(request).await.unwrap();
            let status = response.status();
            let bytes = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
            (status, String::from_utf8_lossy(&bytes).into_owned())
        };
        assert_eq!(ask("", None).await, (StatusCode::OK, String::new()));
        assert_eq!(ask("", Some(apiserver::Caller::admin())).await, (StatusCode::OK, "admin".to_owned()));
        let ann = "system:serviceaccount:default:ann".to_owned();
        assert_eq!(ask(&token, None).await, (StatusCode::OK, ann));
        assert_eq!(ask("nonsense", None).await.0, StatusCode::UNAUTHORIZED);
        write(&api, "DELETE", "/api/v1/namespaces/default/serviceaccounts/ann", &json!({})).await;
        assert_eq!(
            ask(&token, None).await.0,
            StatusCode::UNAUTHORIZED,
            "a deleted account has no valid tokens"
        );
    }
}
