//! HTTP client of an API.

use std::time::Duration;

use hyper_util::{
    client::legacy::{Client as Http, connect::HttpConnector},
    rt::TokioExecutor,
};
use kube::{
    Client, Config,
    client::{Body, ConfigExt as _, retry::RetryPolicy},
};
use tower::{ServiceBuilder, retry::RetryLayer};

/// Timeout of TCP connections; kube's default.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// Delay before the first retry; it doubles, with jitter.
const FIRST_RETRY_DELAY: Duration = Duration::from_millis(50);
/// Longest delay before a retry.
const MAX_RETRY_DELAY: Duration = Duration::from_secs(1);
/// Retries of a request, about three seconds in all: a platform that cannot write, as with a full disk, is an error within
/// seconds. Kube's default policy waits for minutes.
const MAX_RETRIES: u32 = 6;

/// Retries of a request that a busy server refuses (429, 503, 504).
fn retry_policy() -> RetryPolicy {
    RetryPolicy::new(FIRST_RETRY_DELAY, MAX_RETRY_DELAY, MAX_RETRIES, true).unwrap_or_default()
}

/// Client like kube's own, with `TCP_NODELAY`: without it, Nagle's algorithm delays each request with a body by 40 milliseconds.
pub(super) fn client(config: Config) -> kube::Result<Client> {
    // Proxies are left to kube's own client.
    if config.proxy_url.is_some() {
        return Client::try_from(config);
    }
    let mut connector = HttpConnector::new();
    connector.enforce_http(false);
    connector.set_nodelay(true);
    connector.set_connect_timeout(Some(config.connect_timeout.unwrap_or(CONNECT_TIMEOUT)));
    let https = config.rustls_https_connector_with_connector(connector)?;
    let http: Http<_, Body> = Http::builder(TokioExecutor::new()).build(https);
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(config.default_retry.then(|| RetryLayer::new(retry_policy())))
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .map_err(tower::BoxError::from)
        .service(http);
    Ok(Client::new(service, config.default_namespace))
}
