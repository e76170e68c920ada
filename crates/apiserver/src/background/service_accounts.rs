//! Service account controller: every active namespace has the service account `default`.

use std::{collections::BTreeSet, sync::Arc};

use futures_util::StreamExt as _;
use serde_json::json;

use super::with_call;
use crate::{
    api::Api,
    kinds::{Kind, builtin},
    ledger::Event,
    objects::lifecycle,
    store::Key,
    verbs::create,
};

/// The service account of programs without one of their own.
const DEFAULT: &str = "default";
/// Concurrent writes.
const MAX_CONCURRENT_WRITES: usize = 256;

/// Namespace in which an event leaves no default service account: a new namespace, or that of a deleted account.
pub(super) fn affected_namespace(event: &Event) -> Option<&str> {
    let Event { key, value, previous, .. } = event;
    match &*key.resource {
        builtin::NAMESPACES if value.is_some() && previous.is_none() => Some(&key.name),
        builtin::SERVICE_ACCOUNTS if value.is_none() && &*key.name == DEFAULT => Some(&key.namespace),
        _ => None,
    }
}

/// Creates the missing accounts of all namespaces.
pub(super) async fn create_all(api: &Api) {
    let listed = api.ledger().list(builtin::NAMESPACES, None, None, usize::MAX, None);
    let namespaces = listed.map(|listed| listed.objects).unwrap_or_default();
    create_missing(api, namespaces.into_iter().map(|(key, _)| key.name.to_string()).collect()).await;
}

/// Creates the missing accounts of these namespaces, concurrently, so that they share syncs.
pub(super) async fn create_missing(api: &Api, namespaces: BTreeSet<String>) {
    let registry = api.registry();
    let find = |plural| registry.find("", "v1", plural);
    let (Some(parents), Some(kind)) = (find(builtin::NAMESPACES), find(builtin::SERVICE_ACCOUNTS)) else {
        return;
    };
    futures_util::stream::iter(namespaces)
        .for_each_concurrent(MAX_CONCURRENT_WRITES, |namespace| async move {
            create_one(api, parents, kind, &namespace).await;
        })
        .await;
}

async fn create_one(api: &Api, parents: &Kind, kind: &Arc<Kind>, namespace: &str) {
    let is_active = api.read(parents, "", namespace).is_some_and(|parent| !lifecycle::is_deleting(&parent));
    if !is_active || api.ledger().get(&Key::new(&kind.resource, namespace, DEFAULT)).is_some() {
        return;
    }
    let account = json!({
        "apiVersion": kind.api_version(), "kind": kind.kind,
        "metadata": {"name": DEFAULT, "namespace": namespace},
    });
    let created = with_call(api, kind, namespace, DEFAULT, async |call| {
        create::store_new(call, account, Some("kube-controller-manager")).await.map(drop)
    })
    .await;
    super::retry_on_failure(api, created);
}
