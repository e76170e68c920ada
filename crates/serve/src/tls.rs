//! TLS configuration of the server.

use crate::ServeError;
use crate::authority::provider;
use crate::identity::Identity;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::NoServerSessionStorage;
use std::sync::Arc;
use tokio_rustls::TlsAcceptor;

/// ALPN protocol name of HTTP/2.
pub(crate) const HTTP2: &[u8] = b"h2";
const HTTP1: &[u8] = b"http/1.1";

/// TLS 1.2 and 1.3 with this identity. Client certificates are optional, but must be issued by our authority.
pub(crate) fn acceptor(identity: &Identity) -> Result<TlsAcceptor, ServeError> {
    let serving = &identity.serving;
    let config = ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()?
        .with_client_cert_verifier(identity.authority.client_verifier())
        .with_single_cert(vec![serving.certificate.clone()], serving.key.clone_key().into())?;
    Ok(finished(config))
}

/// TLS 1.2 and 1.3 with a given certificate.
pub(crate) fn plain_acceptor(chain: &str, key: &str) -> Result<TlsAcceptor, ServeError> {
    let unreadable =
        |what: &str| ServeError::Tls(rustls::Error::General(format!("the {what} cannot be read")));
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(chain.as_bytes()).collect();
    let chain = chain.map_err(|_| unreadable("certificate"))?;
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(|_| unreadable("private key"))?;
    let config = ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    Ok(finished(config))
}

fn finished(mut config: ServerConfig) -> TlsAcceptor {
    config.alpn_protocols = vec![HTTP2.to_vec(), HTTP1.to_vec()];
    // Clients keep their connections, so remembered sessions would only cost memory.
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    TlsAcceptor::from(Arc::new(config))
}
