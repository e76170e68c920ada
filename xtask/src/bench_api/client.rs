//! HTTP/1.1 connections to the server of a kubeconfig.

use super::Failure;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use rustls::client::danger::{HandshakeSignatureValid as Signature, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// Status and body of a response.
pub(crate) type Answer = (StatusCode, Bytes);

/// Address of the server, and credentials.
pub(crate) struct Client {
    address: String,
    name: ServerName<'static>,
    headers: HeaderMap,
    tls: TlsConnector,
}

impl Client {
    /// Client of the first cluster and user of the file, which is enough for a server under test.
    pub(crate) fn from_kubeconfig(path: &Path) -> Result<Self, Failure> {
        let config: Value = serde_saphyr::from_str(&std::fs::read_to_string(path)?)?;
        let (cluster, user) = (&config["clusters"][0]["cluster"], &config["users"][0]["user"]);
        let server = cluster["server"].as_str().ok_or("the kubeconfig names no server")?;
        let address = server.trim_start_matches("https://").trim_end_matches('/').to_owned();
        let host = address.rsplit_once(':').ok_or("the server has no port")?.0;
        let name = ServerName::try_from(host.trim_matches(['[', ']']).to_owned())?;
        let mut headers = HeaderMap::from_iter([(header::HOST, address.parse()?)]);
        headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(token) = user["token"].as_str() {
            headers.insert(header::AUTHORIZATION, format!("Bearer {token}").parse()?);
        }
        let tls = TlsConnector::from(Arc::new(tls_config(cluster, user)?));
        Ok(Self { address, name, headers, tls })
    }

    /// Opens a connection.
    pub(crate) async fn connect(&self) -> Result<Connection, Failure> {
        let stream = TcpStream::connect(&self.address).await?;
        stream.set_nodelay(true)?;
        let stream = self.tls.connect(self.name.clone(), stream).await?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        Ok(Connection { headers: self.headers.clone(), sender })
    }
}

/// Keep-alive connection for one request at a time.
pub(crate) struct Connection {
    headers: HeaderMap,
    sender: SendRequest<Full<Bytes>>,
}

impl Connection {
    /// Sends a request and reads the whole response.
    pub(crate) async fn call(&mut self, method: Method, path: &str, body: String) -> Result<Answer, Failure> {
        let response = self.send(method, path, body).await?;
        Ok((response.status(), response.into_body().collect().await?.to_bytes()))
    }

    /// Opens a watch, and returns its stream.
    pub(crate) async fn watch(&mut self, path: &str) -> Result<Incoming, Failure> {
        let response = self.send(Method::GET, path, String::new()).await?;
        match response.status() {
            StatusCode::OK => Ok(response.into_body()),
            status => Err(format!("the watch failed with {status}").into()),
        }
    }

    async fn send(
        &mut self,
        method: Method,
        path: &str,
        body: String,
    ) -> Result<Response<Incoming>, Failure> {
        let mut request = Request::new(Full::from(body));
        *request.method_mut() = method;
        *request.uri_mut() = path.parse()?;
        request.headers_mut().clone_from(&self.headers);
        self.sender.ready().await?;
        Ok(self.sender.send_request(request).await?)
    }
}

fn tls_config(cluster: &Value, user: &Value) -> Result<ClientConfig, Failure> {
    let provider = Arc::new(ring::default_provider());
    let builder =
        ClientConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions()?;
    let builder = if let Some(authority) = pem(&cluster["certificate-authority-data"])? {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(&authority)?)?;
        builder.with_root_certificates(roots)
    } else if cluster["insecure-skip-tls-verify"] == true {
        builder.dangerous().with_custom_certificate_verifier(Arc::new(AnyServer(provider)))
    } else {
        return Err("the kubeconfig trusts no authority".into());
    };
    Ok(match (pem(&user["client-certificate-data"])?, pem(&user["client-key-data"])?) {
        (Some(certificate), Some(key)) => builder.with_client_auth_cert(
            vec![CertificateDer::from_pem_slice(&certificate)?],
            PrivateKeyDer::from_pem_slice(&key)?,
        )?,
        _ => builder.with_no_client_auth(),
    })
}

fn pem(data: &Value) -> Result<Option<Vec<u8>>, base64::DecodeError> {
    data.as_str().map(|data| BASE64_STANDARD.decode(data)).transpose()
}

/// Verifier that trusts every server, for `insecure-skip-tls-verify`.
#[derive(Debug)]
struct AnyServer(Arc<CryptoProvider>);

type Verdict<T> = Result<T, rustls::Error>;
type Cert<'a> = CertificateDer<'a>;

impl ServerCertVerifier for AnyServer {
    fn verify_server_cert(
        &self,
        _: &Cert<'_>,
        _: &[Cert<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Verdict<ServerCertVerified> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &Cert<'_>,
        _: &DigitallySignedStruct,
    ) -> Verdict<Signature> {
        Ok(Signature::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &Cert<'_>,
        _: &DigitallySignedStruct,
    ) -> Verdict<Signature> {
        Ok(Signature::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
