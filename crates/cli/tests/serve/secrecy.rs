//! Secrets on the disk, their keys, and the audit log.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use base64::{Engine, engine::general_purpose::STANDARD};
use hyper::Method;
use serde_json::{Value, json};

use crate::serve::{
    client::{CONFIG_MAPS, Connection},
    config_map,
    server::{Server, serve},
};

const CANARY: &str = "canary-5up3r-s3cr3t";
const SECRETS: &str = "/api/v1/namespaces/default/secrets";

/// Files below a folder that contain the canary, plain or in base64.
fn files_with_canary(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files_with_canary(&path));
            continue;
        }
        let content = fs::read(&path).unwrap();
        for text in [CANARY.to_owned(), STANDARD.encode(CANARY)] {
            if content.windows(text.len()).any(|window| window == text.as_bytes()) {
                found.push(path.clone());
            }
        }
    }
    found
}

fn secret(name: &str) -> String {
    let (data, plain) = (json!({"a": STANDARD.encode(CANARY)}), json!({"b": CANARY}));
    json!({"metadata": {"name": name}, "data": data, "stringData": plain}).to_string()
}

async fn call(connection: &mut Connection, method: Method, path: &str, body: String) -> Value {
    let (status, answer) = connection.call(method, path, body).await.unwrap();
    assert!((200..300).contains(&status), "{status} {answer}");
    answer
}

async fn value(server: &Server, name: &str) -> String {
    let mut connection = server.client().connect().await.unwrap();
    let object = call(&mut connection, Method::GET, &format!("{SECRETS}/{name}"), String::new()).await;
    String::from_utf8(STANDARD.decode(object["data"]["b"].as_str().unwrap()).unwrap()).unwrap()
}

fn audit_log(data: &Path) -> String {
    fs::read_to_string(data.join("audit/audit.log")).unwrap()
}

#[tokio::test]
async fn no_file_of_the_data_folder_has_the_value_of_a_secret() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let mut connection = server.client().connect().await.unwrap();
    call(&mut connection, Method::POST, CONFIG_MAPS, config_map("control", CANARY)).await;
    assert_eq!(files_with_canary(folder.path()), [folder.path().join("objects.redb")], "it would be found");
    call(&mut connection, Method::PUT, &format!("{CONFIG_MAPS}/control"), config_map("control", "")).await;
    server.kill();
    drop(connection);

    // Free pages keep the config map, so that the search starts with a new folder.
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let mut connection = server.client().connect().await.unwrap();
    let one = format!("{SECRETS}/one");
    call(&mut connection, Method::POST, SECRETS, secret("one")).await;
    call(&mut connection, Method::POST, SECRETS, secret("two")).await;
    assert_eq!(files_with_canary(folder.path()), Vec::<PathBuf>::new(), "after a create");
    let changed = secret("one").replace(CANARY, &format!("{CANARY}-2"));
    call(&mut connection, Method::PUT, &one, changed).await;
    call(&mut connection, Method::DELETE, &format!("{SECRETS}/two"), String::new()).await;
    assert_eq!(files_with_canary(folder.path()), Vec::<PathBuf>::new(), "after an update and a deletion");
    server.kill();
    let server = Server::start(folder.path());
    assert_eq!(value(&server, "one").await, format!("{CANARY}-2"));
    server.terminate();
    assert_eq!(files_with_canary(folder.path()), Vec::<PathBuf>::new(), "after a kill and a restart");
}

/// Commands of the documentation for a rotation: before and after the restart.
fn documented_rotation() -> (String, String) {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/embedded-api.md");
    let page = fs::read_to_string(page).unwrap();
    let block = page.split("```sh\n").find(|block| block.starts_with("cd data/pki\n")).unwrap();
    let lines: Vec<&str> = block.split("```").next().unwrap().lines().skip(1).collect();
    (lines[..2].join("\n"), lines[2..].join("\n"))
}

fn run(data: &Path, commands: &str) {
    let shell = Command::new("sh").args(["-ec", commands]).current_dir(data.join("pki")).status().unwrap();
    assert!(shell.success());
}

#[tokio::test]
async fn the_documented_rotation_replaces_the_key() {
    let (add, remove) = documented_rotation();
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("pki/encryption.key");
    let server = Server::start(folder.path());
    let mut connection = server.client().connect().await.unwrap();
    call(&mut connection, Method::POST, SECRETS, secret("one")).await;
    server.terminate();
    let old = fs::read_to_string(&key).unwrap();
    run(folder.path(), &add);
    let server = Server::start(folder.path());
    run(folder.path(), &remove);
    server.terminate();
    let new = fs::read_to_string(&key).unwrap();
    assert_eq!(new.lines().count(), 1);
    let server = Server::start(folder.path());
    assert_eq!(value(&server, "one").await, CANARY);
    server.terminate();
    assert_eq!(files_with_canary(folder.path()), Vec::<PathBuf>::new());

    // The old key alone is refused, and everything stays as it is.
    fs::write(&key, &old).unwrap();
    let before = fs::read(folder.path().join("objects.redb")).unwrap();
    let refused = serve(folder.path(), "127.0.0.1:0").output().unwrap();
    let error = String::from_utf8(refused.stderr).unwrap();
    let old_name = old.lines().last().unwrap().split(' ').next().unwrap();
    assert_eq!(refused.status.code(), Some(1), "{error}");
    assert!(error.contains("pki/encryption.key") && error.contains(old_name), "{error}");
    assert!(error.contains("add the line of the missing key"), "{error}");
    assert!(fs::read(folder.path().join("objects.redb")).unwrap() == before);
    fs::write(&key, &new).unwrap();
    Server::start(folder.path()).terminate();
}

#[tokio::test]
async fn a_key_elsewhere_is_not_in_the_data_folder() {
    let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let key = elsewhere.path().join("keys");
    let with_key = || {
        let mut command = serve(folder.path(), "127.0.0.1:0");
        command.env("ORCHESTRA_ENCRYPTION_KEY_FILE", &key);
        command
    };
    let refused = with_key().output().unwrap();
    let error = String::from_utf8(refused.stderr).unwrap();
    assert!(error.contains("does not exist") && error.contains("openssl rand -base64 32"), "{error}");
    run_in(elsewhere.path(), "umask 077; head -c 32 /dev/urandom | base64 >keys");
    let server = Server::run(with_key(), folder.path());
    let mut connection = server.client().connect().await.unwrap();
    call(&mut connection, Method::POST, SECRETS, secret("one")).await;
    server.terminate();
    assert!(!folder.path().join("pki/encryption.key").exists());
    let server = Server::run(with_key(), folder.path());
    assert_eq!(value(&server, "one").await, CANARY);
}

fn run_in(folder: &Path, commands: &str) {
    assert!(Command::new("sh").args(["-ec", commands]).current_dir(folder).status().unwrap().success());
}

#[tokio::test]
async fn both_servers_of_the_platform_write_one_audit_log() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let mut connection = server.client().connect().await.unwrap();
    call(&mut connection, Method::POST, SECRETS, secret("one")).await;
    let explain = "/orchestra/v1/namespaces/default/workloads/web/explain";
    let (status, _) = connection.call(Method::GET, explain, "").await.unwrap();
    assert_eq!(status, 404);
    let (status, metrics) = connection.call(Method::GET, "/orchestra/metrics", "").await.unwrap();
    assert_eq!(status, 200);
    assert!(metrics.as_str().unwrap().contains("\norchestra_audit_lost_events_total 0\n"), "{metrics}");
    server.terminate();
    let log = audit_log(folder.path());
    let events: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let summary: Vec<String> = events
        .iter()
        .map(|event| {
            let object = &event["objectRef"];
            let source = &event["sourceIPs"][0];
            let part = |name: &str| object[name].as_str().unwrap_or("-").to_owned();
            let code = &event["responseStatus"]["code"];
            let user = event["user"]["username"].as_str().unwrap();
            let verb = event["verb"].as_str().unwrap();
            format!(
                "{user} {source} {verb} {} {} {} {code}",
                part("resource"),
                part("subresource"),
                part("name")
            )
        })
        .collect();
    let (created, explained) =
        (r#"admin "127.0.0.1" create secrets - one 201"#, r#"admin "127.0.0.1" get workloads plan web 404"#);
    assert_eq!(summary, [created, explained]);
}

#[tokio::test]
async fn written_events_survive_kill_9() {
    let folder = tempfile::tempdir().unwrap();
    for life in 0..3 {
        let server = Server::start(folder.path());
        let mut connection = server.client().connect().await.unwrap();
        let name = format!("life-{life}");
        call(&mut connection, Method::POST, CONFIG_MAPS, config_map(&name, "")).await;
        while !audit_log(folder.path()).contains(&name) {
            tokio::task::yield_now().await;
        }
        server.kill();
    }
    let log = audit_log(folder.path());
    let events: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let names: Vec<&str> = events.iter().map(|event| event["objectRef"]["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["life-0", "life-1", "life-2"]);
}

#[test]
fn a_link_as_audit_log_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (log, target) = (folder.path().join("log"), folder.path().join("target"));
    fs::write(&target, "precious").unwrap();
    symlink(&target, &log).unwrap();
    let mut command = serve(&folder.path().join("data"), "127.0.0.1:0");
    let refused = command.arg("--audit-log").arg(&log).stdin(Stdio::null()).output().unwrap();
    let error = String::from_utf8(refused.stderr).unwrap();
    assert!(error.contains(&format!("cannot open the audit log {}", log.display())), "{error}");
    assert!(error.contains("symbolic link"), "{error}");
    assert_eq!(fs::read_to_string(&target).unwrap(), "precious");
}
