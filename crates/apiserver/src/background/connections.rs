//! Connections of deleted service accounts: they are closed at once, also idle ones.

use orchestra_limits::Connections;

use crate::{
    access::{self, Caller},
    api::Api,
    ledger::Event,
};

/// Events that are read at a time.
const EVENT_BATCH: usize = 256;

/// Closes the connections of each service account that is deleted from now on, until the server stops. A task of its own: the
/// others may be busy.
pub(crate) async fn close_ended(api: Api, connections: Connections) {
    let mut cursor = api.ledger().revision();
    loop {
        match api.ledger().events(cursor, EVENT_BATCH) {
            // The events in between are dropped. Of an account that was deleted and created again, only the requests are refused.
            Err(_) => {
                cursor = api.ledger().revision();
                connections.close(|caller| {
                    let caller = Caller { name: caller.to_owned(), ..Caller::default() };
                    !access::is_account_alive(&api, &caller)
                });
            }
            Ok(events) if events.is_empty() => tokio::select! {
                more = api.ledger().changed(cursor) => if !more { return },
                () = api.stopped() => return,
            },
            Ok(events) => {
                cursor = events.last().map_or(cursor, |last| last.revision);
                close(&connections, &events);
            }
        }
    }
}

fn close(connections: &Connections, events: &[std::sync::Arc<Event>]) {
    let ended: Vec<String> = events.iter().filter_map(|event| access::ended_account(event)).collect();
    if !ended.is_empty() {
        connections.close(|caller| ended.iter().any(|ended| ended == caller));
    }
}
