//! Authentication of bearer tokens by a cluster, bounded so that anonymous clients cannot flood its API.
//!
//! - Answers are cached for a few seconds, rejections apart from accepted tokens, so that one kind does not displace the other.
//!   A failure of the API is no answer: it is not cached.
//! - Concurrent requests with one token share a review.
//! - Reviews of unknown tokens take turns between connections, and a rejected token occupies its slot for a moment, which limits
//!   the rate of rejections. Tokens that were accepted lately have slots of their own.
//!
//! Only hashes of tokens are kept, and tokens are never logged.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures_util::{
    FutureExt as _,
    future::{BoxFuture, Shared},
};
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec};
use kube::{Api, Client, api::PostParams};
use orchestra_limits::{Capacity, FairSemaphore, Grant, Refused};
use sha2::{Digest as _, Sha256};
use tokio::time::{Instant, sleep_until, timeout};

use crate::{
    access::{Caller, CredentialCheck},
    review_cache::ReviewCache,
};

/// Lifetime of cached answers: a revoked token stops working after that.
const ANSWER_TTL: Duration = Duration::from_secs(5);
/// Time for which an accepted token is known, and its reviews do not compete with those of unknown tokens.
const KNOWN_TTL: Duration = Duration::from_hours(1);
/// Timeout of a review.
const REVIEW_TIMEOUT: Duration = Duration::from_secs(10);
/// Time that a review waits for its turn.
const TURN_TIMEOUT: Duration = Duration::from_secs(10);
/// Time for which a rejected token or a failed review occupies its slot: at most 80 of them per second.
const REJECTION_COST: Duration = Duration::from_millis(200);
/// Reviews of unknown tokens, by connection. Every connection of a server with all its slots in use can wait.
const UNKNOWN_TOKENS: Capacity = Capacity { total: 16, per_key: 4, waiting: 512, waiting_per_key: 2 };
/// Reviews of known tokens, by user.
const KNOWN_TOKENS: Capacity = Capacity { total: 16, per_key: 2, waiting: 256, waiting_per_key: 8 };

type TokenHash = [u8; 32];
type Answer = Result<Option<Caller>, Arc<TokenReviewError>>;
type Review = Shared<BoxFuture<'static, Answer>>;

/// A token that could not be reviewed.
#[derive(Debug, thiserror::Error)]
pub enum TokenReviewError {
    /// Too many reviews are in progress.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The API failed.
    #[error(transparent)]
    Api(#[from] kube::Error),
    /// The API did not answer.
    #[error("the API did not answer the token review in time")]
    Timeout,
    /// The review was aborted.
    #[error("the token review was aborted")]
    Aborted,
}

/// Authenticator of bearer tokens. Clones share the caches.
#[derive(Clone)]
pub(crate) struct TokenReviews(Arc<Inner>);

struct Inner {
    client: Client,
    accepted: ReviewCache<TokenHash, Caller>,
    rejected: ReviewCache<TokenHash, ()>,
    /// Users of tokens that were accepted lately.
    known: ReviewCache<TokenHash, Arc<str>>,
    in_progress: Mutex<HashMap<TokenHash, Review>>,
    unknown_tokens: FairSemaphore,
    known_tokens: FairSemaphore,
}

impl fmt::Debug for TokenReviews {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenReviews")
    }
}

impl TokenReviews {
    pub(crate) fn new(client: Client) -> Self {
        Self(Arc::new(Inner {
            client,
            accepted: ReviewCache::new(ANSWER_TTL),
            rejected: ReviewCache::new(ANSWER_TTL),
            known: ReviewCache::new(KNOWN_TTL),
            in_progress: Mutex::default(),
            unknown_tokens: FairSemaphore::new(UNKNOWN_TOKENS),
            known_tokens: FairSemaphore::new(KNOWN_TOKENS),
        }))
    }

    /// User of a token; `None` if the cluster rejects it. `source` is the connection that it came from.
    pub(crate) async fn caller(&self, token: &str, source: &str) -> Answer {
        let hash: TokenHash = Sha256::digest(token.as_bytes()).into();
        if let Some(caller) = self.0.accepted.get(&hash) {
            return Ok(Some(caller));
        }
        if self.0.rejected.get(&hash).is_some() {
            return Ok(None);
        }
        self.review(hash, token, source).await
    }

    /// Check of a token that was accepted. A failed review says nothing about it.
    pub(crate) fn check(&self, token: &str, user: &str, source: &str) -> CredentialCheck {
        let (reviews, user): (_, Arc<str>) = (self.clone(), user.into());
        let (token, source): (Arc<str>, Arc<str>) = (token.into(), source.into());
        CredentialCheck::new(move || {
            let (reviews, user) = (reviews.clone(), Arc::clone(&user));
            let (token, source) = (Arc::clone(&token), Arc::clone(&source));
            Box::pin(async move {
                let answer = reviews.caller(&token, &source).await;
                answer.map_or(true, |caller| caller.is_some_and(|caller| *caller.user == *user))
            })
        })
    }

    /// Review of a token, shared by all who ask meanwhile. It ends even if none of them waits for it any more: a review
    /// that is not polled would keep its slot.
    fn review(&self, hash: TokenHash, token: &str, source: &str) -> Review {
        let mut in_progress = self.0.in_progress.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(review) = in_progress.get(&hash) {
            return review.clone();
        }
        let inner = Arc::clone(&self.0);
        let (token, source) = (token.to_owned(), source.to_owned());
        let task = tokio::spawn(async move {
            let answer = inner.decide(hash, token, &source).await;
            inner.in_progress.lock().unwrap_or_else(PoisonError::into_inner).remove(&hash);
            answer.map_err(Arc::new)
        });
        let aborted = |_| Err(Arc::new(TokenReviewError::Aborted));
        let review: Review = task.map(move |answer| answer.unwrap_or_else(aborted)).boxed().shared();
        in_progress.insert(hash, review.clone());
        review
    }
}

impl Inner {
    async fn decide(
        &self,
        hash: TokenHash,
        token: String,
        source: &str,
    ) -> Result<Option<Caller>, TokenReviewError> {
        let slot = match self.known.get(&hash) {
            Some(user) => self.known_tokens.acquire(&user, 1, TURN_TIMEOUT).await?,
            None => self.unknown_tokens.acquire(source, 1, TURN_TIMEOUT).await?,
        };
        let free = Instant::now() + REJECTION_COST;
        let asked = timeout(REVIEW_TIMEOUT, self.ask(token)).await;
        match asked.unwrap_or(Err(TokenReviewError::Timeout)) {
            Ok(Some(caller)) => {
                self.known.insert(hash, caller.user.as_str().into());
                self.accepted.insert(hash, caller.clone());
                Ok(Some(caller))
            }
            Ok(None) => {
                self.rejected.insert(hash, ());
                hold(slot, free);
                Ok(None)
            }
            Err(error) => {
                hold(slot, free);
                Err(error)
            }
        }
    }

    async fn ask(&self, token: String) -> Result<Option<Caller>, TokenReviewError> {
        let spec = TokenReviewSpec { token: Some(token), audiences: None };
        let review = TokenReview { spec, ..TokenReview::default() };
        let reviews: Api<TokenReview> = Api::all(self.client.clone());
        let answer = reviews.create(&PostParams::default(), &review).await?;
        let status = answer.status.unwrap_or_default();
        let user = status.user.filter(|_| status.authenticated == Some(true)).unwrap_or_default();
        Ok(user.username.filter(|name| !name.is_empty()).map(|name| Caller {
            user: name,
            groups: user.groups.unwrap_or_default(),
            uid: user.uid,
            extra: user.extra.unwrap_or_default(),
            expires: None,
        }))
    }
}

/// Releases a slot at a later time.
fn hold(slot: Grant, until: Instant) {
    tokio::spawn(async move {
        sleep_until(until).await;
        drop(slot);
    });
}

#[cfg(test)]
mod tests;
