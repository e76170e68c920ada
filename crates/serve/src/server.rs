//! Listening socket: accepts clients, and shuts down gracefully.

use crate::Peer;
use crate::ServeError;
use crate::connection::Protocol;
use crate::connection_limits::ConnectionLimits;
use crate::identity::Identity;
use crate::tls;
use axum::Router;
use orchestra_limits::Connections;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_rustls::TlsAcceptor;

/// Length of the listen backlog.
const BACKLOG: u32 = 1024;
/// Interval of new connections while all slots are taken: with hundreds of slots, one that is new has hundreds of milliseconds
/// to authenticate before it has to make room.
pub(crate) const EVICTION_INTERVAL: Duration = Duration::from_millis(2);
/// Interval of checks for a connection that can be evicted, while all are in use; new clients wait in the backlog meanwhile.
const ROOM_CHECK_INTERVAL: Duration = Duration::from_secs(1);
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
    limits: ConnectionLimits,
    connections: Connections,
}

impl Server {
    /// Listens, and prepares the certificates and the kubeconfig in the data directory.
    ///
    /// Port 0 selects a free port; [`Server::address`] returns it. The data directory must not be in use by another
    /// server. Needs a Tokio runtime, and blocks on the I/O of a few small files, so call it before other tasks run.
    pub fn bind(address: SocketAddr, data_dir: &Path) -> Result<Self, ServeError> {
        Self::bind_with(address, data_dir, ConnectionLimits::default())
    }

    pub(crate) fn bind_with(
        address: SocketAddr,
        data_dir: &Path,
        limits: ConnectionLimits,
    ) -> Result<Self, ServeError> {
        let (listener, address) = listen(address, limits.socket_buffer)?;
        let identity = Identity::prepare(data_dir, address, SystemTime::now())?;
        let tls = tls::acceptor(&identity)?;
        Ok(Self::new(listener, address, tls, identity.kubeconfig, limits))
    }

    /// Listens with a PEM certificate chain and its key, without a data directory. Client certificates are not requested.
    pub fn bind_as(
        address: SocketAddr,
        chain: &str,
        key: &str,
        limits: ConnectionLimits,
    ) -> Result<Self, ServeError> {
        let tls = tls::plain_acceptor(chain, key)?;
        let (listener, address) = listen(address, limits.socket_buffer)?;
        Ok(Self::new(listener, address, tls, PathBuf::new(), limits))
    }

    fn new(
        listener: TcpListener,
        address: SocketAddr,
        tls: TlsAcceptor,
        kubeconfig: PathBuf,
        limits: ConnectionLimits,
    ) -> Self {
        let connections = Connections::new(limits.connections, limits.per_caller);
        Self { listener, address, tls, kubeconfig, limits, connections }
    }

    /// Connections of the clients, from now on.
    pub fn connections(&self) -> Connections {
        self.connections.clone()
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
    /// Requests have the address of the client as an extension (`SocketAddr`), and those of clients with a certificate the
    /// result of `identify`. The application must end
    /// unbounded responses, such as watches, itself: after the grace period they are aborted.
    pub async fn run<C: Clone + Send + Sync + 'static>(
        self,
        app: Router,
        identify: fn(Peer) -> C,
        shutdown: impl Future<Output = ()>,
    ) -> Result<(), ServeError> {
        let slots = self.connections;
        let protocol = Arc::new(Protocol::new(self.tls, app, identify, self.limits));
        let (drain, draining) = watch::channel(());
        let mut connections = JoinSet::new();
        let mut shutdown = pin!(shutdown);
        let mut not_before = Instant::now();
        loop {
            let has_room = slots.has_room();
            tokio::select! {
                () = &mut shutdown => break,
                Some(_) = connections.join_next() => {}
                stream = accept(&self.listener, not_before), if has_room => {
                    let Some(slot) = slots.open() else { continue };
                    if slots.is_full() {
                        not_before = Instant::now() + EVICTION_INTERVAL;
                    }
                    let (protocol, draining) = (Arc::clone(&protocol), draining.clone());
                    connections.spawn(async move { protocol.serve(stream, slot, draining).await });
                }
                () = sleep(ROOM_CHECK_INTERVAL), if !has_room => {}
            }
        }
        drop(self.listener);
        drop(drain);
        let _ = timeout(SHUTDOWN_TIMEOUT, async { while connections.join_next().await.is_some() {} }).await;
        connections.shutdown().await;
        Ok(())
    }
}

/// Listens on an address.
pub(crate) fn listen(
    address: SocketAddr,
    socket_buffer: Option<u32>,
) -> Result<(TcpListener, SocketAddr), ServeError> {
    let refused = |source: std::io::Error| match source.kind() {
        ErrorKind::AddrInUse => ServeError::AddressTaken { address },
        _ => ServeError::Listen { address, source },
    };
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() };
    let bound = socket.and_then(|socket| {
        // A restart finds connections of its predecessor.
        #[cfg(unix)]
        socket.set_reuseaddr(true)?;
        // Accepted sockets inherit them.
        if let Some(bytes) = socket_buffer {
            socket.set_recv_buffer_size(bytes)?;
            socket.set_send_buffer_size(bytes)?;
        }
        socket.bind(address)?;
        socket.listen(BACKLOG)
    });
    let listener = bound.map_err(refused)?;
    let address = listener.local_addr().map_err(refused)?;
    Ok((listener, address))
}

/// Next client, not before this time. Errors of single clients and resource shortages are transient and do not stop the server.
pub(crate) async fn accept(listener: &TcpListener, not_before: Instant) -> TcpStream {
    sleep_until(not_before).await;
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
