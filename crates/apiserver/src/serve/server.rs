//! The listening socket: accepts clients, and ends with them in an orderly way.

use super::ServeError;
use super::connection::Protocol;
use super::identity::Identity;
use super::tls;
use axum::Router;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

/// Clients beyond this number wait in the queue of the system.
const MAX_CONNECTIONS: usize = 4096;
/// How long requests may still run once the server ends.
const GRACE: Duration = Duration::from_secs(5);
/// The pause after the system could not give us a connection, for instance for want of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A server that listens, but does not answer yet.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    tls: TlsAcceptor,
    kubeconfig: PathBuf,
}

impl Server {
    /// Listens, and prepares the certificates and the kubeconfig in the data directory.
    ///
    /// Port 0 takes any free port; [`Server::address`] says which. The data directory must not be in use by
    /// another server. Reads and writes a few small files in place, so call it before there is other work.
    pub async fn bind(listen: SocketAddr, data_dir: &Path) -> Result<Self, ServeError> {
        let (listener, address) = Self::listen(listen).await?;
        let identity = Identity::prepare(data_dir, address, SystemTime::now())?;
        let tls = tls::acceptor(&identity)?;
        Ok(Self { listener, address, tls, kubeconfig: identity.kubeconfig })
    }

    /// Listens under a certificate that is kept elsewhere than in a data directory, as PEM: first the certificate and
    /// those that vouch for it, then its key. Clients do not show certificates of their own here.
    pub async fn bind_as(listen: SocketAddr, chain: &str, key: &str) -> Result<Self, ServeError> {
        let tls = tls::plain_acceptor(chain, key)?;
        let (listener, address) = Self::listen(listen).await?;
        Ok(Self { listener, address, tls, kubeconfig: PathBuf::new() })
    }

    async fn listen(listen: SocketAddr) -> Result<(TcpListener, SocketAddr), ServeError> {
        let refused = |source: std::io::Error| match source.kind() {
            ErrorKind::AddrInUse => ServeError::AddressTaken { address: listen },
            _ => ServeError::Listen { address: listen, source },
        };
        let listener = TcpListener::bind(listen).await.map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        Ok((listener, address))
    }

    /// Where the server listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The kubeconfig of the administrator; empty for one that has no data directory.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// Serves until `shutdown` resolves; then waits a few seconds for the requests that are under way.
    ///
    /// Responses that never end, such as watches, are the application's to end on its own signal: after the
    /// wait they are cut.
    pub async fn run(self, app: Router, shutdown: impl Future<Output = ()>) -> Result<(), ServeError> {
        let protocol = Arc::new(Protocol::new(self.tls, app));
        let (drain, draining) = watch::channel(());
        let mut connections = JoinSet::new();
        let mut shutdown = pin!(shutdown);
        loop {
            tokio::select! {
                () = &mut shutdown => break,
                Some(_) = connections.join_next() => {}
                stream = accept(&self.listener), if connections.len() < MAX_CONNECTIONS => {
                    let (protocol, draining) = (Arc::clone(&protocol), draining.clone());
                    connections.spawn(async move { protocol.serve(stream, draining).await });
                }
            }
        }
        drop(self.listener);
        drop(drain);
        let _ = timeout(GRACE, async { while connections.join_next().await.is_some() {} }).await;
        connections.shutdown().await;
        Ok(())
    }
}

/// The next client. Trouble with one of them, or a lack of resources, passes: the server stays up.
async fn accept(listener: &TcpListener) -> TcpStream {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return stream,
            Err(error) if left_early(error.kind()) => {}
            Err(_) => sleep(ACCEPT_PAUSE).await,
        }
    }
}

/// Whether the client went away before we turned to it.
fn left_early(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset | ErrorKind::ConnectionRefused)
}
