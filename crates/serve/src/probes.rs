//! Listener for health checks: HTTP/1.1 without TLS, one request per connection.
//!
//! It shares nothing with clients, so that a server without free slots is not restarted for it. All of its clients are
//! anonymous: when its slots run out, the oldest connection makes room.

use crate::ServeError;
use crate::server::{EVICTION_INTERVAL, accept, listen};
use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use orchestra_limits::Connections;
use std::net::SocketAddr;
use std::pin::pin;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

/// Slots; a check takes milliseconds.
const MAX_CONNECTIONS: usize = 64;
/// From the connection to the end of its answer.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(5);
/// The smallest buffer that hyper allows; also the limit of a header.
const MAX_BUFFER_BYTES: usize = 8192;
/// Socket buffers: requests and answers are small.
const SOCKET_BUFFER: u32 = 16 * 1024;

/// Listener for health checks that does not serve yet.
pub struct Probes {
    listener: TcpListener,
    address: SocketAddr,
}

impl Probes {
    /// Listens. Needs a Tokio runtime.
    pub fn bind(address: SocketAddr) -> Result<Self, ServeError> {
        let (listener, address) = listen(address, Some(SOCKET_BUFFER))?;
        Ok(Self { listener, address })
    }

    /// Address of the listener.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers until `shutdown` resolves.
    pub async fn run(self, app: Router, shutdown: impl Future<Output = ()>) {
        let slots = Connections::new(MAX_CONNECTIONS, MAX_CONNECTIONS);
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).keep_alive(false).max_buf_size(MAX_BUFFER_BYTES);
        let app = TowerToHyperService::new(app);
        let mut connections = JoinSet::new();
        let mut shutdown = pin!(shutdown);
        let mut not_before = Instant::now();
        loop {
            tokio::select! {
                () = &mut shutdown => return,
                Some(_) = connections.join_next() => {}
                stream = accept(&self.listener, not_before) => {
                    // There is always one to evict.
                    let Some(slot) = slots.open() else { continue };
                    if slots.is_full() {
                        not_before = Instant::now() + EVICTION_INTERVAL;
                    }
                    let answered = http.serve_connection(TokioIo::new(stream), app.clone());
                    connections.spawn(async move {
                        tokio::select! {
                            () = slot.closed() => {}
                            // Errors are caused by the client.
                            _ = timeout(CONNECTION_TIMEOUT, answered) => {}
                        }
                    });
                }
            }
        }
    }
}
