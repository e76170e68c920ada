//! Clients of the server, honest and hostile.

use std::{net::SocketAddr, path::Path, sync::Arc};

use http_body_util::{BodyExt as _, combinators::UnsyncBoxBody};
use hyper::{
    Request, Response,
    body::{Bytes, Incoming},
    client::conn::http2,
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client as KubeClient, config::Kubeconfig};
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, ServerName, pem::PemObject as _},
};
use tokio::net::TcpStream;
use tokio_rustls::{TlsConnector, client::TlsStream};

/// The connection broke; hostile clients must expect that.
pub(crate) type Broken = Box<dyn std::error::Error + Send + Sync>;
pub(crate) type Body = UnsyncBoxBody<Bytes, Broken>;

/// Address of the server, and what it takes to connect.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) address: SocketAddr,
    config: Arc<ClientConfig>,
}

impl Target {
    /// Server that has published its certificate.
    pub(crate) async fn published(url: &str, client: &KubeClient) -> Self {
        let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "score-system");
        let ca = maps.get("orchestra-server").await.unwrap().data.unwrap().remove("ca.crt").unwrap();
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(ca.as_bytes()) {
            roots.add(certificate.unwrap()).unwrap();
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"h2".to_vec()];
        let address = url.trim_start_matches("https://").parse().unwrap();
        Self { address, config: Arc::new(config) }
    }

    pub(crate) async fn tls(&self) -> Result<TlsStream<TcpStream>, Broken> {
        let stream = TcpStream::connect(self.address).await?;
        let name = ServerName::from(self.address.ip());
        Ok(TlsConnector::from(Arc::clone(&self.config)).connect(name, stream).await?)
    }

    pub(crate) async fn connect(&self) -> Result<http2::SendRequest<Body>, Broken> {
        let stream = TokioIo::new(self.tls().await?);
        let (sender, connection) = http2::handshake(TokioExecutor::new(), stream).await?;
        tokio::spawn(connection);
        Ok(sender)
    }

    /// Status of the answer to a request on a connection of its own, once the answer is complete.
    pub(crate) async fn status(&self, request: Request<Body>) -> Result<u16, Broken> {
        let mut connection = self.connect().await?;
        let response = send(&mut connection, request).await?;
        let status = response.status().as_u16();
        response.into_body().collect().await?;
        Ok(status)
    }
}

pub(crate) async fn send(
    connection: &mut http2::SendRequest<Body>,
    request: Request<Body>,
) -> Result<Response<Incoming>, Broken> {
    connection.ready().await?;
    Ok(connection.send_request(request).await?)
}

/// Token of a kubeconfig.
pub(crate) fn token(kubeconfig: &Path) -> String {
    let file = Kubeconfig::read_from(kubeconfig).unwrap();
    let user = file.auth_infos.into_iter().next().unwrap().auth_info.unwrap();
    let token = serde_json::to_value(&user).unwrap()["token"].as_str().map(ToOwned::to_owned);
    token.expect("a kubeconfig with a token")
}
