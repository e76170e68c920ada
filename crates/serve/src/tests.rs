//! Server over real sockets.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

use super::authority::{Authority, provider};
use super::certificate::Facts;
use super::credential::Credential;
use super::{ConnectionLimits, Peer, ServeError, Server};
use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::routing::any;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime};
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

mod hostile;

const LOOPBACK: &str = "127.0.0.1:0";

/// Running server with its own folder.
struct Running {
    folder: TempDir,
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    task: JoinHandle<Result<(), ServeError>>,
}

impl Running {
    fn start() -> Self {
        Self::start_with(ConnectionLimits::default())
    }

    fn start_with(limits: ConnectionLimits) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let server = Server::bind_with(LOOPBACK.parse().unwrap(), folder.path(), limits).unwrap();
        let address = server.address();
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(server.run(app(), |peer| peer, async { drop(stopped.await) }));
        Self { folder, address, stop, task }
    }

    fn credential(&self, name: &str) -> Credential {
        let path = self.folder.path().join("pki").join(name);
        Credential::from_pem(&fs::read_to_string(path).unwrap()).unwrap()
    }

    /// TLS connection of a client that trusts the server, with an optional client certificate.
    async fn connect(&self, client: Option<Credential>, protocol: &str) -> TlsStream<TcpStream> {
        let mut roots = RootCertStore::empty();
        roots.add(self.credential("ca.pem").certificate).unwrap();
        let config = ClientConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots);
        let mut config = match client {
            Some(client) => {
                config.with_client_auth_cert(vec![client.certificate], client.key.into()).unwrap()
            }
            None => config.with_no_client_auth(),
        };
        config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
        let stream = TcpStream::connect(self.address).await.unwrap();
        let name = ServerName::from(self.address.ip());
        TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap()
    }

    /// Duration of the shutdown, on a paused clock.
    async fn stop(self) -> Duration {
        tokio::time::pause();
        let start = Instant::now();
        drop(self.stop);
        self.task.await.unwrap().unwrap();
        start.elapsed()
    }
}

/// Responds with the caller; below `/endless` with a body that never ends.
fn app() -> Router {
    async fn caller(request: Request) -> String {
        format!("{:?}", request.extensions().get::<Peer>())
    }
    Router::new().route("/endless", any(async || Body::new(Endless { begun: false }))).fallback(caller)
}

/// Body of one frame that never ends.
struct Endless {
    begun: bool,
}

impl hyper::body::Body for Endless {
    type Data = axum::body::Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<hyper::body::Frame<Self::Data>, Self::Error>>> {
        if self.begun {
            return Poll::Pending;
        }
        self.begun = true;
        Poll::Ready(Some(Ok(hyper::body::Frame::data(axum::body::Bytes::from_static(b"begun\n")))))
    }
}

async fn get(mut stream: TlsStream<TcpStream>, path: &str) -> std::io::Result<String> {
    let request = format!("GET {path} HTTP/1.1\r\nHost: server\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut response = String::new();
    stream.read_to_string(&mut response).await?;
    Ok(response)
}

/// Waits until the server closes the connection, on a paused clock.
async fn wait_for_end(mut stream: impl AsyncRead + Unpin) {
    tokio::time::pause();
    let _ = stream.read_to_end(&mut Vec::new()).await;
    tokio::time::resume();
}

fn foreign_certificate() -> Credential {
    let now = SystemTime::now();
    Authority::create(now).unwrap().issue_client("admin", "system:masters", now).unwrap()
}

#[tokio::test]
async fn a_client_certificate_names_the_caller() {
    let server = Running::start();
    let response =
        get(server.connect(Some(server.credential("admin.pem")), "http/1.1").await, "/").await.unwrap();
    assert!(response.starts_with("HTTP/1.1 200 OK\r\n"), "{response}");
    assert!(response.ends_with(r#"Some(Peer { name: "admin", groups: ["system:masters"] })"#), "{response}");
}

#[tokio::test]
async fn a_client_without_a_certificate_has_no_identity() {
    let server = Running::start();
    let response = get(server.connect(None, "http/1.1").await, "/").await.unwrap();
    assert!(response.ends_with("\r\n\r\nNone"), "{response}");
}

/// Client certificate for a member of `system:masters` by an authority of the same name as another one.
fn lookalike_certificate(authority: &Credential) -> Credential {
    let subject = |name: &str| {
        let mut parameters = rcgen::CertificateParams::default();
        parameters.distinguished_name = rcgen::DistinguishedName::new();
        parameters.distinguished_name.push(rcgen::DnType::CommonName, name);
        parameters
    };
    let name = Facts::of(&authority.certificate).unwrap().common_name.unwrap();
    let mut parameters = subject(&name);
    parameters.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let issuer = rcgen::Issuer::new(parameters, rcgen::KeyPair::generate().unwrap());
    let mut parameters = subject("admin");
    parameters.distinguished_name.push(rcgen::DnType::OrganizationName, "system:masters");
    parameters.extended_key_usages = vec![rcgen::ExtendedKeyUsagePurpose::ClientAuth];
    let key = rcgen::KeyPair::generate().unwrap();
    Credential::new(&parameters.signed_by(&key, &issuer).unwrap(), &key)
}

#[tokio::test]
async fn a_client_certificate_of_another_authority_is_rejected() {
    let server = Running::start();
    let stream = server.connect(Some(foreign_certificate()), "http/1.1").await;
    let error = get(stream, "/").await.unwrap_err();
    assert!(error.to_string().contains("UnknownCA"), "{error}");
}

#[tokio::test]
async fn a_client_certificate_counts_only_with_our_signature_in_its_time_and_for_its_purpose() {
    const DAY: Duration = Duration::from_hours(24);
    let server = Running::start();
    let authority = Authority::restore(server.credential("ca.pem")).unwrap().unwrap();
    let now = SystemTime::now();
    let issued = |at: SystemTime| authority.issue_client("admin", "system:masters", at).unwrap();
    for (credential, alert) in [
        (issued(now - 731 * DAY), "CertificateExpired"),
        // Valid from a day before its issue on.
        (issued(now + 2 * DAY), "CertificateExpired"),
        (server.credential("serving.pem"), "UnsupportedCertificate"),
        // The name of the authority, but not its key.
        (lookalike_certificate(&server.credential("ca.pem")), "DecryptError"),
    ] {
        let stream = server.connect(Some(credential), "http/1.1").await;
        let error = get(stream, "/").await.unwrap_err();
        assert!(error.to_string().contains(alert), "{error}");
    }
    let response = get(server.connect(Some(issued(now)), "http/1.1").await, "/").await.unwrap();
    assert!(response.ends_with(r#"Some(Peer { name: "admin", groups: ["system:masters"] })"#), "{response}");
}

#[tokio::test]
async fn a_plain_http_request_gets_a_hint_about_tls() {
    let server = Running::start();
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
    let mut answer = vec![0; 24];
    stream.read_exact(&mut answer).await.unwrap();
    assert_eq!(answer, b"HTTP/1.0 400 Bad Request");
}

#[tokio::test]
async fn one_http2_connection_carries_hundreds_of_open_responses() {
    let server = Running::start();
    let stream = TokioIo::new(server.connect(Some(server.credential("admin.pem")), "h2").await);
    let (client, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), stream).await.unwrap();
    let connection = tokio::spawn(connection);
    let mut open = Vec::new();
    for _ in 0..500 {
        let mut client = client.clone();
        client.ready().await.unwrap();
        let request = hyper::Request::get("https://server/endless").body(Body::empty()).unwrap();
        open.push(client.send_request(request).await.unwrap());
    }
    assert!(open.iter().all(|response| response.status() == 200));
    drop((open, client));
    connection.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_client_that_does_not_complete_the_handshake_is_dropped() {
    let server = Running::start();
    let start = Instant::now();
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(&[0x16, 3, 1]).await.unwrap();
    wait_for_end(stream).await;
    assert_eq!(start.elapsed().as_secs(), 10);
}

#[tokio::test]
async fn a_client_that_does_not_finish_its_header_is_dropped() {
    for (protocol, begin) in
        [("http/1.1", "GET / HTTP/1.1\r\nHost: "), ("http/1.1", ""), ("h2", "PRI * HTTP"), ("h2", "")]
    {
        let server = Running::start();
        let start = Instant::now();
        let mut stream = server.connect(None, protocol).await;
        stream.write_all(begin.as_bytes()).await.unwrap();
        wait_for_end(stream).await;
        assert_eq!(start.elapsed().as_secs(), 30, "{protocol} {begin:?}");
    }
}

#[tokio::test]
async fn an_idle_client_is_dropped_after_a_timeout() {
    let server = Running::start();
    let start = Instant::now();
    let mut stream = server.connect(None, "http/1.1").await;
    stream.write_all(b"GET / HTTP/1.1\r\nHost: server\r\n\r\n").await.unwrap();
    assert_ne!(stream.read(&mut [0; 1024]).await.unwrap(), 0);
    wait_for_end(stream).await;
    assert_eq!(start.elapsed().as_secs(), 90);
}

#[tokio::test]
async fn a_header_that_exceeds_the_limit_is_rejected() {
    let server = Running::start();
    let mut stream = server.connect(None, "http/1.1").await;
    stream.write_all(format!("GET / HTTP/1.1\r\nHost: {}", "x".repeat(70_000)).as_bytes()).await.unwrap();
    let mut status = vec![0; 12];
    stream.read_exact(&mut status).await.unwrap();
    assert_eq!(status, b"HTTP/1.1 431");
}

#[tokio::test]
async fn shutdown_waits_for_open_responses_until_the_grace_period_ends() {
    let server = Running::start();
    let mut stream = server.connect(None, "http/1.1").await;
    stream.write_all(b"GET /endless HTTP/1.1\r\nHost: server\r\n\r\n").await.unwrap();
    assert_ne!(stream.read(&mut [0; 1024]).await.unwrap(), 0);
    assert_eq!(server.stop().await.as_secs(), 5);
}

#[tokio::test]
async fn shutdown_does_not_wait_for_idle_clients() {
    let server = Running::start();
    let _not_tls = TcpStream::connect(server.address).await.unwrap();
    let _silent = server.connect(None, "http/1.1").await;
    let mut idle = server.connect(None, "http/1.1").await;
    idle.write_all(b"GET / HTTP/1.1\r\nHost: server\r\n\r\n").await.unwrap();
    assert_ne!(idle.read(&mut [0; 1024]).await.unwrap(), 0);
    assert_eq!(server.stop().await.as_secs(), 0);
}

#[tokio::test]
async fn an_http2_client_gets_a_goaway_at_shutdown() {
    let server = Running::start();
    let stream = TokioIo::new(server.connect(None, "h2").await);
    let (mut client, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), stream).await.unwrap();
    let connection = tokio::spawn(connection);
    let request = hyper::Request::get("https://server/").body(Body::empty()).unwrap();
    client.send_request(request).await.unwrap();
    server.stop().await;
    connection.await.unwrap().unwrap();
    assert!(client.ready().await.is_err());
}

#[tokio::test]
async fn an_address_in_use_is_reported_with_its_remedy() {
    let server = Running::start();
    let error = Server::bind(server.address, Path::new("/nowhere")).err().unwrap();
    assert_eq!(
        error.to_string(),
        format!(
            "cannot listen on {}: address already in use; stop the other process or choose another port with --listen",
            server.address
        )
    );
}

#[tokio::test]
async fn a_restart_keeps_the_authority_and_the_kubeconfig() {
    let folder = tempfile::tempdir().unwrap();
    let first = Server::bind(LOOPBACK.parse().unwrap(), folder.path()).unwrap();
    let (address, kubeconfig) = (first.address(), fs::read(first.kubeconfig()).unwrap());
    drop(first);
    let second = Server::bind(address, folder.path()).unwrap();
    assert_eq!(fs::read(second.kubeconfig()).unwrap(), kubeconfig);
}
