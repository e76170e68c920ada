//! Who asks on a cluster, and what they may: both are the cluster's to say.
//!
//! A caller shows the bearer token with which it also talks to the API. The cluster says whose it is (`TokenReview`) and
//! whether they may have what they ask for (`SubjectAccessReview`). Its answers hold for a few seconds, so that somebody
//! who follows a log or asks for several things does not burden the API; a right that is taken away is gone after that.
//! Tokens are not kept, but for their hashes, and they are never logged.

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
    access::{Access, AccessError, Ask, Caller},
    answer::{Code, Failure, Format},
};

/// How long an answer of the cluster holds.
const FRESH: Duration = Duration::from_secs(5);
/// How many answers are remembered.
const REMEMBERED: usize = 1024;
/// No token is as long as this: what is longer is not looked at.
const LONGEST: usize = 32 * 1024;

/// Asks the cluster who asks, and what they may. Clones share what they remember.
#[derive(Clone)]
pub struct Reviews {
    client: Client,
    callers: Arc<Memory<[u8; 32], Option<Caller>>>,
    verdicts: Arc<Memory<Verdict, bool>>,
}

/// A caller, and what it asks for.
type Verdict = (Caller, Asked);

/// What is asked for, as the cluster names it.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Asked {
    Workload { verb: &'static str, namespace: String, name: String, subresource: &'static str },
    Metrics,
}

impl Asked {
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
                    path: Some("/metrics".to_owned()),
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
    /// The reviews of a cluster. The client must be allowed to create both kinds of review.
    pub fn new(client: Client) -> Self {
        Self { client, callers: Arc::default(), verdicts: Arc::default() }
    }

    /// Whose token it is; nobody's if the cluster does not know it.
    async fn whose(&self, token: &str) -> kube::Result<Option<Caller>> {
        let key: [u8; 32] = Sha256::digest(token.as_bytes()).into();
        if let Some(known) = self.callers.recall(&key) {
            return Ok(known);
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
        self.callers.note(key, caller.clone());
        Ok(caller)
    }

    async fn may(&self, caller: &Caller, asked: Asked) -> Result<bool, AccessError> {
        let verdict = (caller.clone(), asked.clone());
        if let Some(known) = self.verdicts.recall(&verdict) {
            return Ok(known);
        }
        let Caller { user, groups, uid, extra } = caller.clone();
        let spec = SubjectAccessReviewSpec {
            user: Some(user),
            groups: Some(groups),
            uid,
            extra: Some(extra),
            ..asked.spec()
        };
        let review = SubjectAccessReview { spec, ..SubjectAccessReview::default() };
        let reviews: Api<SubjectAccessReview> = Api::all(self.client.clone());
        let answer = reviews.create(&PostParams::default(), &review).await;
        let status = answer.map_err(|error| AccessError(error.to_string()))?.status;
        let allowed = status.is_some_and(|status| status.allowed && status.denied != Some(true));
        self.verdicts.note(verdict, allowed);
        Ok(allowed)
    }
}

impl Access for Reviews {
    fn review<'a>(
        &'a self,
        caller: &'a Caller,
        ask: &'a Ask<'a>,
    ) -> BoxFuture<'a, Result<bool, AccessError>> {
        let Ask { verb, namespace, name, subresource } = *ask;
        let (namespace, name) = (namespace.to_owned(), name.to_owned());
        Box::pin(self.may(caller, Asked::Workload { verb, namespace, name, subresource }))
    }

    fn review_metrics<'a>(&'a self, caller: &'a Caller) -> BoxFuture<'a, Result<bool, AccessError>> {
        Box::pin(self.may(caller, Asked::Metrics))
    }
}

/// Puts the caller beside a request that shows a token, and refuses one whose token nobody knows. A layer of axum.
pub async fn introduce(State(reviews): State<Reviews>, mut request: Request, next: Next) -> Response {
    let format = Format::of(request.headers());
    if let Some(token) = bearer(request.headers()) {
        match reviews.whose(token).await {
            Ok(Some(caller)) => {
                request.extensions_mut().insert(caller);
            }
            Ok(None) => {
                let message = "The cluster does not know this token: it may have expired; log in anew, or make one with `kubectl create token ACCOUNT` and give it with --token.";
                return Failure::new(Code::Unauthorized, message).answer(format);
            }
            Err(error) => {
                tracing::warn!("failed to review a token: {error}");
                let message = "It cannot be told now who asks; try again later.";
                return Failure::new(Code::Unavailable, message).answer(format);
            }
        }
    }
    next.run(request).await
}

/// The token that a request shows.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty() && token.len() <= LONGEST).then_some(token)
}

/// What was answered lately.
struct Memory<K, V>(Mutex<HashMap<K, (Instant, V)>>);

impl<K, V> Default for Memory<K, V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Eq + Hash, V: Clone> Memory<K, V> {
    fn recall(&self, key: &K) -> Option<V> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(key).filter(|(since, _)| since.elapsed() < FRESH).map(|(_, value)| value.clone())
    }

    fn note(&self, key: K, value: V) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= REMEMBERED {
            known.retain(|_, (since, _)| since.elapsed() < FRESH);
        }
        if known.len() >= REMEMBERED {
            known.clear();
        }
        known.insert(key, (Instant::now(), value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_bearer_token_is_one() {
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
        let long = format!("Bearer {}", "a".repeat(LONGEST + 1));
        let headers = HeaderMap::from_iter([(header::AUTHORIZATION, long.parse().unwrap())]);
        assert_eq!(bearer(&headers), None);
        assert_eq!(bearer(&HeaderMap::new()), None);
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_is_forgotten_after_a_while_and_never_are_too_many_kept() {
        let memory = Memory::default();
        memory.note(0, true);
        assert_eq!(memory.recall(&0), Some(true));
        tokio::time::advance(FRESH).await;
        assert_eq!(memory.recall(&0), None);
        for key in 0..REMEMBERED * 2 {
            memory.note(key, true);
        }
        assert!(memory.0.lock().unwrap().len() <= REMEMBERED);
    }
}
