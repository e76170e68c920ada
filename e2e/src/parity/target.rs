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
}

impl Target {
    /// In-process server.
    pub fn router(router: axum::Router) -> Self {
        let sender = ServiceBuilder::new()
            .map_request(|request: Request<Full<Bytes>>| request.map(axum::body::Body::new))
            .map_response(|response: Response<axum::body::Body>| streaming(response))
            .map_err(TargetError::from)
            .service(router);
        Self { sender: BoxCloneSyncService::new(sender) }
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
        let client = Client::builder(TokioExecutor::new())
            .pool_max_idle_per_host(8)
            .build(config.rustls_https_connector()?);
        let sender = ServiceBuilder::new()
            .map_response(|response: Response<hyper::body::Incoming>| streaming(response))
            .layer(config.base_uri_layer())
            .option_layer(config.auth_layer()?)
            .map_err(TargetError::from)
            .service(client);
        Ok(Self { sender: BoxCloneSyncService::new(sender) })
    }

    /// Sends one request; the body of the response is streamed.
    pub async fn send(&self, request: Request<Bytes>) -> Result<Response<StreamingBody>, TargetError> {
        self.sender.clone().oneshot(request.map(Full::new)).await
    }
}

fn streaming<B>(response: Response<B>) -> Response<StreamingBody>
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<TargetError>,
{
    response.map(|body| body.map_err(Into::into).boxed_unsync())
}
