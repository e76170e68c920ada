//! Authentication and authorization by a cluster.
//!
//! A caller sends the bearer token of its kubeconfig. The cluster authenticates it (`TokenReview`) and authorizes the
//! request (`SubjectAccessReview`). Answers are cached for a few seconds to spare the API, so a revoked permission takes
//! effect after that. The cache has hashes of tokens only, and tokens are never logged.

use std::{
    collections::HashMap,
    fmt,
    hash::Hash,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::{
    extract::{Request, State},
    http::{HeaderMap, header},
    middleware::Next,
    response::Response,
};
use futures_util::future::BoxFuture;
use k8s_openapi::api::{
    authentication::v1::{TokenReview, TokenReviewSpec},
    authorization::v1::{
        NonResourceAttributes, ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
    },
};
use kube::{Api, Client, api::PostParams};
use orchestra_api::GROUP;
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;

use crate::{
    access::{Access, AccessError, AccessRequest, Caller, METRICS_PATH},
    error::Error,
    format::Format,
};

/// Lifetime of cached reviews.
const CACHE_TTL: Duration = Duration::from_secs(5);
/// Maximum number of cached reviews of each kind.
const MAX_CACHED: usize = 1024;
/// Maximum length of a token; longer ones are ignored.
const MAX_TOKEN_BYTES: usize = 32 * 1024;

/// Authenticator and authorizer of a cluster. Clones share the cache.
#[derive(Clone)]
pub struct Reviews {
    client: Client,
    callers: Arc<Cache<[u8; 32], Option<Caller>>>,
    permissions: Arc<Cache<(Caller, Permission), bool>>,
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
        Self { client, callers: Arc::default(), permissions: Arc::default() }
    }

    /// User of a token; `None` if the cluster rejects it.
    async fn caller(&self, token: &str) -> kube::Result<Option<Caller>> {
        let key: [u8; 32] = Sha256::digest(token.as_bytes()).into();
        if let Some(cached) = self.callers.get(&key) {
            return Ok(cached);
        }
        let spec = TokenReviewSpec { token: Some(token.to_owned()), audiences: None };
        let review = TokenReview { spec, ..TokenReview::default() };
        let reviews: Api<TokenReview> = Api::all(self.client.clone());
        let answer = reviews.create(&PostParams::default(), &review).await?;
        let status = answer.status.unwrap_or_default();
        let user = status.user.filter(|_| status.authenticated == Some(true)).unwrap_or_default();
        let caller = user.username.filter(|name| !name.is_empty()).map(|name| Caller {
            user: name,
            groups: user.groups.unwrap_or_default(),
            uid: user.uid,
            extra: user.extra.unwrap_or_default(),
        });
        self.callers.insert(key, caller.clone());
        Ok(caller)
    }

    async fn is_allowed(&self, caller: &Caller, permission: Permission) -> Result<bool, AccessError> {
        let key = (caller.clone(), permission.clone());
        if let Some(cached) = self.permissions.get(&key) {
            return Ok(cached);
        }
        let Caller { user, groups, uid, extra } = caller.clone();
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

/// Axum middleware that adds the [`Caller`] of a bearer token to the request, and rejects invalid tokens.
pub async fn authenticate_token(
    State(reviews): State<Reviews>,
    mut request: Request,
    next: Next,
) -> Response {
    let format = Format::of(request.headers());
    if let Some(token) = bearer(request.headers()) {
        match reviews.caller(token).await {
            Ok(Some(caller)) => {
                request.extensions_mut().insert(caller);
            }
            Ok(None) => return Error::InvalidToken.respond(format),
            Err(error) => return Error::TokenReview(error).respond(format),
        }
    }
    next.run(request).await
}

/// Bearer token of a request.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty() && token.len() <= MAX_TOKEN_BYTES)
        .then_some(token)
}

/// Cache of recent reviews.
struct Cache<K, V>(Mutex<HashMap<K, (Instant, V)>>);

impl<K, V> Default for Cache<K, V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Eq + Hash, V: Clone> Cache<K, V> {
    fn get(&self, key: &K) -> Option<V> {
        let entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        entries.get(key).filter(|(since, _)| since.elapsed() < CACHE_TTL).map(|(_, value)| value.clone())
    }

    fn insert(&self, key: K, value: V) {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if entries.len() >= MAX_CACHED {
            entries.retain(|_, (since, _)| since.elapsed() < CACHE_TTL);
        }
        if entries.len() >= MAX_CACHED {
            entries.clear();
        }
        entries.insert(key, (Instant::now(), value));
    }
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

    #[tokio::test(start_paused = true)]
    async fn cached_reviews_expire_and_their_number_is_limited() {
        let cache = Cache::default();
        cache.insert(0, true);
        assert_eq!(cache.get(&0), Some(true));
        tokio::time::advance(CACHE_TTL).await;
        assert_eq!(cache.get(&0), None);
        for key in 0..MAX_CACHED * 2 {
            cache.insert(key, true);
        }
        assert!(cache.0.lock().unwrap().len() <= MAX_CACHED);
    }
}
