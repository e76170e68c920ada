//! Proxy with real sockets: a client, the proxy, and programs.

use std::net::SocketAddr;

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

use super::*;

use crate::NamespacedName;

fn id(name: &str) -> NamespacedName {
    ("default".to_owned(), name.to_owned())
}

fn rule(host: &str, path: &str, port: u16) -> Rule {
    Rule { host: host.to_owned(), path: path.to_owned(), exact: false, port }
}

/// Proxy, and the folder of its port.
async fn proxy() -> (Proxy, tempfile::TempDir) {
    let data = tempfile::tempdir().unwrap();
    // Any port, since tests run in parallel.
    record::write(&data.path().join("proxy.json"), &0_u16).unwrap();
    (Proxy::open(data.path()).await.unwrap(), data)
}

/// Program that accepts one connection, reads the head of a request and returns both.
async fn program() -> (u16, impl Future<Output = (String, TcpStream)>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let taken = async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        (head(&mut stream).await, stream)
    };
    (port, taken)
}

/// Reads up to the empty line, and not further.
async fn head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    String::from_utf8(head).unwrap()
}

/// Program that responds to every request with a word.
async fn answering(word: &'static str) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            head(&mut stream).await;
            let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{word}", word.len());
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
    });
    port
}

/// Sends a request, and returns everything up to the end of the connection.
async fn get(address: impl Into<SocketAddr>, host: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address.into()).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

fn v4(proxy: &Proxy) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, proxy.port()).into()
}

#[tokio::test]
async fn host_and_path_select_the_target() {
    let (proxy, _data) = proxy().await;
    let (site, api, other) = (answering("site").await, answering("api").await, answering("other").await);
    proxy.set(&id("a"), vec![rule("a.localhost", "/", site), rule("a.localhost", "/api", api)]).unwrap();
    proxy.set(&id("b"), vec![rule("b.localhost", "/", other)]).unwrap();
    for (host, path, word) in [
        ("a.localhost", "/", "site"),
        ("A.localhost:8088", "/api/x?y=/z", "api"),
        ("a.localhost", "/apis", "site"),
        ("b.localhost", "/api", "other"),
    ] {
        let answer = get(v4(&proxy), host, path).await;
        assert!(
            answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with(word),
            "{host}{path}: {answer}"
        );
    }
    if let Ok(newer) = TcpStream::connect((Ipv6Addr::LOCALHOST, proxy.port())).await {
        let answer = get(newer.peer_addr().unwrap(), "b.localhost", "/").await;
        assert!(answer.ends_with("other"), "{answer}");
    }
    assert_eq!(proxy.set(&id("c"), vec![rule("b.localhost", "/", api)]), Err(id("b")));
    proxy.remove(&id("b"));
    assert!(get(v4(&proxy), "b.localhost", "/").await.starts_with("HTTP/1.1 404 "));
}

#[tokio::test]
async fn a_missing_route_and_an_unreachable_target_are_described() {
    let (proxy, _data) = proxy().await;
    let answer = get(v4(&proxy), "x.localhost", "/y").await;
    assert!(
        answer.ends_with("404 Not Found: no route for `x.localhost/y`; no workload has a route yet.\n"),
        "{answer}"
    );
    let (closed, taken) = program().await;
    drop(taken);
    proxy.set(&id("a"), vec![rule("a.localhost", "/", closed), rule("b.localhost", "/", closed)]).unwrap();
    let answer = get(v4(&proxy), "x.localhost", "/y").await;
    assert!(answer.starts_with("HTTP/1.1 404 Not Found\r\ncontent-type: text/plain"), "{answer}");
    assert!(
        answer.ends_with(
            "404 Not Found: no route for `x.localhost/y`; there are routes for `a.localhost`, `b.localhost`.\n"
        ),
        "{answer}"
    );
    let answer = get(v4(&proxy), "a.localhost", "/y").await;
    assert!(answer.starts_with("HTTP/1.1 502 Bad Gateway\r\ncontent-type: text/plain"), "{answer}");
    assert!(
        answer.ends_with("502 Bad Gateway: the workload behind `a.localhost/y` does not respond; check whether it is ready.\n"),
        "{answer}"
    );
}

#[tokio::test]
async fn a_request_is_forwarded_unchanged_with_forwarded_headers() {
    let (proxy, _data) = proxy().await;
    let (port, taken) = program().await;
    proxy.set(&id("a"), vec![rule("a.localhost", "/", port)]).unwrap();
    let mut browser = TcpStream::connect(v4(&proxy)).await.unwrap();
    let request = "GET /p%20q/../x?a=%2F&b HTTP/1.1\r\nHost: A.localhost:8088\r\nConnection: close, X-Mine\r\nX-Mine: 1\r\nX-Other: 2\r\nX-Forwarded-For: 10.0.0.1\r\nX-Forwarded-Proto: gopher\r\n\r\n";
    browser.write_all(request.as_bytes()).await.unwrap();
    let (got, mut program) = taken.await;
    assert!(got.starts_with("GET /p%20q/../x?a=%2F&b HTTP/1.1\r\n"), "{got}");
    let lines: Vec<_> = got.lines().collect();
    for line in [
        "host: A.localhost:8088",
        "x-other: 2",
        "x-forwarded-for: 10.0.0.1, 127.0.0.1",
        "x-forwarded-host: A.localhost:8088",
        "x-forwarded-proto: http",
    ] {
        assert_eq!(lines.iter().filter(|has| **has == line).count(), 1, "{line}: {got}");
    }
    assert!(!got.contains("x-mine") && !got.contains("gopher"), "{got}");
    // The response is passed on unchanged, errors too.
    program
        .write_all(b"HTTP/1.1 418 Odd\r\nset-cookie: a=1\r\nset-cookie: b=2\r\ncontent-length: 2\r\n\r\nno")
        .await
        .unwrap();
    let mut answer = String::new();
    browser.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 418 ") && answer.ends_with("\r\n\r\nno"), "{answer}");
    assert!(answer.contains("set-cookie: a=1\r\nset-cookie: b=2\r\n"), "{answer}");
}

#[tokio::test]
async fn bodies_are_streamed_in_both_directions_without_buffering() {
    const PIECE: usize = 64 * 1024;
    const PIECES: usize = 512;
    let (proxy, _data) = proxy().await;
    let (port, taken) = program().await;
    proxy.set(&id("a"), vec![rule("a.localhost", "/", port)]).unwrap();
    let mut browser = TcpStream::connect(v4(&proxy)).await.unwrap();
    let length = PIECE * PIECES;
    let request = format!("POST /big HTTP/1.1\r\nHost: a.localhost\r\ncontent-length: {length}\r\n\r\n");
    browser.write_all(request.as_bytes()).await.unwrap();
    // The program is asked before there is any body, and responds to each chunk before the next is sent: nothing is buffered.
    let (got, mut program) = taken.await;
    assert!(got.contains(&format!("content-length: {length}")), "{got}");
    program
        .write_all(format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n").as_bytes())
        .await
        .unwrap();
    head(&mut browser).await;
    for number in 0..PIECES {
        let piece = vec![u8::try_from(number % 251).unwrap(); PIECE];
        let (mut received, mut returned) = (vec![0; PIECE], vec![0; PIECE]);
        let (sent, read) = tokio::join!(browser.write_all(&piece), program.read_exact(&mut received));
        sent.and(read.map(drop)).unwrap();
        let (sent, read) = tokio::join!(program.write_all(&received), browser.read_exact(&mut returned));
        sent.and(read.map(drop)).unwrap();
        assert!(returned == piece, "piece {number}");
    }
}

#[tokio::test]
async fn an_upgraded_connection_is_forwarded() {
    let (proxy, _data) = proxy().await;
    let (port, taken) = program().await;
    proxy.set(&id("a"), vec![rule("a.localhost", "/", port)]).unwrap();
    let mut browser = TcpStream::connect(v4(&proxy)).await.unwrap();
    let request = "GET /ws HTTP/1.1\r\nHost: a.localhost\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: abc\r\n\r\n";
    browser.write_all(request.as_bytes()).await.unwrap();
    let (got, mut program) = taken.await;
    assert!(got.contains("connection: upgrade\r\n") && got.contains("upgrade: websocket\r\n"), "{got}");
    assert!(got.contains("sec-websocket-key: abc\r\n"), "{got}");
    let answer = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: xyz\r\n\r\nfirst";
    program.write_all(answer.as_bytes()).await.unwrap();
    let got = head(&mut browser).await;
    assert!(got.starts_with("HTTP/1.1 101 ") && got.contains("sec-websocket-accept: xyz\r\n"), "{got}");
    let mut word = [0; 5];
    browser.read_exact(&mut word).await.unwrap();
    assert_eq!(&word, b"first");
    browser.write_all(b"\x00ping").await.unwrap();
    program.read_exact(&mut word).await.unwrap();
    assert_eq!(&word, b"\x00ping");
    // The end of one side is the end of the other.
    drop(program);
    assert_eq!(browser.read(&mut word).await.unwrap(), 0);
}

#[tokio::test]
async fn the_port_is_stable_unless_another_program_uses_it() {
    let (first, data) = proxy().await;
    let port = first.port();
    drop(first);
    // The listener closes when its task is dropped.
    let again = loop {
        let again = Proxy::open(data.path()).await.unwrap();
        if again.port() == port {
            break again;
        }
        drop(again);
        record::write(&data.path().join("proxy.json"), &port).unwrap();
        tokio::task::yield_now().await;
    };
    let beside = Proxy::open(data.path()).await.unwrap();
    assert_ne!(beside.port(), again.port());
}
