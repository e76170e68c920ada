//! `orchestra serve` as a process, over TLS.

#![cfg(unix)]

mod bounds;
pub(crate) mod client;
mod durability;
mod ended_users;
mod secrecy;
mod server;

use client::CONFIG_MAPS;
use hyper::Method;
use serde_json::{Value, json};
use server::{Server, serve};
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Config map, as JSON.
pub(crate) fn config_map(name: &str, text: &str) -> String {
    let object =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"text": text}});
    object.to_string()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn the_greeting_shows_how_to_use_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let server = Server::start(&data);
    assert_eq!(
        server.greeting,
        format!("Serving the platform on https://{}; stop with Ctrl-C.\n", server.address)
    );
    let (status, rest, _) = server.terminate();
    assert!(status.success(), "{status}");
    let kubeconfig = data.join("kubeconfig");
    assert_eq!(
        rest,
        format!("\n    export KUBECONFIG={}\n    kubectl get workloads.score.dev\n", kubeconfig.display())
    );
}

/// First line of the next request.
fn next_request(connection: &mut BufReader<TcpStream>) -> String {
    let lines = connection.lines().map(Result::unwrap);
    let request: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
    request.first().cloned().unwrap_or_default()
}

#[test]
fn sigterm_ends_a_cluster_server_that_waits_for_a_response() {
    let folder = tempfile::tempdir().unwrap();
    let cluster = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", cluster.local_addr().unwrap());
    let kubeconfig = folder.path().join("kubeconfig");
    let config = json!({
        "clusters": [{"name": "silent", "cluster": {"server": url}}],
        "users": [{"name": "nobody", "user": {}}],
        "contexts": [{"name": "silent", "context": {"cluster": "silent", "user": "nobody"}}],
        "current-context": "silent",
    });
    fs::write(&kubeconfig, config.to_string()).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_orchestra"));
    let mut child = command.args(["serve", "--cluster", "--kubeconfig"]).arg(kubeconfig).spawn().unwrap();
    // It gets the version, and no response to the next request.
    let mut connection = BufReader::new(cluster.accept().unwrap().0);
    assert!(next_request(&mut connection).starts_with("GET /version "));
    let version = r#"{"major":"1","minor":"36","gitVersion":"v1.36.4","gitCommit":"","gitTreeState":"",
        "buildDate":"","goVersion":"","compiler":"","platform":""}"#;
    let response = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{version}",
        version.len()
    );
    connection.get_mut().write_all(response.as_bytes()).unwrap();
    assert!(next_request(&mut connection).starts_with("GET /api/"));
    Command::new("kill").arg(child.id().to_string()).status().unwrap();
    assert!(child.wait().unwrap().success());
}

#[test]
fn secret_files_are_readable_only_by_their_owner() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let _server = Server::start(&data);
    for (name, expected) in [
        ("", 0o700),
        ("pki", 0o700),
        ("pki/ca.pem", 0o600),
        ("pki/serving.pem", 0o600),
        ("pki/admin.pem", 0o600),
        ("kubeconfig", 0o600),
        ("objects.redb", 0o600),
        ("pki/encryption.key", 0o600),
        ("audit", 0o700),
        ("audit/audit.log", 0o600),
    ] {
        let mode = mode(&data.join(name));
        assert_eq!(mode, expected, "{name:?} has the mode {mode:o}");
    }
}

#[test]
fn a_second_server_names_the_process_that_holds_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let second = serve(folder.path(), "127.0.0.1:0").output().unwrap();
    assert_eq!(second.status.code(), Some(1));
    let error = String::from_utf8(second.stderr).unwrap();
    assert!(error.contains(&format!("in use by process {}", server.id())), "{error}");
    assert!(second.stdout.is_empty());
}

#[test]
fn a_port_in_use_is_named_with_the_remedy() {
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let server = Server::start(first.path());
    let refused = serve(second.path(), &server.address.to_string()).output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    let error = String::from_utf8(refused.stderr).unwrap();
    let expected = format!("cannot listen on {}: address already in use", server.address);
    assert!(error.contains(&expected) && error.contains("with --listen"), "{error}");
}

#[tokio::test]
async fn sigterm_ends_open_watches_and_the_server_in_time() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let mut watches = Vec::new();
    for _ in 0..20 {
        let connection = server.client().connect().await.unwrap();
        watches.push(connection.watch("timeoutSeconds=600").await.unwrap());
    }
    let mut idle = server.client().connect().await.unwrap();
    let (status, _) = idle.call(Method::POST, CONFIG_MAPS, config_map("seen", "")).await.unwrap();
    assert_eq!(status, 201);
    for watch in &mut watches {
        watch.wait_for("seen").await;
    }
    let (status, _, took) = tokio::task::spawn_blocking(|| server.terminate()).await.unwrap();
    assert!(status.success(), "{status}");
    assert!(took < Duration::from_secs(5), "it took {took:?}");
    for watch in &mut watches {
        assert_eq!(watch.next().await, None::<Value>, "the watch ends without an event");
    }
    let server = Server::start(folder.path());
    let mut connection = server.client().connect().await.unwrap();
    let (status, _) = connection.call(Method::GET, &format!("{CONFIG_MAPS}/seen"), "").await.unwrap();
    assert_eq!(status, 200);
}
