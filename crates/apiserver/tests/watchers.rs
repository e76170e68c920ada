//! Convergence: every watcher ends with the same state, however writers and watchers interleave.

use std::collections::BTreeMap;

use bytes::Bytes;
use orchestra_apiserver::{
    ledger::{Expected, Ledger, Options, WriteError},
    store::{Key, Memory, Revision},
};

const WRITERS: usize = 8;
const WRITES: usize = 200;
const WATCHERS: usize = 12;

type View = BTreeMap<Key, Bytes>;

/// Writes until enough writes have succeeded, each based on a fresh read.
async fn write(ledger: Ledger, writer: usize) {
    let mut done = 0;
    let mut turn = 0;
    while done < WRITES {
        turn += 1;
        let key = Key::new("things", "ns", &format!("name{}", (writer * 7 + turn * 3) % 10));
        let now = ledger.get(&key).map(|object| object.revision);
        let value = (turn % 5 != 0 || now.is_none()).then(|| Bytes::from(format!("{writer}-{turn}")));
        match ledger.write(key, now.map_or(Expected::Absent, Expected::At), value).await {
            Ok(_) => done += 1,
            Err(WriteError::Conflict(_)) => tokio::task::yield_now().await,
            Err(error) => panic!("{error}"),
        }
    }
}

/// Lists once, then follows events until the last change, and lists again after `410 Gone`.
async fn watch(
    ledger: Ledger,
    mut until: tokio::sync::watch::Receiver<Option<Revision>>,
) -> (View, Vec<Revision>) {
    let mut view = View::new();
    let mut seen = Vec::new();
    let mut at = None;
    loop {
        let Some(after) = at else {
            let listed = ledger.list("things", None, None, usize::MAX, None).unwrap();
            view = listed.objects.into_iter().map(|(key, object)| (key, object.value)).collect();
            at = Some(listed.revision);
            continue;
        };
        if *until.borrow() == Some(after) {
            return (view, seen);
        }
        match ledger.events(after, 7) {
            Err(_) => at = None,
            Ok(events) if events.is_empty() => {
                tokio::select! {
                    more = ledger.changed(after) => assert!(more),
                    told = until.changed() => told.unwrap(),
                }
            }
            Ok(events) => {
                for event in events {
                    assert_eq!(
                        event.previous,
                        view.get(&event.key).cloned(),
                        "an event was lost before {event:?}"
                    );
                    match &event.value {
                        Some(value) => drop(view.insert(event.key.clone(), value.clone())),
                        None => drop(view.remove(&event.key)),
                    }
                    seen.push(event.revision);
                    at = Some(event.revision);
                }
            }
        }
    }
}

async fn meet(options: Options) -> Vec<(View, Vec<Revision>)> {
    let ledger = Ledger::open(Memory, options).unwrap();
    let (end, until) = tokio::sync::watch::channel(None);
    let watchers: Vec<_> =
        (0..WATCHERS).map(|_| tokio::spawn(watch(ledger.clone(), until.clone()))).collect();
    let writers: Vec<_> = (0..WRITERS).map(|writer| tokio::spawn(write(ledger.clone(), writer))).collect();
    for writer in writers {
        writer.await.unwrap();
    }
    assert_eq!(ledger.revision(), Revision((WRITERS * WRITES) as u64), "every success is one change");
    end.send_replace(Some(ledger.revision()));
    let mut views = Vec::new();
    for watcher in watchers {
        views.push(watcher.await.unwrap());
    }
    let state = ledger.list("things", None, None, usize::MAX, None).unwrap();
    let state: View = state.objects.into_iter().map(|(key, object)| (key, object.value)).collect();
    for (view, _) in &views {
        assert_eq!(*view, state);
    }
    views
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn watchers_see_every_change_once_and_in_order() {
    for (_, seen) in meet(Options::default()).await {
        assert!(seen.windows(2).all(|pair| pair[1] == pair[0].next()), "a gap, or a change seen twice");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn expired_watchers_relist_and_miss_nothing() {
    meet(Options { events: 3, ..Options::default() }).await;
}
