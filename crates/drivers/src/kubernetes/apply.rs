//! Server-side apply of the objects of a plan, limited to those that differ.
//!
//! An absent object is created by an apply with a resource version that no object has: it conflicts with any object that exists.
//! An owned object is applied with force and with its uid: another object of the same name is a conflict, too.

use std::collections::{BTreeMap, BTreeSet};

use kube::{
    Api, Error, ResourceExt as _,
    api::{DeleteParams, Patch, PatchParams, Preconditions},
    core::DynamicObject,
};
use orchestra_api::{Reason, plan::WorkloadPlanSpec, reference::SecretKeyRef};
use orchestra_core::{
    denial::{self, is_gone_or_replaced},
    observe::{
        kubernetes::{Cause, DesiredObject, LiveObject, ObjectAction, stuck_pods},
        owned_fields::{self, FieldsHash},
    },
    render::kubernetes as render,
};
use serde_json::{Value as Json, json};

use super::{
    Kubernetes, MANAGER,
    api_error::{being_deleted, driver_error, name_conflict},
    cache::Rendered,
    kind::Kind,
    object_state::{Facts, ObjectState, WatchedObject},
};
use crate::{DriverError, NamespacedName, SecretText, Secrets, Target};

/// Reads of the live object after a conflict, before the next reconcile.
const MAX_CONFLICT_RETRIES: usize = 3;
/// Resource version that no object has: etcd starts at 1, for its first write.
const ABSENT_VERSION: &str = "1";

impl Kubernetes {
    /// Applies the objects of a plan.
    pub(super) async fn apply_plan(&self, target: &Target, secrets: &dyn Secrets) -> Result<(), DriverError> {
        self.wait_for_sync().await;
        let id = (target.namespace.clone(), target.name.clone());
        if self.is_applied(&id, target) {
            return self.replace_stuck_pods(&id, target).await;
        }
        let subject = subject(target);
        let composed = render::composed(&target.plan);
        let has_secrets = !composed.is_empty() && self.has_secrets(&id, target);
        let values = if has_secrets { BTreeMap::new() } else { read(composed, secrets).await? };
        let value =
            |at: &SecretKeyRef| values.get(at).map(|value| value.expose().to_vec()).unwrap_or_default();
        let mut objects = Vec::new();
        for object in render::render(&subject, &value) {
            let kind = Kind::of(&object).ok_or_else(|| {
                DriverError::refused(
                    Reason::ProjectionError,
                    "The rendered plan contains an object of an unknown kind.",
                )
            })?;
            objects.push((kind, owned_fields::desired(&object), object));
        }
        let noted = objects.iter().map(|(kind, wanted, object)| (*kind, name_of(object).into(), *wanted));
        let rendered = Rendered { revision: target.plan.revision.as_str().into(), objects: noted.collect() };
        self.cache.set_rendered(&id, rendered);
        for (kind, wanted, object) in objects {
            // Composed secrets change only with the revision.
            if kind == Kind::Secret && has_secrets {
                continue;
            }
            self.apply_object(&id, target, kind, &object, wanted).await?;
        }
        self.replace_stuck_pods(&id, target).await
    }

    /// True if the cache shows that the cluster has everything as desired. Secrets are not watched, so they are never cached.
    fn is_applied(&self, id: &NamespacedName, target: &Target) -> bool {
        let Some(rendered) = self.cache.rendered(id, &target.plan.revision) else { return false };
        let is_live = |kind, name: &str, wanted| {
            let live = self.cache.object(id, kind, name).filter(|_| self.is_cached(id, kind));
            self.action(id, target, kind, live.as_ref(), wanted) == ObjectAction::Keep
        };
        rendered.objects.iter().all(|(kind, name, wanted)| is_live(*kind, name, *wanted))
    }

    /// True if the cached objects of a kind are current: those that are not watched may have changed.
    fn is_cached(&self, id: &NamespacedName, kind: Kind) -> bool {
        match kind {
            Kind::Secret => false,
            Kind::ConfigMap => !self.misses_mount(id),
            _ => true,
        }
    }

    /// Action on the live object of a name.
    fn action(
        &self,
        id: &NamespacedName,
        target: &Target,
        kind: Kind,
        live: Option<&ObjectState>,
        wanted: FieldsHash,
    ) -> ObjectAction {
        let live = live.map(|live| LiveObject {
            owner: live.owner.as_deref(),
            is_deleting: live.is_deleting,
            is_current: live.fields_hash == Some(wanted) || self.cache.is_defaulted(id, live, wanted),
            revision: live.revision.as_deref(),
        });
        let WorkloadPlanSpec { workload_ref, revision, .. } = &target.plan;
        let revision = Some(revision.as_str());
        ObjectAction::of(live, &DesiredObject { owner: &workload_ref.uid, kind: kind.named().0, revision })
    }

    /// True if the composed secrets of this revision exist.
    fn has_secrets(&self, id: &NamespacedName, target: &Target) -> bool {
        if self.misses_mount(id) {
            return false;
        }
        let inventory = render::inventory(&subject(target));
        inventory.iter().filter(|item| Kind::of_inventory(&item.kind) == Some(Kind::Secret)).all(|item| {
            let live = self.cache.object(id, Kind::Secret, &item.name);
            live.is_some_and(|live| live.revision.as_deref() == Some(&target.plan.revision))
        })
    }

    /// True if a pod misses something that it mounts.
    fn misses_mount(&self, id: &NamespacedName) -> bool {
        let view = self.cache.view(id);
        let mut causes = view.pods.iter().flat_map(|pod| pod.cause.iter().chain(&pod.event_cause));
        causes.any(|cause| matches!(**cause, Cause::Missing { .. }))
    }

    async fn apply_object(
        &self,
        id: &NamespacedName,
        target: &Target,
        kind: Kind,
        object: &Json,
        wanted: FieldsHash,
    ) -> Result<(), DriverError> {
        let name = name_of(object);
        let mut live = self.cache.object(id, kind, name).filter(|_| self.is_cached(id, kind));
        if live.is_none() && !self.has_synced(kind) {
            live = self.get_object(id, kind, name).await?;
        }
        for _ in 0..MAX_CONFLICT_RETRIES {
            let uid = live.as_ref().map(|live| &*live.uid);
            let answer = match self.action(id, target, kind, live.as_ref(), wanted) {
                ObjectAction::ReportConflict => return Err(name_conflict(kind, name)),
                ObjectAction::AwaitDeletion => return Err(being_deleted()),
                ObjectAction::Keep => return Ok(()),
                ObjectAction::Replace => {
                    if let Some(live) = &live
                        && self.delete(id, live).await?
                    {
                        return Err(being_deleted());
                    }
                    self.send(target, kind, object, None).await
                }
                ObjectAction::Create | ObjectAction::Apply => self.send(target, kind, object, uid).await,
            };
            match answer {
                Ok(object) => {
                    let watched = WatchedObject::new(object);
                    self.cache.store(kind, &watched);
                    self.cache.set_defaulted(id, &watched.state(kind), wanted);
                    return Ok(());
                }
                // Conflict: another object has the name, or the object was recreated.
                Err(Error::Api(status)) if denial::is_race(&status) => {
                    tracing::debug!(
                        ?kind,
                        name,
                        message = status.message,
                        "a write conflicts; the live object is read again"
                    );
                    live = self.get_object(id, kind, name).await?;
                    let action = self.action(id, target, kind, live.as_ref(), wanted);
                    if action == ObjectAction::ReportConflict {
                        return Err(name_conflict(kind, name));
                    }
                }
                Err(error) => return Err(driver_error(kind, name, error)),
            }
        }
        Err(DriverError::transient(
            Reason::RuntimeProvisioning,
            "Another client keeps changing its objects (conflict); retrying.",
        ))
    }

    /// Applies an object to the one with this uid, or creates it.
    async fn send(
        &self,
        target: &Target,
        kind: Kind,
        object: &Json,
        uid: Option<&str>,
    ) -> kube::Result<DynamicObject> {
        let name = name_of(object);
        // An apply refuses unknown fields in any case. Strict validation of duplicate ones would make the server decode it twice.
        let mut params = PatchParams::apply(MANAGER).validation_ignore();
        params.force = uid.is_some();
        let mut body = object.clone();
        match uid {
            Some(uid) => body["metadata"]["uid"] = json!(uid),
            None => body["metadata"]["resourceVersion"] = json!(ABSENT_VERSION),
        }
        self.api(kind, &target.namespace).patch(name, &params, &Patch::Apply(body)).await
    }

    /// Live object of this name, ours or not.
    pub(super) async fn get_object(
        &self,
        id: &NamespacedName,
        kind: Kind,
        name: &str,
    ) -> Result<Option<ObjectState>, DriverError> {
        match self.api(kind, &id.0).get_opt(name).await {
            Ok(found) => Ok(found.map(|object| {
                let watched = WatchedObject::new(object);
                self.cache.store(kind, &watched);
                watched.state(kind)
            })),
            Err(error) => Err(driver_error(kind, name, error)),
        }
    }

    /// Deletes exactly this object, by its uid. Returns whether it still exists, because of finalizers.
    pub(super) async fn delete(&self, id: &NamespacedName, live: &ObjectState) -> Result<bool, DriverError> {
        let mut params = DeleteParams::background();
        params.preconditions =
            Some(Preconditions { uid: Some(live.uid.to_string()), resource_version: None });
        match self.api(live.kind, &id.0).delete(&live.name, &params).await {
            Ok(answer) => {
                let is_live = |object: &DynamicObject| !object.finalizers().is_empty();
                let Some(object) = answer.left().filter(is_live) else {
                    self.cache.deleted(id, live);
                    return Ok(false);
                };
                self.cache.store(live.kind, &WatchedObject::new(object));
                Ok(true)
            }
            // Deleted, or recreated by another client.
            Err(Error::Api(status)) if is_gone_or_replaced(&status) => {
                self.cache.deleted(id, live);
                Ok(false)
            }
            Err(error) => Err(driver_error(live.kind, &live.name, error)),
        }
    }

    /// Deletes the pods that keep a `StatefulSet` from being rolled out.
    async fn replace_stuck_pods(&self, id: &NamespacedName, target: &Target) -> Result<(), DriverError> {
        let view = self.cache.view(id);
        let rollouts = view.objects.iter().filter_map(|live| match &live.facts {
            Facts::Rollout(rollout) => Some(&**rollout),
            _ => None,
        });
        for pod in stuck_pods(&target.plan.revision, rollouts, &view.pods) {
            let this = Preconditions { uid: Some(pod.uid.to_string()), resource_version: None };
            let params = DeleteParams { preconditions: Some(this), ..DeleteParams::default() };
            match self.api(Kind::Pod, &id.0).delete(&pod.name, &params).await {
                Ok(_) => {}
                Err(Error::Api(status)) if is_gone_or_replaced(&status) => {}
                Err(error) => return Err(driver_error(Kind::Pod, &pod.name, error)),
            }
        }
        Ok(())
    }

    pub(super) fn api(&self, kind: Kind, namespace: &str) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), namespace, &kind.resource())
    }
}

fn name_of(object: &Json) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

/// Secret values that are composed with other text.
async fn read(
    composed: BTreeSet<SecretKeyRef>,
    secrets: &dyn Secrets,
) -> Result<BTreeMap<SecretKeyRef, SecretText>, DriverError> {
    let mut values = BTreeMap::new();
    for at in composed {
        let read = secrets.read(&at).await?.ok_or_else(|| {
            DriverError::transient(
                Reason::ProjectionError,
                format!("The secret `{}` has no key `{}` yet; retrying.", at.name, at.key),
            )
        })?;
        values.insert(at, read.value);
    }
    Ok(values)
}

/// Input of the renderer.
pub(super) fn subject(target: &Target) -> render::Subject<'_> {
    render::Subject { namespace: &target.namespace, name: &target.name, plan: &target.plan }
}
