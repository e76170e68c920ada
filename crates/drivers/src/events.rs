//! What a cluster tells about single objects. It is asked for where an object itself does not say why it is not as it
//! should be: everything that is told about everything would be too much to follow.

use k8s_openapi::api::core::v1::Event;
use kube::{Api, Client, api::ListParams};

/// What the cluster tells about an object; `None` if that cannot be had.
pub(crate) async fn told_about(client: Client, namespace: &str, uid: &str) -> Option<Vec<Event>> {
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
