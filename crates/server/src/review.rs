//! Authentication and authorization by a cluster.
//!
//! A caller sends the bearer token of its kubeconfig. The cluster authenticates it (`TokenReview`, in `token_review`) and
//! authorizes the request (`SubjectAccessReview`). Answers are cached for a few seconds to spare the API, so a revoked
//! permission takes effect after that.

use std::{fmt, sync::Arc, time::Duration};

use axum::{
    extract::{Request, State},
    http::{HeaderMap, header},
    middleware::Next,
    response::Response,
};
use futures_util::future::BoxFuture;
use k8s_openapi::api::authorization::v1::{
    NonResourceAttributes, ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use kube::{Api, Client, api::PostParams};
use orchestra_api::GROUP;
use orchestra_limits::{ANONYMOUS, Connection};

use crate::{
    access::{Access, AccessError, AccessRequest, Caller, METRICS_PATH},
    access_log,
    error::Error,
    format::Format,
    review_cache::ReviewCache,
    token_review::TokenReviews,
};

/// Lifetime of cached permissions.
const PERMISSION_TTL: Duration = Duration::from_secs(5);
/// Maximum length of a token; longer ones are ignored.
const MAX_TOKEN_BYTES: usize = 32 * 1024;

/// Authenticator and authorizer of a cluster. Clones share the cache.
#[derive(Clone)]
pub struct Reviews {
    client: Client,
    tokens: TokenReviews,
    permissions: Arc<ReviewCache<(Caller, Permission), bool>>,
}

/// Permission to review.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Permission {
    Workload { verb: &'static str, namespace: String, name: String, subresource: &'static str },
    Metrics,
}

impl Permission {
    fn spec(self) -> SubjectAccessReviewSpec {
        match self {
            Self::Workload { verb, namespace, name, subresource } => SubjectAccessReviewSpec {
                resource_attributes: Some(ResourceAttributes {
                    group: Some(GROUP.to_owned()),
                    resource: Some("workloads".to_owned()),
                    subresource: Some(subresource.to_owned()),
                    verb: Some(verb.to_owned()),
                    namespace: Some(namespace),
                    name: Some(name),
                    ..ResourceAttributes::default()
                }),
                ..SubjectAccessReviewSpec::default()
            },
            Self::Metrics => SubjectAccessReviewSpec {
                non_resource_attributes: Some(NonResourceAttributes {
                    path: Some(METRICS_PATH.to_owned()),
                    verb: Some("get".to_owned()),
                }),
                ..SubjectAccessReviewSpec::default()
            },
        }
    }
}

impl fmt::Debug for Reviews {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Reviews")
    }
}

impl Reviews {
    /// Reviews of a cluster. The client needs permission to create both kinds of review.
    pub fn new(client: Client) -> Self {
        let permissions = Arc::new(ReviewCache::new(PERMISSION_TTL));
        Self { tokens: TokenReviews::new(client.clone()), client, permissions }
    }

    async fn is_allowed(&self, caller: &Caller, permission: Permission) -> Result<bool, AccessError> {
        let key = (caller.clone(), permission.clone());
        if let Some(cached) = self.permissions.get(&key) {
            return Ok(cached);
        }
        let Caller { user, groups, uid, extra, expires: _ } = caller.clone();
        let spec = SubjectAccessReviewSpec {
            user: Some(user),
            groups: Some(groups),
            uid,
            extra: Some(extra),
            ..permission.spec()
        };
        let review = SubjectAccessReview { spec, ..SubjectAccessReview::default() };
        let reviews: Api<SubjectAccessReview> = Api::all(self.client.clone());
        let status = reviews.create(&PostParams::default(), &review).await?.status;
        let allowed = status.is_some_and(|status| status.allowed && status.denied != Some(true));
        self.permissions.insert(key, allowed);
        Ok(allowed)
    }
}

impl Access for Reviews {
    fn review<'a>(
        &'a self,
        caller: &'a Caller,
        request: &'a AccessRequest<'a>,
    ) -> BoxFuture<'a, Result<bool, AccessError>> {
        let AccessRequest { verb, namespace, name, subresource } = *request;
        let (namespace, name) = (namespace.to_owned(), name.to_owned());
        Box::pin(self.is_allowed(caller, Permission::Workload { verb, namespace, name, subresource }))
    }

    fn review_metrics<'a>(&'a self, caller: &'a Caller) -> BoxFuture<'a, Result<bool, AccessError>> {
        Box::pin(self.is_allowed(caller, Permission::Metrics))
    }
}

/// Axum middleware that adds the [`Caller`] of a bearer token to the request, and rejects invalid tokens. The body is not
/// read.
pub(crate) async fn authenticate_token(
    State(reviews): State<Reviews>,
    mut request: Request,
    next: Next,
) -> Response {
    let format = Format::of(request.headers());
    let log = access_log::Access::of(&request);
    let Some(token) = bearer(request.headers()) else {
        let response = next.run(request).await;
        log.log(None, &response);
        return response;
    };
    let connection = request.extensions().get::<Connection>().cloned();
    let source = connection.as_ref().map_or_else(|| ANONYMOUS.to_owned(), |it| it.id().to_string());
    match reviews.tokens.caller(token, &source).await {
        Ok(Some(caller)) => {
            if let Some(connection) = connection {
                connection.authenticated(&caller.user);
            }
            let check = reviews.tokens.check(token, &caller.user, &source);
            request.extensions_mut().insert(check);
            let user = caller.user.clone();
            request.extensions_mut().insert(caller);
            let response = next.run(request).await;
            log.log(Some(&user), &response);
            response
        }
        Ok(None) => {
            let response = Error::InvalidToken.respond(format);
            log.log(None, &response);
            response
        }
        Err(error) => Error::TokenReview(error).respond(format),
    }
}

/// Bearer token of a request.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty() && token.len() <= MAX_TOKEN_BYTES)
        .then_some(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_is_read_from_bearer_headers_only() {
        for (header, token) in [
            ("Bearer abc", Some("abc")),
            ("bearer  abc ", Some("abc")),
            ("Basic abc", None),
            ("Bearer", None),
            ("Bearer ", None),
        ] {
            let headers = HeaderMap::from_iter([(header::AUTHORIZATION, header.parse().unwrap())]);
            assert_eq!(bearer(&headers), token, "{header:?}");
        }
        let long = format!("Bearer {}", "a".repeat(MAX_TOKEN_BYTES + 1));
        let headers = HeaderMap::from_iter([(header::AUTHORIZATION, long.parse().unwrap())]);
        assert_eq!(bearer(&headers), None);
        assert_eq!(bearer(&HeaderMap::new()), None);
    }
}
