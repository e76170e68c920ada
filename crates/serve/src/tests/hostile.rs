//! Clients that try to take everything: others are served meanwhile.

use super::{LOOPBACK, Running, get};
use crate::{ConnectionLimits, Probes};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::routing::get as on_get;
use futures_util::FutureExt;
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::time::timeout;

/// Slots for few connections, so that tests can take them all.
const FEW: ConnectionLimits = ConnectionLimits {
    connections: 4,
    per_caller: 2,
    streams: 2,
    header_bytes: 16 * 1024,
    stream_window: 32 * 1024,
    connection_window: 64 * 1024,
    unsent_bytes: 16 * 1024,
    socket_buffer: Some(32 * 1024),
};
/// Timeout of expected events: far longer than they take.
const TIMEOUT: Duration = Duration::from_mins(1);

/// HTTP/2 connection of the administrator.
async fn administrator(server: &Running) -> SendRequest<Body> {
    let stream = server.connect(Some(server.credential("admin.pem")), "h2").await;
    let (client, connection) = handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    client
}

fn request(path: &str, body: Body) -> hyper::Request<Body> {
    hyper::Request::post(format!("https://server{path}")).body(body).unwrap()
}

async fn is_served(client: &mut SendRequest<Body>) -> bool {
    let served = async {
        client.ready().await.ok()?;
        let response = client.send_request(request("/", Body::empty())).await.ok()?;
        (response.status() == 200).then_some(())
    };
    timeout(TIMEOUT, served).await.unwrap().is_some()
}

/// True if the server has closed the connection.
async fn is_closed(mut stream: impl tokio::io::AsyncRead + Unpin) -> bool {
    matches!(timeout(TIMEOUT, stream.read(&mut [0; 64])).await.unwrap(), Ok(0) | Err(_))
}

#[tokio::test]
async fn idle_connections_make_room_and_those_in_use_stay() {
    let server = Running::start_with(FEW);
    let mut early = administrator(&server).await;
    assert!(is_served(&mut early).await);
    let endless = request("/endless", Body::empty());
    let open = early.send_request(endless).await.unwrap();
    let mut idle = Vec::new();
    for _ in 0..FEW.connections * 3 {
        idle.push(TcpStream::connect(server.address).await.unwrap());
    }
    let mut late = administrator(&server).await;
    assert!(is_served(&mut late).await, "a newcomer");
    assert!(is_served(&mut early).await, "a connection in use");
    assert!(is_closed(idle.remove(0)).await, "the oldest idle connection made room");
    drop(open);
}

#[tokio::test]
async fn slow_headers_and_slow_bodies_make_room() {
    for protocol in ["http/1.1", "h2"] {
        let server = Running::start_with(FEW);
        let mut slow = Vec::new();
        for _ in 0..FEW.connections {
            let mut stream = server.connect(None, protocol).await;
            let begin: &[u8] = match protocol {
                "h2" => b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\x0f\x01",
                _ => b"POST / HTTP/1.1\r\nHost: server\r\nContent-Length: 1000000\r\nX: ",
            };
            stream.write_all(begin).await.unwrap();
            slow.push(stream);
        }
        let mut client = administrator(&server).await;
        assert!(is_served(&mut client).await, "{protocol}");
    }
}

#[tokio::test]
async fn a_caller_with_more_than_its_share_loses_its_oldest_connection() {
    let server = Running::start_with(FEW);
    let mut clients = Vec::new();
    for _ in 0..FEW.connections {
        let mut client = administrator(&server).await;
        assert!(is_served(&mut client).await);
        clients.push(client);
    }
    let response = get(server.connect(None, "http/1.1").await, "/").await.unwrap();
    assert!(response.starts_with("HTTP/1.1 200"), "{response}");
    assert!(!is_served(&mut clients[0]).await);
    assert!(is_served(&mut clients[3]).await);
}

/// Body that never ends, of 16 KiB pieces.
struct Flood;

impl hyper::body::Body for Flood {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<hyper::body::Frame<Bytes>, Infallible>>> {
        Poll::Ready(Some(Ok(hyper::body::Frame::data(Bytes::from_static(&[0; 16 * 1024])))))
    }
}

#[tokio::test]
async fn the_body_of_a_refused_request_is_not_read() {
    let server = Running::start_with(FEW);
    // The stream is reset, and the connection goes on.
    let mut client = administrator(&server).await;
    for _ in 0..20 {
        let response = timeout(TIMEOUT, client.send_request(request("/", Body::new(Flood)))).await.unwrap();
        assert_eq!(response.unwrap().status(), 200);
    }
    assert!(is_served(&mut client).await);

    // The connection is closed.
    let mut stream = server.connect(None, "http/1.1").await;
    let header = format!("POST / HTTP/1.1\r\nHost: server\r\nContent-Length: {}\r\n\r\n", u64::MAX / 4);
    stream.write_all(header.as_bytes()).await.unwrap();
    let mut written = 0;
    while timeout(TIMEOUT, stream.write_all(&[0; 16 * 1024])).await.unwrap().is_ok() {
        written += 16;
        // What the buffers of both sockets hold.
        assert!(written < 32 * 1024, "the server reads {written} KiB of a body that nobody wants");
    }
}

#[tokio::test]
async fn streams_above_the_limit_wait() {
    let server = Running::start_with(FEW);
    let mut client = administrator(&server).await;
    assert!(is_served(&mut client).await, "the client knows the limit");
    let first = client.send_request(request("/endless", Body::empty())).await.unwrap();
    let _second = client.send_request(request("/endless", Body::empty())).await.unwrap();
    let mut third = Box::pin(client.send_request(request("/", Body::empty())));
    tokio::task::yield_now().await;
    assert!((&mut third).now_or_never().is_none());
    drop(first);
    assert_eq!(timeout(TIMEOUT, third).await.unwrap().unwrap().status(), 200);
}

#[tokio::test]
async fn streams_that_are_reset_at_once_do_not_disturb_others() {
    let server = Running::start_with(ConnectionLimits { streams: 100, ..FEW });
    let mut hostile = administrator(&server).await;
    for _ in 0..5_000 {
        if hostile.ready().await.is_err() {
            break;
        }
        // Sent, and cancelled.
        let mut sent = Box::pin(hostile.send_request(request("/endless", Body::empty())));
        let _ = (&mut sent).now_or_never();
        drop(sent);
        tokio::task::yield_now().await;
    }
    let mut client = administrator(&server).await;
    assert!(is_served(&mut client).await);
}

#[tokio::test]
async fn a_huge_header_is_refused_and_its_connection_goes_on() {
    let server = Running::start_with(FEW);
    let mut client = administrator(&server).await;
    let mut huge = request("/", Body::empty());
    huge.headers_mut().insert("x", "x".repeat(20_000).parse().unwrap());
    let refused = timeout(TIMEOUT, client.send_request(huge)).await.unwrap();
    assert!(refused.is_err() || refused.is_ok_and(|response| response.status() == 431));
    let mut client = administrator(&server).await;
    assert!(is_served(&mut client).await);
}

#[tokio::test]
async fn probes_are_answered_while_others_hold_all_connections() {
    let probes = Probes::bind(LOOPBACK.parse().unwrap()).unwrap();
    let address = probes.address();
    let (stop, stopped) = oneshot::channel::<()>();
    let app = Router::new().route("/healthz", on_get(async || "ok"));
    let task = tokio::spawn(probes.run(app, async { drop(stopped.await) }));
    let mut idle = Vec::new();
    for _ in 0..200 {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let _ = stream.write_all(b"GET /healthz HTTP/1.1\r\n").await;
        idle.push(stream);
    }
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: probe\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    timeout(TIMEOUT, stream.read_to_string(&mut answer)).await.unwrap().unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.ends_with("ok"), "{answer}");
    assert!(is_closed(idle.remove(0)).await);
    drop(stop);
    task.await.unwrap();
}
