//! The objects of an instance: made, compared, and taken away. What is ours bears the identity of the instance; anything
//! else of the same name is left alone, and told.

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
    denial::Denial,
    observe::owned::{self, Mark},
    provision::template::Item,
};
use serde_json::{Value as Json, json};

use super::refused;
use crate::DriverError;

/// The name under which fields are owned.
const MANAGER: &str = "score.dev/template";

/// The objects of a cluster.
pub(super) struct Objects {
    client: Client,
    /// What was wanted of objects when they were last sent, and what we owned of them then, by uid: not everything comes
    /// back as it was sent.
    agreed: Mutex<BTreeMap<String, (Mark, Option<Mark>)>>,
}

impl fmt::Debug for Objects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Objects")
    }
}

/// Whose an object is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Owner<'a> {
    pub(super) namespace: &'a str,
    pub(super) instance: &'a str,
}

impl Owner<'_> {
    fn bears(&self, object: &DynamicObject) -> bool {
        object.labels().get(label::INSTANCE).map(String::as_str) == Some(self.instance)
    }

    /// Whether an object was made for the instance, and is looked after.
    fn owns(&self, object: &DynamicObject) -> bool {
        let manager = object.labels().get(label::MANAGED_BY).map(String::as_str);
        self.bears(object) && manager == Some(label::ORCHESTRA)
    }

    /// The labels of what was made for the instance.
    pub(super) fn selector(&self) -> String {
        format!("{}={},{}={}", label::INSTANCE, self.instance, label::MANAGED_BY, label::ORCHESTRA)
    }
}

impl Objects {
    pub(super) fn new(client: Client) -> Self {
        Self { client, agreed: Mutex::default() }
    }

    /// Makes an object be as it is wanted, and answers with what the cluster says of it.
    pub(super) async fn settle(&self, owner: Owner<'_>, wanted: &Json) -> Result<Json, DriverError> {
        let item = Item::of(wanted);
        let api = self.api(owner.namespace, &item);
        let mark = owned::wanted(wanted);
        let found = api.get_opt(&item.name).await.map_err(|error| refusal(&item, &error))?;
        let Some(found) = found else { return self.make(owner, &api, &item, wanted, mark).await };
        if !owner.owns(&found) {
            return Err(foreign(owner, &item, &found));
        }
        if found.metadata.deletion_timestamp.is_some() {
            return Err(leaving());
        }
        let uid = found.uid().unwrap_or_default();
        let (live, held) = apart(found);
        if held == Some(mark) || self.is_agreed(&uid, mark, held) {
            return Ok(live);
        }
        let mut body = wanted.clone();
        body["metadata"]["uid"] = json!(uid);
        match api.patch(&item.name, &PatchParams::apply(MANAGER).force(), &Patch::Apply(&body)).await {
            Ok(answer) => Ok(self.agree(answer, mark)),
            // What was prepared before cannot be changed, only prepared again.
            Err(Error::Api(status)) if status.code == 422 && item.kind == "Job" => {
                self.delete(owner, &item).await?;
                Err(leaving())
            }
            Err(error) => Err(refusal(&item, &error)),
        }
    }

    /// Makes an object where there was none. Somebody may have been faster.
    async fn make(
        &self,
        owner: Owner<'_>,
        api: &Api<DynamicObject>,
        item: &Item,
        wanted: &Json,
        mark: Mark,
    ) -> Result<Json, DriverError> {
        let made = api.patch(&item.name, &PatchParams::apply(MANAGER), &Patch::Apply(wanted)).await;
        let made = made.map_err(|error| match &error {
            Error::Api(status) if status.code == 409 => taken(item),
            _ => refusal(item, &error),
        })?;
        let notes = made.metadata.managed_fields.iter().flatten();
        if notes.clone().any(|note| note.manager.as_deref() != Some(MANAGER)) {
            // It is another's: what was added to it is taken back.
            let nothing = json!({"apiVersion": item.api_version, "kind": item.kind,
                "metadata": {"name": item.name, "namespace": owner.namespace, "uid": made.uid()}});
            let back =
                api.patch(&item.name, &PatchParams::apply(MANAGER).force(), &Patch::Apply(&nothing)).await;
            back.map_err(|error| refusal(item, &error))?;
            return Err(taken(item));
        }
        Ok(self.agree(made, mark))
    }

    fn is_agreed(&self, uid: &str, wanted: Mark, held: Option<Mark>) -> bool {
        let agreed = self.agreed.lock().unwrap_or_else(PoisonError::into_inner);
        agreed.get(uid) == Some(&(wanted, held))
    }

    fn agree(&self, answer: DynamicObject, wanted: Mark) -> Json {
        let uid = answer.uid().unwrap_or_default();
        let (live, held) = apart(answer);
        // Only what does not come back as it was sent has to be remembered.
        let mut agreed = self.agreed.lock().unwrap_or_else(PoisonError::into_inner);
        if held == Some(wanted) {
            agreed.remove(&uid);
        } else {
            agreed.insert(uid, (wanted, held));
        }
        live
    }

    /// Deletes an object, if it is ours. Answers whether it is still there.
    pub(super) async fn delete(&self, owner: Owner<'_>, item: &Item) -> Result<bool, DriverError> {
        let api = self.api(owner.namespace, item);
        let found = match api.get_opt(&item.name).await {
            Ok(found) => found.filter(|found| owner.owns(found)),
            Err(error) if is_unknown_kind(&error) => None,
            Err(error) => return Err(refusal(item, &error)),
        };
        let Some(found) = found else { return Ok(false) };
        self.agreed.lock().unwrap_or_else(PoisonError::into_inner).remove(&found.uid().unwrap_or_default());
        if found.metadata.deletion_timestamp.is_some() {
            return Ok(true);
        }
        let this = Preconditions { uid: found.uid(), resource_version: None };
        let params = DeleteParams { preconditions: Some(this), ..DeleteParams::background() };
        match api.delete(&item.name, &params).await {
            Ok(answer) => Ok(answer.left().is_some_and(|left| !left.finalizers().is_empty())),
            // Gone, or another one by now.
            Err(Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(false),
            Err(error) => Err(refusal(item, &error)),
        }
    }

    /// Stops looking after an object: it stays as it is, and says whose it was.
    pub(super) async fn let_go(&self, owner: Owner<'_>, item: &Item) -> Result<(), DriverError> {
        let api = self.api(owner.namespace, item);
        let found = match api.get_opt(&item.name).await {
            Ok(found) => found.filter(|found| owner.owns(found)),
            Err(error) if is_unknown_kind(&error) => None,
            Err(error) => return Err(refusal(item, &error)),
        };
        let Some(found) = found else { return Ok(()) };
        let patch = json!({"metadata": {"uid": found.uid(), "labels": {label::MANAGED_BY: null}}});
        match api.patch(&item.name, &PatchParams::default(), &Patch::Merge(&patch)).await {
            Ok(_) => Ok(()),
            Err(Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(()),
            Err(error) => Err(refusal(item, &error)),
        }
    }

    /// What there is of a kind for an instance, by its labels.
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
            Err(error) => Err(refusal(&named(String::new()), &error)),
        }
    }

    /// What runs for an instance, whole.
    pub(super) async fn pods(&self, owner: Owner<'_>) -> Result<Vec<Json>, DriverError> {
        let pod = Item { api_version: "v1".to_owned(), kind: "Pod".to_owned(), name: String::new() };
        let labels = format!("{}={}", label::INSTANCE, owner.instance);
        let found = self.api(owner.namespace, &pod).list(&ListParams::default().labels(&labels)).await;
        let found = found.map_err(|error| refusal(&pod, &error))?;
        Ok(found.items.into_iter().map(|object| apart(object).0).collect())
    }

    /// Removes all Secrets of an instance. They are neither listed nor read for it.
    pub(super) async fn forget_secrets(&self, owner: Owner<'_>) -> Result<(), DriverError> {
        let secret = Item { api_version: "v1".to_owned(), kind: "Secret".to_owned(), name: String::new() };
        let chosen = ListParams::default().labels(&owner.selector());
        let gone =
            self.api(owner.namespace, &secret).delete_collection(&DeleteParams::default(), &chosen).await;
        gone.map(|_| ()).map_err(|error| refusal(&secret, &error))
    }

    fn api(&self, namespace: &str, item: &Item) -> Api<DynamicObject> {
        let (group, version) = item.api_version.split_once('/').unwrap_or(("", &item.api_version));
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, &item.kind));
        Api::namespaced_with(self.client.clone(), namespace, &resource)
    }
}

/// An object as the cluster shows it, and the mark of what we own of it.
fn apart(object: DynamicObject) -> (Json, Option<Mark>) {
    let DynamicObject { types, mut metadata, data: mut live } = object;
    let notes = metadata.managed_fields.take().unwrap_or_default();
    if let Some(live) = live.as_object_mut() {
        live.insert("metadata".to_owned(), serde_json::to_value(metadata).unwrap_or_default());
        if let Some(types) = types {
            live.insert("kind".to_owned(), json!(types.kind));
            live.insert("apiVersion".to_owned(), json!(types.api_version));
        }
    }
    let held = owned::owned(&live, &notes, MANAGER);
    (live, held)
}

/// Whether the cluster does not know a kind.
fn is_unknown_kind(error: &Error) -> bool {
    matches!(error, Error::Api(status) if status.code == 404)
}

/// What follows from a request that failed. Of Secrets, the cluster's own words are not passed on.
fn refusal(item: &Item, error: &Error) -> DriverError {
    let Error::Api(status) = error else {
        tracing::warn!(kind = item.kind, "the cluster cannot be reached: {error}");
        return DriverError::unreachable("The cluster does not answer; it is tried again.");
    };
    let is_secret = item.kind == "Secret";
    let said = if is_secret { "" } else { status.message.as_str() };
    tracing::warn!(kind = item.kind, name = item.name, code = status.code, "the cluster refuses: {said}");
    if status.code == 404 && !status.message.contains("namespaces \"") {
        return refused(
            "The cluster does not know what this is made of: the platform team has to install it there."
                .to_owned(),
        );
    }
    let Some(denial) = Denial::of(status.code, &status.message) else {
        return DriverError::Transient {
            reason: Reason::BindingPending,
            message: "The cluster could not take it just now; it is tried again.".to_owned(),
        };
    };
    let denied = denial.told(&status.message);
    match denial {
        Denial::Invalid if is_secret => {
            refused("The cluster does not take a secret of it: the platform team has to correct its template.".to_owned())
        }
        Denial::Invalid => DriverError::Refused { reason: Reason::BindingFailed, message: denied.message },
        Denial::Permission => DriverError::Transient {
            reason: denied.reason,
            message: "The platform may not make what is needed for it; the platform team has to give the orchestrator its role in this namespace.".to_owned(),
        },
        Denial::Terminating | Denial::Quota | Denial::Policy => {
            DriverError::Transient { reason: denied.reason, message: denied.message }
        }
    }
}

/// An object of the same name that is not ours.
fn foreign(owner: Owner<'_>, item: &Item, found: &DynamicObject) -> DriverError {
    if !owner.bears(found) {
        return taken(item);
    }
    refused(format!(
        "`{}` was left to itself before (policy `Orphan`): remove it, or give it the label `{}={}` again to have it looked after.",
        item.name,
        label::MANAGED_BY,
        label::ORCHESTRA
    ))
}

fn taken(item: &Item) -> DriverError {
    refused(format!(
        "In this namespace there is {} named `{}` already, which the platform has not made for this and leaves alone: rename or remove that one.",
        told(&item.kind),
        item.name
    ))
}

/// What a kind is to people.
fn told(kind: &str) -> &'static str {
    match kind {
        "Ingress" | "HTTPRoute" => "a route",
        "Service" => "an address",
        "Secret" => "a secret",
        "ConfigMap" => "a set of values",
        "PersistentVolumeClaim" => "a volume",
        "Deployment" | "StatefulSet" | "Job" => "something that runs",
        _ => "something",
    }
}

/// What was there before is in the way, for now.
fn leaving() -> DriverError {
    DriverError::Transient {
        reason: Reason::BindingPending,
        message: "What bore this name before is being taken down first.".to_owned(),
    }
}
