//! Servers that scripts are replayed against.

use std::{error::Error, path::Path};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full, combinators::UnsyncBoxBody};
use hyper_util::{client::legacy::Client, rt::TokioExecutor};
use kube::{
    Config,
    client::ConfigExt as _,
    config::{KubeConfigOptions, Kubeconfig},
};
use tower::{ServiceBuilder, ServiceExt as _, util::BoxCloneSyncService};

/// Any error below HTTP.
pub type TargetError = Box<dyn Error + Send + Sync>;
/// Streaming body.
pub type StreamingBody = UnsyncBoxBody<Bytes, TargetError>;
type Sender = BoxCloneSyncService<Request<Full<Bytes>>, Response<StreamingBody>, TargetError>;

/// Server in this process, or of a kubeconfig.
#[derive(Clone)]
pub struct Target {
    sender: Sender,
    /// Sender without credentials.
    bare: Sender,
}

impl Target {
    /// In-process server, as an administrator and without credentials.
    pub fn router(administrator: axum::Router, bare: axum::Router) -> Self {
        let sender = |router: axum::Router| {
            let sender = ServiceBuilder::new()
                .map_request(|request: Request<Full<Bytes>>| request.map(axum::body::Body::new))
                .map_response(|response: Response<axum::body::Body>| streaming(response))
                .map_err(TargetError::from)
                .service(router);
            BoxCloneSyncService::new(sender)
        };
        Self { sender: sender(administrator), bare: sender(bare) }
    }

    /// Server of the current context of a kubeconfig, or of `KUBECONFIG` without a path.
    ///
    /// Requests are sent unchanged: no retries, no compression, no added headers except the credentials.
    pub async fn kubeconfig(path: Option<&Path>) -> Result<Self, TargetError> {
        let options = KubeConfigOptions::default();
        let config = match path {
            Some(path) => Config::from_custom_kubeconfig(Kubeconfig::read_from(path)?, &options).await?,
            None => Config::from_kubeconfig(&options).await?,
        };
        let mut bare = config.clone();
        bare.auth_info = kube::config::AuthInfo::default();
        Ok(Self { sender: sender(&config)?, bare: sender(&bare)? })
    }

    /// Sends one request; the body of the response is streamed.
    pub async fn send(&self, request: Request<Bytes>) -> Result<Response<StreamingBody>, TargetError> {
        self.sender.clone().oneshot(request.map(Full::new)).await
    }

    /// Sends one request with no other credentials than those in its headers.
    pub async fn send_bare(&self, request: Request<Bytes>) -> Result<Response<StreamingBody>, TargetError> {
        self.bare.clone().oneshot(request.map(Full::new)).await
    }
}

/// Sender of requests with the credentials of a configuration.
fn sender(config: &Config) -> Result<Sender, TargetError> {
    let client = Client::builder(TokioExecutor::new())
        .pool_max_idle_per_host(8)
        .build(config.rustls_https_connector()?);
    let sender = ServiceBuilder::new()
        .map_response(|response: Response<hyper::body::Incoming>| streaming(response))
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer()?)
        .map_err(TargetError::from)
        .service(client);
    Ok(BoxCloneSyncService::new(sender))
}

fn streaming<B>(response: Response<B>) -> Response<StreamingBody>
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<TargetError>,
{
    response.map(|body| body.map_err(Into::into).boxed_unsync())
}
