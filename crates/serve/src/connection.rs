//! One client connection, from the TLS handshake to its end.
//!
//! Every phase in which a client can keep the server waiting has a timeout, and every buffer it can fill a limit. A
//! client that does not read its responses holds one small buffer per stream: a body is polled only when there is
//! room. What a refused request still sends is not read: its stream is reset, or its HTTP/1.1 connection closed.

use crate::connection_limits::ConnectionLimits;
use crate::peer::Peer;
use crate::tls;
use axum::Router;
use axum::body::{Body, Bytes};
use hyper::Request;
use hyper::body::{Frame, Incoming, SizeHint};
use hyper::server::conn::{http1, http2};
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulConnection;
use hyper_util::service::TowerToHyperService;
use orchestra_limits::{ActiveRequest, Connection};
use std::convert::Infallible;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// From the handshake to the end of the header of the first request.
const FIRST_REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// HTTP/1.1 only: from one response to the end of the header of the next request.
const NEXT_REQUEST_TIMEOUT: Duration = Duration::from_secs(90);
const PING_INTERVAL: Duration = Duration::from_secs(30);
const PING_TIMEOUT: Duration = Duration::from_secs(20);
/// Streams that a client has opened and reset before they were accepted; more end the connection (rapid reset).
const MAX_RESET_STREAMS: usize = 20;

/// Answer to a client that speaks HTTP without TLS.
const PLAIN_HTTP_ANSWER: &[u8] =
    b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";

/// Resolves when the server ends: its other half is dropped then.
pub(crate) type Draining = watch::Receiver<()>;

/// Protocol stack that all connections share.
pub(crate) struct Protocol<C> {
    tls: TlsAcceptor,
    http1: http1::Builder,
    http2: http2::Builder<TokioExecutor>,
    app: TowerToHyperService<Router>,
    identify: fn(Peer) -> C,
}

impl<C: Clone + Send + Sync + 'static> Protocol<C> {
    /// Protocol stack in front of `app`, which gets the identity of the client as a request extension.
    pub(crate) fn new(
        tls: TlsAcceptor,
        app: Router,
        identify: fn(Peer) -> C,
        limits: ConnectionLimits,
    ) -> Self {
        let mut http1 = http1::Builder::new();
        http1
            .timer(TokioTimer::new())
            .header_read_timeout(NEXT_REQUEST_TIMEOUT)
            .max_header_size(limits.header_bytes.into())
            .max_buf_size(limits.unsent_bytes.max(limits.header_bytes.into()));
        let mut http2 = http2::Builder::new(TokioExecutor::new());
        http2
            .timer(TokioTimer::new())
            .keep_alive_interval(PING_INTERVAL)
            .keep_alive_timeout(PING_TIMEOUT)
            .max_concurrent_streams(limits.streams)
            .max_pending_accept_reset_streams(MAX_RESET_STREAMS)
            .max_header_list_size(limits.header_bytes.into())
            .initial_stream_window_size(limits.stream_window)
            .initial_connection_window_size(limits.connection_window)
            .max_send_buf_size(limits.unsent_bytes);
        Self { tls, http1, http2, app: TowerToHyperService::new(app), identify }
    }

    /// Serves the client until it disconnects, exceeds a limit, makes room for another, its account ends, or the server has
    /// drained its requests on shutdown.
    pub(crate) async fn serve(&self, stream: TcpStream, slot: Connection, draining: Draining) {
        tokio::select! {
            () = slot.closed() => {}
            () = self.serve_client(stream, &slot, draining) => {}
        }
    }

    async fn serve_client(&self, stream: TcpStream, slot: &Connection, mut draining: Draining) {
        let address = stream.peer_addr().ok();
        let handshake = tokio::select! {
            handshake = timeout(HANDSHAKE_TIMEOUT, self.shake_hands(stream)) => handshake,
            _ = draining.changed() => return,
        };
        let Ok(Some(stream)) = handshake else { return };
        let (_, session) = stream.get_ref();
        let peer = session.peer_certificates().and_then(|chain| Peer::of(chain.first()?));
        if let Some(peer) = &peer {
            slot.authenticated(&peer.name);
        }
        let caller = peer.map(self.identify);
        let speaks_http2 = session.alpn_protocol() == Some(tls::HTTP2);

        let has_asked = AtomicBool::new(false);
        let service = service_fn(|mut request: Request<Incoming>| {
            has_asked.store(true, Ordering::Relaxed);
            if let Some(caller) = &caller {
                request.extensions_mut().insert(caller.clone());
            }
            request.extensions_mut().insert(slot.clone());
            if let Some(address) = address {
                request.extensions_mut().insert(address);
            }
            let active = slot.request();
            let answered = self.app.call(request);
            async move {
                let answer = answered.await?;
                Ok::<_, Infallible>(answer.map(|body| ActiveBody { body, _active: active }))
            }
        });
        let stream = TokioIo::new(stream);
        if speaks_http2 {
            drive(self.http2.serve_connection(stream, service), &has_asked, draining).await;
        } else {
            drive(self.http1.serve_connection(stream, service), &has_asked, draining).await;
        }
    }

    /// The encrypted stream, or `None` for a client that does not get through the handshake.
    async fn shake_hands(&self, mut stream: TcpStream) -> Option<TlsStream<TcpStream>> {
        // Answers are small and latency counts.
        let _ = stream.set_nodelay(true);
        let mut first_byte = [0];
        stream.peek(&mut first_byte).await.ok()?;
        if first_byte[0].is_ascii_uppercase() {
            let _ = stream.write_all(PLAIN_HTTP_ANSWER).await;
            return None;
        }
        self.tls.accept(stream).await.ok()
    }
}

/// Body of a response; its connection is in use until it is sent.
struct ActiveBody {
    body: Body,
    _active: ActiveRequest,
}

impl hyper::body::Body for ActiveBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Runs the connection. Errors are caused by the client and are dropped.
async fn drive(connection: impl GracefulConnection, has_asked: &AtomicBool, mut draining: Draining) {
    let mut connection = pin!(connection);
    tokio::select! {
        _ = connection.as_mut() => return,
        () = sleep(FIRST_REQUEST_TIMEOUT) => {
            if !has_asked.load(Ordering::Relaxed) {
                return;
            }
        }
        _ = draining.changed() => {}
    }
    // The second round is for connections with requests: `changed` resolves at once when the server ends.
    tokio::select! {
        _ = connection.as_mut() => return,
        _ = draining.changed() => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}
