//! Objects of an instance: applied, compared and deleted. Ours are labelled with the id of the instance; a foreign object of the
//! same name is not changed, but an error.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Mutex, PoisonError},
};

use kube::{
    Api, Client, Error, ResourceExt as _,
    api::{DeleteParams, ListParams, Patch, PatchParams, Preconditions},
    core::{ApiResource, DynamicObject, GroupVersionKind},
};
use orchestra_api::{Reason, label};
use orchestra_core::{
    Denied,
    denial::{Denial, NotFound, is_gone_or_replaced},
    observe::{
        kubernetes::{DesiredObject, LiveObject, ObjectAction},
        owned_fields::{self, FieldsHash},
    },
    provision::template::Item,
};
use serde_json::{Value as Json, json};

use super::unwatched;
use crate::{DriverError, api_error};

/// Field manager.
const MANAGER: &str = "score.dev/template";

/// Objects of a cluster.
pub(super) struct Objects {
    client: Client,
    /// Desired and stored hash of objects in which the server defaults or normalises fields, by uid.
    defaulted: Mutex<BTreeMap<String, (FieldsHash, Option<FieldsHash>)>>,
}

impl fmt::Debug for Objects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Objects")
    }
}

/// Owner of an object.
#[derive(Clone, Copy, Debug)]
pub(super) struct Owner<'a> {
    pub(super) namespace: &'a str,
    pub(super) instance: &'a str,
}

impl Owner<'_> {
    fn is_labelled(&self, object: &DynamicObject) -> bool {
        object.labels().get(label::INSTANCE).map(String::as_str) == Some(self.instance)
    }

    /// True if an object was created for the instance, and is managed.
    fn owns(&self, object: &DynamicObject) -> bool {
        let manager = object.labels().get(label::MANAGED_BY).map(String::as_str);
        self.is_labelled(object) && manager == Some(label::ORCHESTRA)
    }

    /// Label selector of the managed objects of the instance.
    pub(super) fn selector(&self) -> String {
        format!("{}={},{}={}", label::INSTANCE, self.instance, label::MANAGED_BY, label::ORCHESTRA)
    }
}

impl Objects {
    pub(super) fn new(client: Client) -> Self {
        Self { client, defaulted: Mutex::default() }
    }

    /// Applies an object, and returns the live one.
    pub(super) async fn apply(&self, owner: Owner<'_>, wanted: &Json) -> Result<Json, DriverError> {
        let item = Item::of(wanted);
        let api = self.api(owner.namespace, &item);
        let fields_hash = owned_fields::desired(wanted);
        let found = api.get_opt(&item.name).await.map_err(|error| driver_error(&item, error))?;
        let Some(found) = found else { return self.create(owner, &api, &item, wanted, fields_hash).await };
        let (is_owned, is_labelled) = (owner.owns(&found), owner.is_labelled(&found));
        let (uid, is_deleting) =
            (found.uid().unwrap_or_default(), found.metadata.deletion_timestamp.is_some());
        let (object, live_hash) = split_managed_fields(found);
        let live = LiveObject {
            owner: is_owned.then_some(owner.instance),
            is_deleting,
            is_current: live_hash == Some(fields_hash) || self.is_defaulted(&uid, fields_hash, live_hash),
            revision: None,
        };
        let desired = DesiredObject { owner: owner.instance, kind: &item.kind, revision: None };
        match ObjectAction::of(Some(live), &desired) {
            ObjectAction::ReportConflict if is_labelled => return Err(orphaned(&item)),
            ObjectAction::ReportConflict => return Err(name_conflict(&item)),
            ObjectAction::AwaitDeletion => return Err(being_deleted()),
            ObjectAction::Keep => return Ok(object),
            // Without revisions, an object is replaced only after its apply was denied.
            ObjectAction::Create | ObjectAction::Replace | ObjectAction::Apply => {}
        }
        let mut body = wanted.clone();
        body["metadata"]["uid"] = json!(uid);
        match api.patch(&item.name, &PatchParams::apply(MANAGER).force(), &Patch::Apply(&body)).await {
            Ok(answer) => Ok(self.record_defaulted(answer, fields_hash)),
            Err(Error::Api(status)) if desired.replaces_after(&status) => {
                self.delete(owner, &item).await?;
                Err(being_deleted())
            }
            Err(error) => Err(driver_error(&item, error)),
        }
    }

    /// Creates an object. Another client may create one of the same name concurrently: a conflict is retried, and the object is
    /// then read.
    async fn create(
        &self,
        owner: Owner<'_>,
        api: &Api<DynamicObject>,
        item: &Item,
        wanted: &Json,
        fields_hash: FieldsHash,
    ) -> Result<Json, DriverError> {
        let made = api.patch(&item.name, &PatchParams::apply(MANAGER), &Patch::Apply(wanted)).await;
        let made = made.map_err(|error| driver_error(item, error))?;
        let notes = made.metadata.managed_fields.iter().flatten();
        if notes.clone().any(|note| note.manager.as_deref() != Some(MANAGER)) {
            // A foreign object: our fields are removed from it.
            let nothing = json!({"apiVersion": item.api_version, "kind": item.kind,
                "metadata": {"name": item.name, "namespace": owner.namespace, "uid": made.uid()}});
            let back =
                api.patch(&item.name, &PatchParams::apply(MANAGER).force(), &Patch::Apply(&nothing)).await;
            back.map_err(|error| driver_error(item, error))?;
            return Err(name_conflict(item));
        }
        Ok(self.record_defaulted(made, fields_hash))
    }

    fn is_defaulted(&self, uid: &str, wanted: FieldsHash, live_hash: Option<FieldsHash>) -> bool {
        let defaulted = self.defaulted.lock().unwrap_or_else(PoisonError::into_inner);
        defaulted.get(uid) == Some(&(wanted, live_hash))
    }

    fn record_defaulted(&self, answer: DynamicObject, wanted: FieldsHash) -> Json {
        let uid = answer.uid().unwrap_or_default();
        let (live, live_hash) = split_managed_fields(answer);
        // Only objects with defaulted fields have to be recorded.
        let mut defaulted = self.defaulted.lock().unwrap_or_else(PoisonError::into_inner);
        if live_hash == Some(wanted) {
            defaulted.remove(&uid);
        } else {
            defaulted.insert(uid, (wanted, live_hash));
        }
        live
    }

    /// Deletes an object, if it is ours. Returns whether it still exists.
    pub(super) async fn delete(&self, owner: Owner<'_>, item: &Item) -> Result<bool, DriverError> {
        let api = self.api(owner.namespace, item);
        let found = match api.get_opt(&item.name).await {
            Ok(found) => found.filter(|found| owner.owns(found)),
            Err(error) if is_unknown_kind(&error) => None,
            Err(error) => return Err(driver_error(item, error)),
        };
        let Some(found) = found else { return Ok(false) };
        self.defaulted
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&found.uid().unwrap_or_default());
        if found.metadata.deletion_timestamp.is_some() {
            return Ok(true);
        }
        let this = Preconditions { uid: found.uid(), resource_version: None };
        let params = DeleteParams { preconditions: Some(this), ..DeleteParams::background() };
        match api.delete(&item.name, &params).await {
            Ok(answer) => Ok(answer.left().is_some_and(|left| !left.finalizers().is_empty())),
            // Deleted, or recreated by another client.
            Err(Error::Api(status)) if is_gone_or_replaced(&status) => Ok(false),
            Err(error) => Err(driver_error(item, error)),
        }
    }

    /// Orphans an object: it stays unchanged, with the label of its instance.
    pub(super) async fn orphan(&self, owner: Owner<'_>, item: &Item) -> Result<(), DriverError> {
        let api = self.api(owner.namespace, item);
        let found = match api.get_opt(&item.name).await {
            Ok(found) => found.filter(|found| owner.owns(found)),
            Err(error) if is_unknown_kind(&error) => None,
            Err(error) => return Err(driver_error(item, error)),
        };
        let Some(found) = found else { return Ok(()) };
        let patch = json!({"metadata": {"uid": found.uid(), "labels": {label::MANAGED_BY: null}}});
        match api.patch(&item.name, &PatchParams::default(), &Patch::Merge(&patch)).await {
            Ok(_) => Ok(()),
            Err(Error::Api(status)) if is_gone_or_replaced(&status) => Ok(()),
            Err(error) => Err(driver_error(item, error)),
        }
    }

    /// Objects of a kind that belong to an instance, by their labels.
    pub(super) async fn of(
        &self,
        owner: Owner<'_>,
        api_version: &str,
        kind: &str,
    ) -> Result<Vec<Item>, DriverError> {
        let named = |name| Item { api_version: api_version.to_owned(), kind: kind.to_owned(), name };
        let api = self.api(owner.namespace, &named(String::new()));
        match api.list_metadata(&ListParams::default().labels(&owner.selector())).await {
            Ok(found) => Ok(found.items.iter().map(|object| named(object.name_any())).collect()),
            Err(error) if is_unknown_kind(&error) => Ok(Vec::new()),
            Err(error) => Err(driver_error(&named(String::new()), error)),
        }
    }

    /// Pods of an instance.
    pub(super) async fn pods(&self, owner: Owner<'_>) -> Result<Vec<Json>, DriverError> {
        let pod = Item { api_version: "v1".to_owned(), kind: "Pod".to_owned(), name: String::new() };
        let labels = format!("{}={}", label::INSTANCE, owner.instance);
        let found = self.api(owner.namespace, &pod).list(&ListParams::default().labels(&labels)).await;
        let found = found.map_err(|error| driver_error(&pod, error))?;
        Ok(found.items.into_iter().map(|object| split_managed_fields(object).0).collect())
    }

    /// Deletes all Secrets of an instance, without reading them.
    pub(super) async fn delete_secrets(&self, owner: Owner<'_>) -> Result<(), DriverError> {
        let secret = Item { api_version: "v1".to_owned(), kind: "Secret".to_owned(), name: String::new() };
        let chosen = ListParams::default().labels(&owner.selector());
        let gone =
            self.api(owner.namespace, &secret).delete_collection(&DeleteParams::default(), &chosen).await;
        gone.map(|_| ()).map_err(|error| driver_error(&secret, error))
    }

    fn api(&self, namespace: &str, item: &Item) -> Api<DynamicObject> {
        let (group, version) = item.api_version.split_once('/').unwrap_or(("", &item.api_version));
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, &item.kind));
        Api::namespaced_with(self.client.clone(), namespace, &resource)
    }
}

/// Live object without managed fields, and the hash of the fields that we own.
fn split_managed_fields(object: DynamicObject) -> (Json, Option<FieldsHash>) {
    let DynamicObject { types, mut metadata, data: mut live } = object;
    let notes = metadata.managed_fields.take().unwrap_or_default();
    if let Some(live) = live.as_object_mut() {
        live.insert("metadata".to_owned(), serde_json::to_value(metadata).unwrap_or_default());
        if let Some(types) = types {
            live.insert("kind".to_owned(), json!(types.kind));
            live.insert("apiVersion".to_owned(), json!(types.api_version));
        }
    }
    let live_hash = owned_fields::owned(&live, &notes, MANAGER);
    (live, live_hash)
}

/// True if the kind of an object is not installed.
fn is_unknown_kind(error: &Error) -> bool {
    matches!(error, Error::Api(status) if NotFound::of(status) == Some(NotFound::Kind))
}

/// Error of a request about an object.
fn driver_error(item: &Item, error: Error) -> DriverError {
    let (status, source) = match api_error::answer(&item.kind, &item.name, error) {
        Ok(answer) => answer,
        Err(error) => return error,
    };
    if NotFound::of(&status) == Some(NotFound::Kind) {
        return unwatched(format!(
            "The kind `{}` is not installed on the cluster: the platform's administrators must install it.",
            item.kind
        ));
    }
    api_error::driver_error(&status, Reason::BindingPending, |denial, denied| {
        match denial {
        Denial::Invalid => Denied {
            reason: Reason::BindingFailed,
            message: if item.kind == api_error::SECRET {
                "The cluster refuses a secret of this resource as invalid: the platform's administrators must correct its template.".to_owned()
            } else {
                denied.message
            },
            cause: denied.cause,
        },
        Denial::Permission => Denied {
            message: "The orchestrator lacks the permission to create it: the platform's administrators must grant its role in this namespace.".to_owned(),
            ..denied
        },
        Denial::Terminating | Denial::Quota | Denial::Policy => denied,
    }
    })
    .with_source(source)
}

/// Error for an object of the instance that is no longer managed.
fn orphaned(item: &Item) -> DriverError {
    unwatched(format!(
        "`{}` was orphaned before (policy `Orphan`): delete it, or set its label `{}={}` again to have it managed.",
        item.name,
        label::MANAGED_BY,
        label::ORCHESTRA
    ))
}

/// Error for a foreign object of the same name.
fn name_conflict(item: &Item) -> DriverError {
    unwatched(format!(
        "{} named `{}` already exists in this namespace and is not managed by orchestra: rename or delete it.",
        api_error::noun(&item.kind),
        item.name
    ))
}

/// Error for a previous object that is still being deleted.
fn being_deleted() -> DriverError {
    DriverError::transient(Reason::BindingPending, "Waiting for the previous instance to be deleted.")
}

#[cfg(test)]
mod tests;
