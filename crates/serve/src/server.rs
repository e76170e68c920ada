//! Listening socket: accepts clients, and shuts down gracefully.

use crate::Peer;
use crate::ServeError;
use crate::connection::Protocol;
use crate::identity::Identity;
use crate::tls;
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

/// Maximum number of connections; further clients wait in the listen backlog.
const MAX_CONNECTIONS: usize = 4096;
/// Grace period of requests in flight at shutdown.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);
/// Delay after a failed accept, such as for lack of file descriptors.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(100);

/// Server that listens, but does not serve yet.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    tls: TlsAcceptor,
    kubeconfig: PathBuf,
}

impl Server {
    /// Listens, and prepares the certificates and the kubeconfig in the data directory.
    ///
    /// Port 0 selects a free port; [`Server::address`] returns it. The data directory must not be in use by another
    /// server. Blocks on the I/O of a few small files, so call it before other tasks run.
    pub async fn bind(listen: SocketAddr, data_dir: &Path) -> Result<Self, ServeError> {
        let (listener, address) = Self::listen(listen).await?;
        let identity = Identity::prepare(data_dir, address, SystemTime::now())?;
        let tls = tls::acceptor(&identity)?;
        Ok(Self { listener, address, tls, kubeconfig: identity.kubeconfig })
    }

    /// Listens with a PEM certificate chain and its key, without a data directory. Client certificates are not requested.
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

    /// Address of the listener.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Kubeconfig of the administrator; empty without a data directory.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// Serves until `shutdown` resolves; then waits a few seconds for the requests in flight.
    ///
    /// Requests of clients with a certificate have the result of `identify` as an extension. The application must end
    /// unbounded responses, such as watches, itself: after the grace period they are aborted.
    pub async fn run<C: Clone + Send + Sync + 'static>(
        self,
        app: Router,
        identify: fn(Peer) -> C,
        shutdown: impl Future<Output = ()>,
    ) -> Result<(), ServeError> {
        let protocol = Arc::new(Protocol::new(self.tls, app, identify));
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
        let _ = timeout(SHUTDOWN_TIMEOUT, async { while connections.join_next().await.is_some() {} }).await;
        connections.shutdown().await;
        Ok(())
    }
}

/// Next client. Errors of single clients and resource shortages are transient and do not stop the server.
async fn accept(listener: &TcpListener) -> TcpStream {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return stream,
            Err(error) if left_early(error.kind()) => {}
            Err(_) => sleep(ACCEPT_RETRY_DELAY).await,
        }
    }
}

/// True if the client disconnected before it was accepted.
fn left_early(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset | ErrorKind::ConnectionRefused)
}
