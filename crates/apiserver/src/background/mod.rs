//! Background tasks, one for each controller of a cluster that this server replaces.

pub(crate) mod connections;
mod definitions;
mod garbage;
mod namespaces;
mod roles;
mod service_accounts;

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use axum::http::{Method, Request};
use futures_util::StreamExt as _;
use serde_json::{Value, json};

use crate::{
    access::{
        Permit,
        attributes::{Attributes, Target},
        policy,
    },
    api::Api,
    http::{query::Query, route::Resource},
    kinds::{Kind, builtin},
    ledger::Event,
    objects::lifecycle,
    status::Status,
    store::{Key, Object, Revision},
    stored_object::StoredObject,
    verbs::{Call, create, delete},
};

/// Namespaces of every cluster.
const NAMESPACES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

/// Delay before a retry.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);
/// Concurrent deletions.
const MAX_CONCURRENT_DELETIONS: usize = 64;

/// Creates the initial objects, and starts the tasks.
pub(crate) async fn start(api: &Api) -> Result<(), Status> {
    let registry = api.registry();
    if let Some(kind) = registry.find("", "v1", builtin::NAMESPACES) {
        for name in NAMESPACES {
            if api.read(kind, "", name).is_none() {
                let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
                with_call(api, kind, "", name, async |call| {
                    create::store_new(call, namespace, Some("kube-apiserver")).await.map(drop)
                })
                .await?;
            }
        }
    }
    roles::prepare(api).await?;
    tokio::spawn(run(api.clone()));
    Ok(())
}

/// Reacts to all changes, in order.
async fn run(api: Api) {
    let mut garbage = garbage::Collector::default();
    let mut cursor = Revision(0);
    // Work left over from before the start is enqueued as a change.
    let mut stale = true;
    let mut unfinished = false;
    loop {
        if stale {
            cursor = api.ledger().revision();
            garbage = garbage::Collector::index(&api);
            garbage.collect_all(&api).await;
            definitions::reconcile_all(&api).await;
            namespaces::empty_all(&api).await;
            roles::aggregate(&api).await;
            service_accounts::create_all(&api).await;
            stale = false;
            unfinished = false;
        }
        unfinished |= api.take_retry_request();
        match api.ledger().events(cursor, 256) {
            Err(_) => stale = true,
            Ok(events) if events.is_empty() => {
                tokio::select! {
                    () = tokio::time::sleep(RETRY_INTERVAL), if unfinished => stale = true,
                    more = api.ledger().changed(cursor) => if !more { return },
                    () = api.stopped() => return,
                }
            }
            Ok(events) => {
                let mut without_account = BTreeSet::new();
                for event in events {
                    cursor = event.revision;
                    react(&api, &mut garbage, &event).await;
                    without_account.extend(service_accounts::affected_namespace(&event).map(str::to_owned));
                }
                service_accounts::create_missing(&api, without_account).await;
            }
        }
    }
}

async fn react(api: &Api, garbage: &mut garbage::Collector, event: &Event) {
    garbage.follow(api, event).await;
    match &*event.key.resource {
        builtin::DEFINITIONS => {
            // The request may have been cancelled between its write and this.
            api.refresh();
            definitions::reconcile(api, &event.key.name).await;
        }
        builtin::NAMESPACES => namespaces::empty(api, &event.key.name).await,
        policy::CLUSTER_ROLES => roles::aggregate(api).await,
        _ => {
            if event.value.is_none() && !event.key.namespace.is_empty() {
                namespaces::empty(api, &event.key.namespace).await;
            }
            if event.value.is_none() {
                definitions::object_deleted(api, &event.key.resource).await;
            }
            if event.previous.is_none() {
                namespaces::delete_late_object(api, &event.key).await;
            }
        }
    }
}

/// Requests a retry after a temporary failure. A conflict needs none: the concurrent change is an event.
fn retry_on_failure<T>(api: &Api, done: Result<T, Status>) {
    if done.is_err_and(|status| status.code >= 429) {
        api.request_retry();
    }
}

/// Runs a part of the pipeline as the server itself.
async fn with_call<T>(
    api: &Api,
    kind: &Arc<Kind>,
    namespace: &str,
    name: &str,
    work: impl AsyncFnOnce(&Call<'_>) -> Result<T, Status>,
) -> Result<T, Status> {
    let target = Resource {
        kind: Arc::clone(kind),
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        subresource: String::new(),
    };
    let request = Request::builder().method(Method::POST).body(());
    let (parts, ()) = request.map_err(|error| Status::internal(error.to_string()))?.into_parts();
    let wanted = Attributes::new("*", Target::object(&kind.group, &kind.plural, "", namespace, name));
    let permit = Permit::of_server(wanted);
    let call = Call { api, permit, target, query: Query::default(), parts: &parts, now: api.clock().now() };
    work(&call).await
}

/// Deletes objects of a kind concurrently, so that they share syncs. Terminating ones are skipped.
async fn delete_all(api: &Api, kind: &Arc<Kind>, objects: &[(Key, Object)]) {
    let deletions = objects.iter().map(|(key, object)| async move {
        let object = StoredObject { revision: object.revision, bytes: &object.value }.object(kind);
        if !lifecycle::is_deleting(&object) {
            delete(api, kind, key, &object["metadata"]["uid"]).await;
        }
    });
    futures_util::stream::iter(deletions)
        .for_each_concurrent(MAX_CONCURRENT_DELETIONS, |deletion| deletion)
        .await;
}

/// Deletes an object, if it still has this uid, as a client would. Its finalizers decide about its dependents.
async fn delete(api: &Api, kind: &Arc<Kind>, key: &Key, uid: &Value) {
    delete_with(api, kind, key, &json!({"preconditions": {"uid": uid}})).await;
}

/// Deletes an object, with these options.
async fn delete_with(api: &Api, kind: &Arc<Kind>, key: &Key, options: &Value) {
    let body = crate::json::encode(options).into();
    let deleted = with_call(api, kind, &key.namespace, &key.name, async |call| {
        delete::delete(call, body).await.map(drop)
    })
    .await;
    retry_on_failure(api, deleted);
}
