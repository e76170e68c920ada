//! Limits of the server: large and deep bodies, many and slow clients, a full disk.

use crate::serve::client::{CONFIG_MAPS, Watch, request};
use crate::serve::config_map;
use crate::serve::server::Server;
use hyper::Method;
use std::process::Command;
use std::time::Duration;
use tokio::time::timeout;

/// Timeout of expected events: far longer than they take.
const TIMEOUT: Duration = Duration::from_mins(2);
const MIB: usize = 1024;

#[tokio::test]
async fn a_body_over_3_mib_is_too_large() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let body = config_map("large", &"x".repeat(3 * 1024 * 1024));
    let mut connection = server.client().connect().await.unwrap();
    let (status, answer) = connection.call(Method::POST, CONFIG_MAPS, body).await.unwrap();
    assert_eq!(
        (status, &answer["kind"], &answer["reason"]),
        (413, &"Status".into(), &"RequestEntityTooLarge".into())
    );
}

#[tokio::test]
async fn deep_json_is_refused_and_the_server_keeps_running() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let mut connection = server.client().connect().await.unwrap();
    let (status, _) = connection.call(Method::POST, CONFIG_MAPS, config_map("flat", "x")).await.unwrap();
    assert_eq!(status, 201);
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        for body in [
            format!("{}1{}", open.repeat(10_001), close.repeat(10_001)),
            open.repeat(500_000),
            format!(
                r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"deep"}},"data":{}1{}}}"#,
                open.repeat(9_990),
                close.repeat(9_990)
            ),
        ] {
            for kind in ["application/json", "application/yaml"] {
                let mut request = request(Method::POST, CONFIG_MAPS, body.clone());
                request.headers_mut().insert("content-type", kind.parse().unwrap());
                let (status, answer) = connection.call_with(request).await.unwrap();
                // Half a million maps are too many, whatever their depth.
                let expected = if body.matches('{').count() > 65_536 { 413 } else { 400 };
                assert_eq!((status, &answer["kind"]), (expected, &"Status".into()), "{kind} {answer}");
            }
            for kind in [
                "application/json-patch+json",
                "application/merge-patch+json",
                "application/apply-patch+yaml",
            ] {
                let path = format!("{CONFIG_MAPS}/flat?fieldManager=deep");
                let mut request = request(Method::PATCH, &path, body.clone());
                request.headers_mut().insert("content-type", kind.parse().unwrap());
                let (status, answer) = connection.call_with(request).await.unwrap();
                assert!((400..500).contains(&status), "{kind} {status} {answer}");
            }
        }
    }
    let (status, _) = connection.call(Method::GET, "/readyz", "").await.unwrap();
    assert_eq!(status, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thousands_of_idle_watches_are_cheap_and_all_see_a_write() {
    const CONNECTIONS: usize = 20;
    const WATCHES: usize = 2000;
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let mut watches = Vec::new();
    let mut connections = Vec::new();
    for _ in 0..CONNECTIONS {
        let mut connection = server.client().connect_many().await.unwrap();
        for _ in 0..WATCHES / CONNECTIONS {
            let path = format!("{CONFIG_MAPS}?watch=true&timeoutSeconds=600");
            connection.ready().await.unwrap();
            let response = connection.send_request(request(Method::GET, &path, "")).await.unwrap();
            assert_eq!(response.status(), 200);
            watches.push(Watch::new(response.into_body()));
        }
        connections.push(connection);
    }
    let mut writer = server.client().connect().await.unwrap();
    let (status, _) = writer.call(Method::POST, CONFIG_MAPS, config_map("seen", "x")).await.unwrap();
    assert_eq!(status, 201);
    for watch in &mut watches {
        timeout(TIMEOUT, watch.wait_for("seen")).await.expect("a watch did not see the write");
    }
    #[cfg(target_os = "linux")]
    assert!(server.memory() < 100 * MIB, "{} KiB", server.memory());
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_that_do_not_read_their_watches_cost_no_memory() {
    const WATCHES: usize = 50;
    const WRITES: usize = 200;
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let mut unread = Vec::new();
    for _ in 0..WATCHES {
        let mut connection = server.client().connect().await.unwrap();
        let path = format!("{CONFIG_MAPS}?watch=true&timeoutSeconds=600");
        unread.push((connection.send(Method::GET, &path, "").await.unwrap(), connection));
    }
    let mut reading = server.client().connect().await.unwrap().watch("").await.unwrap();
    let mut writer = server.client().connect().await.unwrap();
    let before = server.memory();
    let text = "x".repeat(100_000);
    for write in 0..WRITES {
        let body = config_map(&format!("c-{write}"), &text);
        assert_eq!(writer.call(Method::POST, CONFIG_MAPS, body).await.unwrap().0, 201);
    }
    timeout(TIMEOUT, reading.wait_for(&format!("c-{}", WRITES - 1))).await.unwrap();
    // The objects themselves take 20 MB in memory; a copy for each watch would take 50 times that.
    let grown = server.memory() - before;
    assert!(grown < 150 * MIB, "{grown} KiB");
    drop(unread);
}

#[tokio::test]
async fn unread_watches_share_the_large_object_that_they_begin_with() {
    const WATCHES: usize = 200;
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let mut writer = server.client().connect().await.unwrap();
    let body = config_map("large", &"x".repeat(1_000_000));
    assert_eq!(writer.call(Method::POST, CONFIG_MAPS, body).await.unwrap().0, 201);
    let before = server.memory();
    let mut connection = server.client().connect_without_window().await.unwrap();
    let mut unread = Vec::new();
    for _ in 0..WATCHES {
        let path = format!("{CONFIG_MAPS}?watch=true&timeoutSeconds=600");
        let answer = connection.send_request(request(Method::GET, &path, "")).await.unwrap();
        assert_eq!(answer.status(), 200);
        unread.push(answer);
    }
    let mut reading = server.client().connect().await.unwrap().watch("").await.unwrap();
    timeout(TIMEOUT, reading.wait_for("large")).await.unwrap();
    // A copy for each watch would take 200 MB.
    let grown = server.memory() - before;
    assert!(grown < 50 * MIB, "{grown} KiB");
    drop(unread);
}

#[tokio::test]
async fn a_full_disk_refuses_writes_and_keeps_reads() {
    let folder = tempfile::tempdir().unwrap();
    Server::start(folder.path()).kill();
    // A file size limit simulates the full disk; the shell counts in blocks of 512 bytes.
    let mut command = Command::new("sh");
    command
        .args(["-c", r#"trap "" XFSZ; ulimit -f 16384; exec "$0" "$@""#, env!("CARGO_BIN_EXE_orchestra")])
        .args(["serve", "--listen", "127.0.0.1:0", "--data-dir"])
        .arg(folder.path());
    let server = Server::run(command, folder.path());
    let mut connection = server.client().connect().await.unwrap();
    let text = "x".repeat(500_000);
    let mut kept = 0;
    let refusal = loop {
        let body = config_map(&format!("c-{kept}"), &text);
        let (status, answer) = connection.call(Method::POST, CONFIG_MAPS, body).await.unwrap();
        if status != 201 {
            break (status, answer);
        }
        kept += 1;
        assert!(kept < 100, "the disk is never full");
    };
    let (status, answer) = refusal;
    assert_eq!((status, &answer["kind"]), (500, &"Status".into()), "{answer}");
    assert!(kept > 0, "{answer}");
    let (status, _) = connection.call(Method::GET, &format!("{CONFIG_MAPS}/c-{kept}"), "").await.unwrap();
    assert_eq!(status, 404, "a write that was refused took place");
    for object in 0..kept {
        let path = format!("{CONFIG_MAPS}/c-{object}");
        assert_eq!(connection.call(Method::GET, &path, "").await.unwrap().0, 200);
    }
    server.kill();
    let server = Server::start(folder.path());
    let mut connection = server.client().connect().await.unwrap();
    for object in 0..kept {
        let path = format!("{CONFIG_MAPS}/c-{object}");
        assert_eq!(connection.call(Method::GET, &path, "").await.unwrap().0, 200, "{path} is lost");
    }
    let (status, answer) =
        connection.call(Method::POST, CONFIG_MAPS, config_map("again", "x")).await.unwrap();
    assert_eq!(status, 201, "{answer}");
}
