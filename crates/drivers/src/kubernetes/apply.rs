//! Makes the cluster hold what a plan renders to, and sends only what is not so.
//!
//! What is absent is made by an apply that names a revision which no object ever has: it makes the object if there is
//! none, and is a conflict with any that there is, whoever made it. What is ours is written with force and with its uid:
//! another one that has taken its name is a conflict, too.

use std::collections::{BTreeMap, BTreeSet};

use kube::{
    Api, Error, ResourceExt as _,
    api::{DeleteParams, Patch, PatchParams, Preconditions},
    core::DynamicObject,
};
use orchestra_api::{Reason, reference::SecretKeyRef};
use orchestra_core::{
    observe::{
        kubernetes::{Cause, Maker},
        owned::{self, Mark},
    },
    render::kubernetes as render,
};
use serde_json::{Value as Json, json};

use super::{
    Kubernetes, MANAGER,
    held::{Facts, Held, Passing},
    kind::Kind,
    memory::{Id, Rendered},
    refusal::{foreign, is_about_object, leaving, refusal},
};
use crate::{DriverError, SecretText, Secrets, Target};

/// How often a conflict is looked at again before it is left for later.
const TRIES: usize = 3;
/// A revision that no object has: the store begins to count before the first of them.
const NEVER: &str = "1";

impl Kubernetes {
    /// Makes the cluster hold what a plan renders to.
    pub(super) async fn settle(&self, target: &Target, secrets: &dyn Secrets) -> Result<(), DriverError> {
        self.informed().await;
        let id = (target.namespace.clone(), target.name.clone());
        if self.is_settled(&id, target) {
            self.memory.refused(&id, false);
            return self.unstick(&id, target).await;
        }
        let subject = subject(target);
        let composed = render::composed(&target.plan);
        let is_kept = !composed.is_empty() && self.keeps_secrets(&id, target);
        let values = if is_kept { BTreeMap::new() } else { read(composed, secrets).await? };
        let value =
            |at: &SecretKeyRef| values.get(at).map(|value| value.expose().to_vec()).unwrap_or_default();
        let mut objects = Vec::new();
        for object in render::render(&subject, &value) {
            let kind = Kind::of(&object).ok_or_else(|| DriverError::Refused {
                reason: Reason::ProjectionError,
                message: "The platform does not know how to make something of this.".to_owned(),
            })?;
            objects.push((kind, owned::wanted(&object), object));
        }
        let noted = objects.iter().map(|(kind, wanted, object)| (*kind, name_of(object).into(), *wanted));
        let rendered = Rendered { revision: target.plan.revision.as_str().into(), objects: noted.collect() };
        self.memory.render(&id, rendered);
        for (kind, wanted, object) in objects {
            // What is put together with secrets changes only with the revision.
            if kind == Kind::Secret && is_kept {
                continue;
            }
            let settled = self.settle_one(&id, target, kind, &object, wanted).await;
            self.memory.refused(&id, matches!(settled, Err(DriverError::Refused { .. })));
            settled?;
        }
        self.unstick(&id, target).await
    }

    /// Whether the cluster is known to hold everything as it is wanted. Secrets are not watched, and so never known.
    fn is_settled(&self, id: &Id, target: &Target) -> bool {
        let Some(rendered) = self.memory.rendered(id, &target.plan.revision) else { return false };
        let uid = target.plan.workload_ref.uid.as_str();
        let is_held = |kind, name: &str, wanted| {
            let held = self.memory.held(id, kind, name).filter(|_| self.is_known(id, kind));
            held.is_some_and(|held| {
                held.owner.as_deref() == Some(uid) && !held.is_leaving && self.is_as_wanted(id, &held, wanted)
            })
        };
        rendered.objects.iter().all(|(kind, name, wanted)| is_held(*kind, name, *wanted))
    }

    /// Whether what is remembered of objects of a kind is how they are: what is not watched may have changed since.
    fn is_known(&self, id: &Id, kind: Kind) -> bool {
        match kind {
            Kind::Secret => false,
            Kind::ConfigMap => !self.misses_something(id),
            _ => true,
        }
    }

    fn is_as_wanted(&self, id: &Id, held: &Held, wanted: Mark) -> bool {
        held.mark == Some(wanted) || self.memory.is_agreed(id, held, wanted)
    }

    /// Whether the secrets that were put together for this revision are there.
    fn keeps_secrets(&self, id: &Id, target: &Target) -> bool {
        if self.misses_something(id) {
            return false;
        }
        let inventory = render::inventory(&subject(target));
        inventory.iter().filter(|item| Kind::of_inventory(&item.kind) == Some(Kind::Secret)).all(|item| {
            let held = self.memory.held(id, Kind::Secret, &item.name);
            held.is_some_and(|held| held.revision.as_deref() == Some(&target.plan.revision))
        })
    }

    /// Whether a copy misses something that it mounts.
    fn misses_something(&self, id: &Id) -> bool {
        let view = self.memory.view(id);
        let mut causes = view.pods.iter().flat_map(|pod| pod.cause.iter().chain(&pod.told));
        causes.any(|cause| matches!(**cause, Cause::Missing { .. }))
    }

    async fn settle_one(
        &self,
        id: &Id,
        target: &Target,
        kind: Kind,
        object: &Json,
        wanted: Mark,
    ) -> Result<(), DriverError> {
        let name = name_of(object);
        let uid = target.plan.workload_ref.uid.as_str();
        let mut held = self.memory.held(id, kind, name).filter(|_| self.is_known(id, kind));
        if held.is_none() && !self.has_seen(kind) {
            held = self.look_up(id, kind, name).await?;
        }
        for _ in 0..TRIES {
            let answer = match &held {
                None => self.send(target, kind, object, None).await,
                Some(held) if held.owner.as_deref() != Some(uid) => return Err(foreign(kind, name)),
                Some(held) if held.is_leaving => return Err(leaving()),
                Some(held) if self.is_as_wanted(id, held, wanted) => return Ok(()),
                Some(held) if is_replaced(held, kind, &target.plan.revision) => {
                    if self.delete(id, held).await? {
                        return Err(leaving());
                    }
                    self.send(target, kind, object, None).await
                }
                Some(held) => self.send(target, kind, object, Some(&held.uid)).await,
            };
            match answer {
                Ok(object) => {
                    let passing = Passing::new(object);
                    self.memory.take_in(kind, &passing);
                    self.memory.agree(id, &passing.held(kind), wanted);
                    return Ok(());
                }
                // Somebody was faster, or it is another one by now: who is there?
                Err(Error::Api(status))
                    if matches!(status.code, 404 | 409) && is_about_object(&status.message) =>
                {
                    tracing::debug!(?kind, name, "looked at again: {}", status.message);
                    held = self.look_up(id, kind, name).await?;
                    let is_foreign = held.as_ref().is_some_and(|held| held.owner.as_deref() != Some(uid));
                    if is_foreign {
                        return Err(foreign(kind, name));
                    }
                }
                Err(error) => return Err(refusal(kind, &error)),
            }
        }
        Err(DriverError::Transient {
            reason: Reason::RuntimeProvisioning,
            message: "Something else keeps changing what is made for it; it is tried again.".to_owned(),
        })
    }

    /// Applies an object: to the one with this uid, or to none.
    async fn send(
        &self,
        target: &Target,
        kind: Kind,
        object: &Json,
        uid: Option<&str>,
    ) -> kube::Result<DynamicObject> {
        let name = name_of(object);
        // An apply refuses fields that are not known in any case. To warn of repeated ones, a server would read it twice.
        let mut params = PatchParams::apply(MANAGER).validation_ignore();
        params.force = uid.is_some();
        let mut body = object.clone();
        match uid {
            Some(uid) => body["metadata"]["uid"] = json!(uid),
            None => body["metadata"]["resourceVersion"] = json!(NEVER),
        }
        self.api(kind, &target.namespace).patch(name, &params, &Patch::Apply(body)).await
    }

    /// What the cluster holds under this name, whoever made it.
    pub(super) async fn look_up(&self, id: &Id, kind: Kind, name: &str) -> Result<Option<Held>, DriverError> {
        match self.api(kind, &id.0).get_opt(name).await {
            Ok(found) => Ok(found.map(|object| {
                let passing = Passing::new(object);
                self.memory.take_in(kind, &passing);
                passing.held(kind)
            })),
            Err(error) => Err(refusal(kind, &error)),
        }
    }

    /// Deletes the very object that is held. Answers whether it is still there.
    pub(super) async fn delete(&self, id: &Id, held: &Held) -> Result<bool, DriverError> {
        let mut params = DeleteParams::background();
        params.preconditions =
            Some(Preconditions { uid: Some(held.uid.to_string()), resource_version: None });
        match self.api(held.kind, &id.0).delete(&held.name, &params).await {
            Ok(answer) => {
                let is_held = |object: &DynamicObject| !object.finalizers().is_empty();
                let Some(object) = answer.left().filter(is_held) else {
                    self.memory.deleted(id, held);
                    return Ok(false);
                };
                self.memory.take_in(held.kind, &Passing::new(object));
                Ok(true)
            }
            // The name is free, or another's by now.
            Err(Error::Api(status)) if matches!(status.code, 404 | 409) => {
                self.memory.deleted(id, held);
                Ok(false)
            }
            Err(error) => Err(refusal(held.kind, &error)),
        }
    }

    /// A set replaces a copy of an older revision only when it is ready, which one that is broken never will be.
    async fn unstick(&self, id: &Id, target: &Target) -> Result<(), DriverError> {
        let view = self.memory.view(id);
        let sets = view.objects.iter().filter_map(|held| match &held.facts {
            Facts::Rollout(rollout) if rollout.kind == Maker::StatefulSet && rollout.is_noticed => {
                rollout.update_revision.clone()
            }
            _ => None,
        });
        for update in sets {
            let stuck = view.pods.iter().filter(|pod| {
                !pod.is_ready
                    && !pod.is_leaving
                    && pod.set_revision.is_some()
                    && pod.set_revision.as_ref() != Some(&update)
                    && pod.revision.as_deref() != Some(&target.plan.revision)
            });
            for pod in stuck {
                let this = Preconditions { uid: Some(pod.uid.to_string()), resource_version: None };
                let params = DeleteParams { preconditions: Some(this), ..DeleteParams::default() };
                match self.api(Kind::Pod, &id.0).delete(&pod.name, &params).await {
                    Ok(_) => {}
                    Err(Error::Api(status)) if matches!(status.code, 404 | 409) => {}
                    Err(error) => return Err(refusal(Kind::Pod, &error)),
                }
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

/// Whether an object can only be replaced as a whole, and has to be.
fn is_replaced(held: &Held, kind: Kind, revision: &str) -> bool {
    kind == Kind::Job && held.revision.as_deref() != Some(revision)
}

/// The secret values that are put together with other text.
async fn read(
    composed: BTreeSet<SecretKeyRef>,
    secrets: &dyn Secrets,
) -> Result<BTreeMap<SecretKeyRef, SecretText>, DriverError> {
    let mut values = BTreeMap::new();
    for at in composed {
        let read = secrets.read(&at).await?.ok_or_else(|| DriverError::Transient {
            reason: Reason::ProjectionError,
            message: format!("The secret `{}` has no key `{}` yet; it is tried again.", at.name, at.key),
        })?;
        values.insert(at, read.value);
    }
    Ok(values)
}

/// What is rendered.
pub(super) fn subject(target: &Target) -> render::Subject<'_> {
    render::Subject { namespace: &target.namespace, name: &target.name, plan: &target.plan }
}
