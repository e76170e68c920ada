//! Acknowledged writes survive `kill -9`, and no revision is used twice.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
};

use bytes::Bytes;
use orchestra_apiserver::{
    ledger::{Expected, Ledger, Options},
    store::{Folder, Key, Redb, Revision, Store},
};

fn open(path: &Path) -> Ledger {
    Ledger::open(Redb::open(Folder::hold(path).unwrap()).unwrap(), Options::default()).unwrap()
}

/// Child process: four writers that never stop, and a line per acknowledged write.
#[test]
#[ignore = "run by the other test, as a process that is killed"]
fn child() {
    let path = std::env::var("ORCHESTRA_TEST_FOLDER").unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let ledger = open(Path::new(&path));
    runtime.block_on(async {
        let writers: Vec<_> = (0..4)
            .map(|writer| {
                let ledger = ledger.clone();
                tokio::spawn(async move {
                    for turn in 0.. {
                        // Half of them are encrypted.
                        let resource = if writer % 2 == 0 { "secrets" } else { "things" };
                        let key = Key::new(resource, "", &format!("w{writer}-{}", turn % 5));
                        let now =
                            ledger.get(&key).map_or(Expected::Absent, |object| Expected::At(object.revision));
                        let value = (turn % 7 != 3 || now == Expected::Absent)
                            .then(|| Bytes::from(format!("{turn}")));
                        let shown = value
                            .as_ref()
                            .map_or("-".to_owned(), |value| String::from_utf8_lossy(value).into_owned());
                        if let Ok(revision) = ledger.write(key.clone(), now, value).await {
                            println!("ack {} {shown} {revision}", key.name);
                        }
                    }
                })
            })
            .collect();
        for writer in writers {
            let _ = writer.await;
        }
    });
}

#[test]
fn acknowledged_writes_survive_kill_9_and_revisions_are_never_used_twice() {
    let kills: u64 = std::env::var("ORCHESTRA_TEST_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(10);
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("data");
    // The last acknowledged write of each key: its content (none if removed) and revision.
    let mut journal: BTreeMap<String, (String, u64)> = BTreeMap::new();
    let mut by_revision: BTreeMap<u64, String> = BTreeMap::new();
    for kill in 0..kills {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "durability::child", "--ignored", "--nocapture"])
            .env("ORCHESTRA_TEST_FOLDER", &path)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        // A different number of writes each time.
        let wanted = 20 + (kill * 37) % 150;
        let mut killed = false;
        let mut count = 0;
        for line in lines {
            let Some(ack) = line.split_once("ack ").map(|(_, ack)| ack) else { continue };
            let [name, value, revision] = ack.split(' ').collect::<Vec<_>>()[..] else { continue };
            let Ok(revision) = revision.parse::<u64>() else { continue };
            let line = format!("{name} {value}");
            assert_eq!(
                by_revision.insert(revision, line.clone()),
                None,
                "revision {revision} was used twice: {line}"
            );
            let held = journal.entry(name.to_owned()).or_default();
            if held.1 < revision {
                *held = (value.to_owned(), revision);
            }
            count += 1;
            if count >= wanted && !killed {
                child.kill().unwrap();
                killed = true;
            }
        }
        child.wait().unwrap();
        assert!(killed, "the child ended by itself");
        let contents = Redb::open(Folder::hold(&path).unwrap()).unwrap().load().unwrap();
        let last = by_revision.keys().next_back().copied().unwrap_or(0);
        assert!(
            contents.revision >= Revision(last),
            "revision {last} was acknowledged, the store is at {}",
            contents.revision
        );
        let found: BTreeMap<_, _> =
            contents.objects.into_iter().map(|(key, object)| (key.name.to_string(), object)).collect();
        // Each writer has at most one write in flight, which may be stored without its line being read.
        let mut unheard: BTreeMap<&str, u32> = BTreeMap::new();
        for (name, (value, revision)) in &journal {
            let object = found.get(name);
            let as_acknowledged = match object {
                Some(object) => object.revision.0 == *revision && object.value == value.as_bytes(),
                None => value == "-",
            };
            if !as_acknowledged {
                assert!(
                    object.is_none_or(|object| object.revision.0 > *revision),
                    "{name} went back to {object:?}"
                );
                let writer = name.split('-').next().unwrap();
                *unheard.entry(writer).or_default() += 1;
            }
        }
        assert!(unheard.values().all(|count| *count <= 1), "acknowledged writes are lost: {unheard:?}");
    }
    println!("{kills} kills, {} acknowledged writes, 0 lost", by_revision.len());
}

#[test]
fn a_store_of_a_newer_format_is_refused_and_unchanged() {
    use redb::{Database, TableDefinition};
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("objects.redb");
    drop(Redb::open(Folder::hold(place.path()).unwrap()).unwrap());
    {
        let database = Database::create(&path).unwrap();
        let write = database.begin_write().unwrap();
        write.open_table(TableDefinition::<&str, u64>::new("facts")).unwrap().insert("format", 99).unwrap();
        write.commit().unwrap();
    }
    let before = std::fs::read(&path).unwrap();
    let error = Redb::open(Folder::hold(place.path()).unwrap()).unwrap_err().to_string();
    assert!(error.contains("format 99") && error.contains("newer program"), "{error}");
    let after = std::fs::read(&path).unwrap();
    assert_eq!(before, after, "the file was written to");
}

#[test]
fn a_damaged_store_is_refused_with_a_remedy_and_unchanged() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("objects.redb");
    std::fs::write(&path, b"this is no store, but somebody may want it").unwrap();
    let error = Redb::open(Folder::hold(place.path()).unwrap()).unwrap_err().to_string();
    assert!(error.contains("move it away"), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), b"this is no store, but somebody may want it");
}
