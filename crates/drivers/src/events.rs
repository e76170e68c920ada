//! Events of single objects of a cluster. They are queried only where an object itself does not have the cause: a watch of all
//! events would be too much.

use k8s_openapi::api::core::v1::Event;
use kube::{Api, Client, api::ListParams};

/// Events of an object; `None` if they cannot be read.
pub(crate) async fn events_of(client: Client, namespace: &str, uid: &str) -> Option<Vec<Event>> {
    let api: Api<Event> = Api::namespaced(client, namespace);
    let about = ListParams::default().fields(&format!("involvedObject.uid={uid}")).limit(100);
    match api.list(&about).await {
        Ok(events) => Some(events.items),
        Err(error) => {
            tracing::debug!("events cannot be read: {error}");
            None
        }
    }
}
