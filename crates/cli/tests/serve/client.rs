//! HTTPS client with the certificates of a data folder.

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::{http1, http2};
use hyper::header::CONTENT_TYPE;
use hyper::{Method, Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::Value;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// Path of the objects of the tests.
pub(crate) const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// The connection broke, for instance because the server was killed.
pub(crate) type Broken = Box<dyn std::error::Error + Send + Sync>;

/// Administrator of a server.
#[derive(Clone)]
pub(crate) struct Client {
    address: SocketAddr,
    config: ClientConfig,
}

impl Client {
    pub(crate) fn new(address: SocketAddr, data: &Path) -> Self {
        let (authority, admin) = (data.join("pki/ca.pem"), data.join("pki/admin.pem"));
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(authority).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_client_auth_cert(
                vec![CertificateDer::from_pem_file(&admin).unwrap()],
                PrivateKeyDer::from_pem_file(&admin).unwrap(),
            )
            .unwrap();
        Self { address, config }
    }

    /// Client without a certificate.
    pub(crate) fn without_certificate(address: SocketAddr, data: &Path) -> Self {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(data.join("pki/ca.pem")).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        Self { address, config }
    }

    async fn tls(&self, protocol: &str) -> Result<TokioIo<TlsStream<TcpStream>>, Broken> {
        let mut config = self.config.clone();
        config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
        let stream = TcpStream::connect(self.address).await?;
        stream.set_nodelay(true)?;
        let name = ServerName::from(self.address.ip());
        Ok(TokioIo::new(TlsConnector::from(Arc::new(config)).connect(name, stream).await?))
    }

    /// HTTP/1.1 connection.
    pub(crate) async fn connect(&self) -> Result<Connection, Broken> {
        let (sender, connection) = http1::handshake(self.tls("http/1.1").await?).await?;
        tokio::spawn(connection);
        Ok(Connection { sender })
    }

    /// HTTP/2 connection, and the task that ends with it.
    pub(crate) async fn connect_monitored(
        &self,
    ) -> Result<(http2::SendRequest<Full<Bytes>>, JoinHandle<()>), Broken> {
        let (sender, connection) = http2::handshake(TokioExecutor::new(), self.tls("h2").await?).await?;
        Ok((sender, tokio::spawn(async { drop(connection.await) })))
    }

    /// HTTP/2 connection that never reads an answer: no stream has a window.
    pub(crate) async fn connect_without_window(&self) -> Result<http2::SendRequest<Full<Bytes>>, Broken> {
        let mut builder = http2::Builder::new(TokioExecutor::new());
        let (sender, connection) =
            builder.initial_stream_window_size(0).handshake(self.tls("h2").await?).await?;
        tokio::spawn(connection);
        Ok(sender)
    }

    /// HTTP/2 connection.
    pub(crate) async fn connect_many(&self) -> Result<http2::SendRequest<Full<Bytes>>, Broken> {
        let (sender, connection) = http2::handshake(TokioExecutor::new(), self.tls("h2").await?).await?;
        tokio::spawn(connection);
        Ok(sender)
    }
}

/// HTTP/1.1 connection.
pub(crate) struct Connection {
    sender: http1::SendRequest<Full<Bytes>>,
}

impl Connection {
    /// Returns status and body of the response.
    pub(crate) async fn call(
        &mut self,
        method: Method,
        path: &str,
        body: impl Into<Bytes>,
    ) -> Result<(u16, Value), Broken> {
        self.call_with(request(method, path, body)).await
    }

    /// Sends a request; returns status and body of the response.
    pub(crate) async fn call_with(&mut self, request: Request<Full<Bytes>>) -> Result<(u16, Value), Broken> {
        self.sender.ready().await?;
        let response = self.sender.send_request(request).await?;
        let status = response.status().as_u16();
        let body = response.into_body().collect().await?.to_bytes();
        let text = || Value::String(String::from_utf8_lossy(&body).into_owned());
        Ok((status, serde_json::from_slice(&body).unwrap_or_else(|_| text())))
    }

    /// Returns the response without its body.
    pub(crate) async fn send(
        &mut self,
        method: Method,
        path: &str,
        body: impl Into<Bytes>,
    ) -> Result<Response<Incoming>, Broken> {
        self.sender.ready().await?;
        Ok(self.sender.send_request(request(method, path, body)).await?)
    }

    /// Watch on this connection.
    pub(crate) async fn watch(mut self, query: &str) -> Result<Watch, Broken> {
        let path = format!("{CONFIG_MAPS}?watch=true&{query}");
        let response = self.send(Method::GET, &path, "").await?;
        assert_eq!(response.status(), 200);
        Ok(Watch::new(response.into_body()))
    }
}

pub(crate) fn request(method: Method, path: &str, body: impl Into<Bytes>) -> Request<Full<Bytes>> {
    Request::builder()
        .method(method)
        .uri(format!("https://server{path}"))
        .header("host", "server")
        .header(CONTENT_TYPE, "application/json")
        .body(Full::new(body.into()))
        .unwrap()
}

/// Events of a watch.
pub(crate) struct Watch {
    body: Incoming,
    read: Vec<u8>,
}

impl Watch {
    pub(crate) fn new(body: Incoming) -> Self {
        Self { body, read: Vec::new() }
    }

    /// Next event; `None` at the end.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(end) = self.read.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.read.drain(..=end).collect();
                return Some(serde_json::from_slice(&line).unwrap());
            }
            let frame = self.body.frame().await?.ok()?;
            self.read.extend_from_slice(frame.data_ref().map_or(b"", |data| data));
        }
    }

    /// Waits for the event of an object.
    pub(crate) async fn wait_for(&mut self, name: &str) -> Value {
        loop {
            let event = self.next().await.expect("the watch has ended");
            if event["object"]["metadata"]["name"] == name {
                return event;
            }
        }
    }
}
