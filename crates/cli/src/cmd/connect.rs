//! Connections to an API.

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

/// How long a connection may take to come about.
const PATIENCE: Duration = Duration::from_secs(30);

/// A client as kube itself makes it, but for one thing: requests go out at once. Kube leaves it to the system to gather
/// what is written, which costs 40 milliseconds for each request with a body.
pub(super) fn client(config: Config) -> kube::Result<Client> {
    // Through a proxy it is kube's own; there is more in the way then.
    if config.proxy_url.is_some() {
        return Client::try_from(config);
    }
    let mut connector = HttpConnector::new();
    connector.enforce_http(false);
    connector.set_nodelay(true);
    connector.set_connect_timeout(Some(config.connect_timeout.unwrap_or(PATIENCE)));
    let https = config.rustls_https_connector_with_connector(connector)?;
    let http: Http<_, Body> = Http::builder(TokioExecutor::new()).build(https);
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(config.default_retry.then(|| RetryLayer::new(RetryPolicy::server_retry())))
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .map_err(tower::BoxError::from)
        .service(http);
    Ok(Client::new(service, config.default_namespace))
}
