//! The servers that scripts are played against.

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

/// Whatever went wrong below HTTP.
pub type TargetError = Box<dyn Error + Send + Sync>;
/// A body that arrives piece by piece.
pub type StreamingBody = UnsyncBoxBody<Bytes, TargetError>;
type Sender = BoxCloneSyncService<Request<Full<Bytes>>, Response<StreamingBody>, TargetError>;

/// A server, in this process or behind a kubeconfig.
#[derive(Clone)]
pub struct Target {
    sender: Sender,
}

impl Target {
    /// A server in this process.
    pub fn router(router: axum::Router) -> Self {
        let sender = ServiceBuilder::new()
            .map_request(|request: Request<Full<Bytes>>| request.map(axum::body::Body::new))
            .map_response(|response: Response<axum::body::Body>| streaming(response))
            .map_err(TargetError::from)
            .service(router);
        Self { sender: BoxCloneSyncService::new(sender) }
    }

    /// The server of a kubeconfig's current context, or of `KUBECONFIG` without a path.
    ///
    /// Requests go out as they are: no retries, no compression, no added headers but the
    /// credentials.
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

    /// Sends one request; the answer's body may still be arriving.
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
