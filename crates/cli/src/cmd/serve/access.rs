//! Callers of the server on the embedded platform: those of the API, with the roles of the API.

use axum::{
    extract::{Request, State},
    middleware::Next,
    response::Response,
};
use futures_util::future::BoxFuture;
use orchestra_apiserver as apiserver;
use orchestra_server::{Access, AccessError, AccessRequest, Caller, METRICS_PATH};

/// Authorizer by the roles and bindings of the embedded API. They are read without a cache, so that a revoked permission
/// is gone at once.
pub(super) struct EmbeddedAccess(pub(super) apiserver::Api);

impl EmbeddedAccess {
    fn allows(&self, caller: &Caller, request: apiserver::AccessRequest<'_>) -> bool {
        let Caller { user, groups, uid, extra } = caller.clone();
        let caller = apiserver::Caller { name: user, groups, uid: uid.unwrap_or_default(), extra };
        self.0.allows(&caller, request)
    }
}

impl Access for EmbeddedAccess {
    fn review<'a>(
        &'a self,
        caller: &'a Caller,
        request: &'a AccessRequest<'a>,
    ) -> BoxFuture<'a, Result<bool, AccessError>> {
        let AccessRequest { verb, namespace, name, subresource } = *request;
        let request = apiserver::AccessRequest::Resource {
            verb,
            group: orchestra_api::GROUP,
            resource: "workloads",
            subresource,
            namespace,
            name,
        };
        Box::pin(std::future::ready(Ok(self.allows(caller, request))))
    }

    fn review_metrics<'a>(&'a self, caller: &'a Caller) -> BoxFuture<'a, Result<bool, AccessError>> {
        let request = apiserver::AccessRequest::Path { verb: "get", path: METRICS_PATH };
        Box::pin(std::future::ready(Ok(self.allows(caller, request))))
    }
}

/// Middleware that adds the [`Caller`] of a client certificate or bearer token to a request, and rejects invalid tokens.
pub(super) async fn authenticate(
    State(api): State<apiserver::Api>,
    request: Request,
    next: Next,
) -> Response {
    let (mut parts, body) = request.into_parts();
    match api.authenticate(&parts) {
        Ok(None) => {}
        Ok(Some(apiserver::Caller { name, groups, uid, extra })) => {
            let uid = Some(uid).filter(|uid| !uid.is_empty());
            parts.extensions.insert(Caller { user: name, groups, uid, extra });
        }
        Err(_) => return orchestra_server::reject_token(&parts.headers),
    }
    next.run(Request::from_parts(parts, body)).await
}
