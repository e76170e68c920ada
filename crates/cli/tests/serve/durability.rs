//! Acknowledged writes survive `kill -9`, and no resourceVersion is used twice.

use crate::serve::client::{CONFIG_MAPS, Client};
use crate::serve::server::{Server, serve};
use hyper::Method;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::task::JoinSet;

const WRITERS: usize = 4;
const NAMES: usize = 5;

/// Text and version of an object; `None` if it is deleted.
type State = Option<(String, u64)>;

/// Journal of the writers, outside the server.
#[derive(Default)]
struct Journal {
    /// Last acknowledged state of each object.
    acknowledged: BTreeMap<String, State>,
    /// Text (or deletion) that was sent and not acknowledged.
    pending: BTreeMap<String, Option<String>>,
    /// Object and text of each version.
    versions: BTreeMap<u64, (String, String)>,
}

impl Journal {
    fn record_version(&mut self, version: u64, name: &str, text: &str) {
        let given = (name.to_owned(), text.to_owned());
        let before = self.versions.entry(version).or_insert_with(|| given.clone());
        assert_eq!(*before, given, "resourceVersion {version} was used twice");
    }

    fn acknowledge(&mut self, name: &str, state: State) {
        if let Some((text, version)) = &state {
            self.record_version(*version, name, text);
        }
        self.pending.remove(name);
        self.acknowledged.insert(name.to_owned(), state);
    }

    /// Compares the journal with the objects after a restart.
    fn check(&mut self, found: &BTreeMap<String, (String, u64)>) {
        for (name, acknowledged) in &mut self.acknowledged {
            let found = found.get(name);
            if found == acknowledged.as_ref() {
                continue;
            }
            let pending = self.pending.get(name);
            let is_pending = pending.is_some_and(|text| text.as_ref() == found.map(|(text, _)| text));
            let is_later = found.zip(acknowledged.as_ref()).is_none_or(|(found, before)| found.1 > before.1);
            assert!(
                is_pending && is_later,
                "{name} was acknowledged as {acknowledged:?}, {pending:?} was pending, but found is {found:?}"
            );
            *acknowledged = found.cloned();
        }
        self.pending.clear();
        for (name, (text, version)) in found {
            self.record_version(*version, name, text);
        }
        let newest = self.versions.keys().next_back().copied();
        assert!(found.values().all(|(_, version)| Some(*version) <= newest));
    }
}

fn version(object: &Value) -> u64 {
    object["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap()
}

/// Creates, changes and deletes its own objects until the server is gone.
async fn keep_writing(
    writer: usize,
    life: u64,
    client: Client,
    journal: Arc<Mutex<Journal>>,
    count: Arc<AtomicUsize>,
) {
    let Ok(mut connection) = client.connect().await else { return };
    for turn in 0.. {
        let name = format!("w{writer}-{}", turn % NAMES);
        let path = format!("{CONFIG_MAPS}/{name}");
        let is_there = journal.lock().unwrap().acknowledged.get(&name).is_some_and(Option::is_some);
        let text = format!("{life}-{turn}");
        let object = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"text": text},
        });
        let (method, path, body, sent) = match (is_there, turn % 7) {
            (false, _) => (Method::POST, CONFIG_MAPS, object.to_string(), Some(text)),
            (true, 3) => (Method::DELETE, path.as_str(), String::new(), None),
            (true, _) => (Method::PUT, path.as_str(), object.to_string(), Some(text)),
        };
        {
            let mut journal = journal.lock().unwrap();
            journal.acknowledged.entry(name.clone()).or_default();
            journal.pending.insert(name.clone(), sent.clone());
        }
        let Ok((status, answer)) = connection.call(method, path, body).await else { return };
        assert!(matches!(status, 200 | 201), "{status} {answer}");
        journal.lock().unwrap().acknowledge(&name, sent.map(|text| (text, version(&answer))));
        count.fetch_add(1, Ordering::Relaxed);
    }
}

/// Records the version of every event, including deletions, until the server is gone.
async fn keep_watching(client: Client, journal: Arc<Mutex<Journal>>) {
    let Ok(connection) = client.connect().await else { return };
    let Ok(mut watch) = connection.watch("").await else { return };
    while let Some(event) = watch.next().await {
        let object = &event["object"];
        let name = object["metadata"]["name"].as_str().unwrap();
        if let Some(text) = object["data"]["text"].as_str() {
            let text = if event["type"] == "DELETED" { "removed" } else { text };
            journal.lock().unwrap().record_version(version(object), name, text);
        }
    }
}

async fn objects(client: &Client) -> BTreeMap<String, (String, u64)> {
    let mut connection = client.connect().await.unwrap();
    let (status, list) = connection.call(Method::GET, CONFIG_MAPS, "").await.unwrap();
    assert_eq!(status, 200, "{list}");
    let items = list["items"].as_array().unwrap().iter();
    items
        .filter_map(|object| {
            let text = object["data"]["text"].as_str()?.to_owned();
            Some((object["metadata"]["name"].as_str()?.to_owned(), (text, version(object))))
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn acknowledged_writes_survive_kill_9_and_versions_are_never_used_twice() {
    let kills: u64 = std::env::var("ORCHESTRA_TEST_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(5);
    let folder = tempfile::tempdir().unwrap();
    let journal = Arc::new(Mutex::new(Journal::default()));
    for life in 0..kills {
        let server = Server::start(folder.path());
        let client = server.client();
        let found = objects(&client).await;
        journal.lock().unwrap().check(&found);
        let count = Arc::new(AtomicUsize::new(0));
        let mut clients = JoinSet::new();
        clients.spawn(keep_watching(client.clone(), Arc::clone(&journal)));
        for writer in 0..WRITERS {
            clients.spawn(keep_writing(
                writer,
                life,
                client.clone(),
                Arc::clone(&journal),
                Arc::clone(&count),
            ));
        }
        // A different number of writes each time; the kill then hits any moment of the next ones.
        let wanted = 20 + usize::try_from(life * 37 % 150).unwrap();
        while count.load(Ordering::Relaxed) < wanted {
            tokio::time::sleep(Duration::from_micros(300)).await;
            assert!(clients.len() > WRITERS, "a client has failed");
            if let Some(ended) = clients.try_join_next() {
                ended.unwrap();
                panic!("a client ended before the server");
            }
        }
        server.kill();
        while let Some(ended) = clients.join_next().await {
            ended.unwrap();
        }
        // A kill during the start must be safe, too.
        let mut starting = serve(folder.path(), "127.0.0.1:0").stdout(Stdio::null()).spawn().unwrap();
        tokio::time::sleep(Duration::from_millis(life * 7 % 50)).await;
        starting.kill().unwrap();
        starting.wait().unwrap();
    }
    let server = Server::start(folder.path());
    let found = objects(&server.client()).await;
    journal.lock().unwrap().check(&found);
    let writes = journal.lock().unwrap().versions.len();
    assert!(writes > 0, "{kills} kills met no write");
}

#[test]
fn a_first_start_can_be_killed_at_any_moment() {
    for moment in 0..25 {
        let folder = tempfile::tempdir().unwrap();
        let mut starting = serve(folder.path(), "127.0.0.1:0").stdout(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(moment * 2));
        starting.kill().unwrap();
        starting.wait().unwrap();
        // This panics if the server does not start.
        Server::start(folder.path()).kill();
    }
}
