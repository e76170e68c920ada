//! Bounds of reviews, on a mock API that counts them; the tests of the command line use a real one.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    sync::atomic::{AtomicBool, Ordering},
};

use axum::body::Body;
use futures_util::future::join_all;
use http::{Request, Response};
use http_body_util::BodyExt as _;
use serde_json::{Value as Json, json};
use tokio::time::sleep;
use tower::service_fn;

use super::*;

/// Duration of a review.
const REVIEW: Duration = Duration::from_millis(10);

/// Mock API: tokens that begin with `good` belong to the user of that name.
#[derive(Default)]
struct Cluster {
    /// Reviews by token.
    reviews: Mutex<BTreeMap<String, usize>>,
    is_broken: AtomicBool,
}

impl Cluster {
    fn reviews(self: &Arc<Self>) -> TokenReviews {
        let cluster = Arc::clone(self);
        let service = service_fn(move |request: Request<kube::client::Body>| {
            let cluster = Arc::clone(&cluster);
            async move {
                let bytes = request.into_body().collect().await.unwrap().to_bytes();
                let mut review: Json = serde_json::from_slice(&bytes).unwrap();
                let token = review["spec"]["token"].as_str().unwrap().to_owned();
                sleep(REVIEW).await;
                *cluster.reviews.lock().unwrap().entry(token.clone()).or_default() += 1;
                let status = if cluster.is_broken.load(Ordering::Relaxed) { 500 } else { 201 };
                review["status"] = if token.starts_with("good") {
                    json!({"authenticated": true, "user": {"username": token}})
                } else {
                    json!({"authenticated": false})
                };
                let answer = Response::builder().status(status).header("content-type", "application/json");
                Ok::<_, Infallible>(answer.body(Body::from(review.to_string())).unwrap())
            }
        });
        TokenReviews::new(Client::new(service, "default"))
    }

    fn count(&self) -> usize {
        self.reviews.lock().unwrap().values().sum()
    }
}

fn user(answer: Answer) -> Option<String> {
    answer.unwrap().map(|caller| caller.user)
}

#[tokio::test(start_paused = true)]
async fn concurrent_requests_with_one_token_share_a_review() {
    for token in ["good", "bad"] {
        let cluster = Arc::new(Cluster::default());
        let reviews = cluster.reviews();
        let asked = (0..100).map(|connection| {
            let reviews = reviews.clone();
            async move { reviews.caller(token, &format!("{connection}")).await }
        });
        for answer in join_all(asked).await {
            assert_eq!(user(answer).is_some(), token == "good");
        }
        assert_eq!(cluster.count(), 1, "{token}");
        reviews.caller(token, "later").await.unwrap();
        assert_eq!(cluster.count(), 1, "{token} is cached");
        sleep(ANSWER_TTL).await;
        reviews.caller(token, "later").await.unwrap();
        assert_eq!(cluster.count(), 2, "{token} is reviewed again");
    }
}

#[tokio::test(start_paused = true)]
async fn a_failure_of_the_api_is_not_cached() {
    let cluster = Arc::new(Cluster::default());
    let reviews = cluster.reviews();
    cluster.is_broken.store(true, Ordering::Relaxed);
    let error = reviews.caller("good", "1").await.unwrap_err();
    assert!(matches!(*error, TokenReviewError::Api(_)), "{error}");
    cluster.is_broken.store(false, Ordering::Relaxed);
    assert_eq!(user(reviews.caller("good", "1").await), Some("good".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_cancelled_leaves_its_review_to_others() {
    let cluster = Arc::new(Cluster::default());
    let reviews = cluster.reviews();
    let cancelled = timeout(REVIEW / 2, reviews.caller("good", "1")).await;
    assert!(cancelled.is_err());
    assert_eq!(user(reviews.caller("good", "2").await), Some("good".to_owned()));
    assert_eq!(cluster.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_unknown_tokens_is_limited_and_delays_neither_known_nor_new_callers() {
    let cluster = Arc::new(Cluster::default());
    let reviews = cluster.reviews();
    reviews.caller("good-known", "known").await.unwrap();
    let began = Instant::now();
    let flood: Vec<_> = (0..20)
        .map(|connection| {
            let reviews = reviews.clone();
            tokio::spawn(async move {
                for token in 0.. {
                    let asked = (0..10).map(|stream| {
                        let reviews = reviews.clone();
                        let (token, source) =
                            (format!("bad-{connection}-{token}-{stream}"), connection.to_string());
                        async move { reviews.caller(&token, &source).await.is_ok() }
                    });
                    join_all(asked).await;
                    sleep(Duration::from_millis(1)).await;
                }
            })
        })
        .collect();
    // After the answer in the cache has expired.
    sleep(ANSWER_TTL).await;
    let asked = Instant::now();
    assert!(user(reviews.caller("good-known", "known").await).is_some());
    assert!(asked.elapsed() <= REVIEW, "a known caller waited for {:?}", asked.elapsed());
    let asked = Instant::now();
    assert!(user(reviews.caller("good-new", "new").await).is_some());
    assert!(asked.elapsed() <= Duration::from_secs(1), "a new caller waited for {:?}", asked.elapsed());
    for task in flood {
        task.abort();
    }
    let most = 80 * (began.elapsed().as_secs() + 1) + 20;
    assert!(cluster.count() as u64 <= most, "{} reviews in {:?}", cluster.count(), began.elapsed());
    assert_eq!(cluster.reviews.lock().unwrap()["good-known"], 2);
}

#[tokio::test(start_paused = true)]
async fn the_check_of_a_token_fails_once_the_cluster_rejects_it() {
    let cluster = Arc::<Cluster>::default();
    let reviews = cluster.reviews();
    for (token, user, is_valid) in [("good", "good", true), ("good", "other", false), ("bad", "bad", false)] {
        assert_eq!(reviews.check(token, user, "1").is_valid().await, is_valid, "{token} of {user}");
    }
    cluster.is_broken.store(true, Ordering::Relaxed);
    assert!(reviews.check("good-but-unknown", "any", "1").is_valid().await, "the review failed");
}
