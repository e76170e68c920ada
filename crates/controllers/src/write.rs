//! How controllers write: by server-side apply under a name of their own, and only to the very object they mean.
//!
//! An apply that names the uid of its object cannot bring a deleted object back, and cannot touch another one that
//! has taken its name. Every answer goes into the cache, so that what was written is read from then on.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{
    Api, Client, Resource, ResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams, Preconditions},
    core::NamespaceResourceScope,
};
use orchestra_api::{ResourceClaim, Workload, WorkloadExposure, WorkloadPlan, WorkloadRef, label};
use orchestra_core::Denied;
use serde::{Serialize, de::Error as _};
use serde_json::{Value as Json, json};

use crate::{
    cache::{Cache, Kind},
    denial,
    legible::Legible,
    work::Failure,
};

/// Writes objects of any kind under one name.
#[derive(Clone)]
pub struct Writer {
    client: Client,
    manager: String,
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer").field("manager", &self.manager).finish_non_exhaustive()
    }
}

impl Writer {
    /// Writes as the controller of this name.
    pub fn new(client: Client, controller: &str) -> Self {
        Self { client, manager: format!("score.dev/{controller}") }
    }

    fn api<K: Kind + Resource<Scope = NamespaceResourceScope>>(&self, namespace: &str) -> Api<K> {
        Api::namespaced(self.client.clone(), namespace)
    }

    /// Reads objects also where they cannot be read.
    fn guarded<K: Kind + Resource<Scope = NamespaceResourceScope>>(
        &self,
        namespace: &str,
    ) -> Api<Legible<K>> {
        Api::namespaced(self.client.clone(), namespace)
    }

    /// An apply refuses fields that are not known in any case. To warn of repeated ones, a server would read everything twice.
    fn params(&self) -> PatchParams {
        PatchParams::apply(&self.manager).force().validation_ignore()
    }

    /// Makes an object, or makes it be as given. The API may refuse it for good, which is an answer to report.
    pub async fn apply<K: Kind + Resource<Scope = NamespaceResourceScope>>(
        &self,
        cache: &Cache<K>,
        object: &K,
    ) -> Result<Result<K, Denied>, Failure> {
        let namespace = object.namespace().unwrap_or_default();
        let patch = Patch::Apply(described(object)?);
        let answer = self.guarded::<K>(&namespace).patch(&object.name_any(), &self.params(), &patch).await;
        match read(answer) {
            Ok(written) => {
                cache.wrote(&written);
                Ok(Ok(written))
            }
            Err(error) => denial::judge(&error).map(Err),
        }
    }

    /// Writes the status of an object that there is. Answers whether there is one.
    pub async fn status<K: Kind + Resource<Scope = NamespaceResourceScope>>(
        &self,
        cache: &Cache<K>,
        object: &K,
        status: &impl Serialize,
    ) -> Result<bool, Failure> {
        let namespace = object.namespace().unwrap_or_default();
        let patch = Patch::Apply(Self::of::<K>(object, json!({"status": status})));
        let answer =
            self.guarded::<K>(&namespace).patch_status(&object.name_any(), &self.params(), &patch).await;
        Self::settle(cache, read(answer))
    }

    /// Holds an object with a finalizer, and notes on it. One that is gone cannot be held: what would be made for it
    /// now, nobody would ever take down.
    pub async fn hold<K: Kind + Resource<Scope = NamespaceResourceScope>>(
        &self,
        cache: &Cache<K>,
        object: &K,
        finalizer: &str,
        annotations: &Json,
    ) -> Result<(), Failure> {
        match self.set_holders(object, &[finalizer], annotations).await {
            Err(kube::Error::Api(status)) if status.code == 404 => {
                let namespace = object.namespace().unwrap_or_default();
                cache.removed(&namespace, &object.name_any(), &object.uid().unwrap_or_default());
                Err(Failure::Conflict("it is gone".to_owned()))
            }
            answer => Self::settle(cache, answer).map(drop),
        }
    }

    /// Lets an object go that was held. One that is gone needs nothing more.
    pub async fn let_go<K: Kind + Resource<Scope = NamespaceResourceScope>>(
        &self,
        cache: &Cache<K>,
        object: &K,
    ) -> Result<(), Failure> {
        let answer = self.set_holders(object, &[], &json!({})).await;
        Self::settle(cache, answer).map(drop)
    }

    /// Lets an object go by taking a finalizer off it, whichever controller has put it on. What others hold it by stays: the
    /// version guards the list.
    pub async fn take_off<K: Kind + Resource<Scope = NamespaceResourceScope>>(
        &self,
        cache: &Cache<K>,
        object: &K,
        finalizer: &str,
    ) -> Result<(), Failure> {
        let namespace = object.namespace().unwrap_or_default();
        // What was written of it meanwhile, most often its status, counts.
        let known = cache.get(&namespace, &object.name_any()).filter(|known| known.uid() == object.uid());
        let object = known.as_ref().unwrap_or(object);
        let rest: Vec<_> = object.finalizers().iter().filter(|holder| *holder != finalizer).collect();
        let patch = Patch::Merge(json!({"metadata": {
            "uid": object.uid(), "resourceVersion": object.resource_version(), "finalizers": rest,
        }}));
        let params = PatchParams { field_manager: Some(self.manager.clone()), ..PatchParams::default() };
        let answer = self.guarded::<K>(&namespace).patch(&object.name_any(), &params, &patch).await;
        Self::settle(cache, read(answer)).map(drop)
    }

    /// Sets the finalizers and annotations that are ours.
    async fn set_holders<K: Kind + Resource<Scope = NamespaceResourceScope>>(
        &self,
        object: &K,
        finalizers: &[&str],
        annotations: &Json,
    ) -> kube::Result<K> {
        let namespace = object.namespace().unwrap_or_default();
        let mut body = Self::of::<K>(object, json!({}));
        body["metadata"]["finalizers"] = json!(finalizers);
        body["metadata"]["annotations"] = annotations.clone();
        read(
            self.guarded::<K>(&namespace)
                .patch(&object.name_any(), &self.params(), &Patch::Apply(body))
                .await,
        )
    }

    /// Deletes the very object that has this uid. One that is gone is deleted well enough.
    pub async fn delete<K: Kind + Resource<Scope = NamespaceResourceScope>>(
        &self,
        cache: &Cache<K>,
        namespace: &str,
        name: &str,
        uid: &str,
    ) -> Result<(), Failure> {
        let mut params = DeleteParams::background();
        params.preconditions = Some(Preconditions { uid: Some(uid.to_owned()), resource_version: None });
        match self.api::<K>(namespace).delete(name, &params).await {
            Ok(answer) => {
                if let Some(dying) = answer.left().filter(|dying| !dying.finalizers().is_empty()) {
                    cache.wrote(&dying);
                } else {
                    cache.removed(namespace, name, uid);
                }
                Ok(())
            }
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => {
                let found =
                    self.api::<K>(namespace).get_opt(name).await.map_err(|error| denial::failure(&error))?;
                if found.is_some_and(|found| found.uid().as_deref() == Some(uid)) {
                    return Err(Failure::Conflict(status.message.clone()));
                }
                // It is gone, or the name is another's by now.
                cache.removed(namespace, name, uid);
                Ok(())
            }
            Err(error) => Err(denial::failure(&error)),
        }
    }

    /// Fails if the API still holds anything that was made for a Workload: with a conflict where a new look at the world
    /// will help, else with what somebody has to do.
    pub async fn leaves_nothing(&self, workload: &Workload) -> Result<(), Failure> {
        let namespace = workload.namespace().unwrap_or_default();
        let name = workload.name_any();
        let uid = workload.uid().unwrap_or_default();
        let ask = async {
            let plan = self.guarded::<WorkloadPlan>(&namespace).get_opt(&name).await?;
            let exposure = self.guarded::<WorkloadExposure>(&namespace).get_opt(&name).await?;
            let labelled = ListParams::default().labels(&format!("{}={name}", label::WORKLOAD));
            let claims = self.guarded::<ResourceClaim>(&namespace).list(&labelled).await?;
            Ok((plan, exposure, claims))
        };
        let (plan, exposure, claims) = ask.await.map_err(|error: kube::Error| denial::failure(&error))?;
        if let Some(plan) = plan {
            is_no_child(&plan, &uid, |plan| &plan.spec.workload_ref)?;
        }
        if let Some(exposure) = exposure {
            is_no_child(&exposure, &uid, |exposure| &exposure.spec.workload_ref)?;
        }
        claims.iter().try_for_each(|claim| is_no_child(claim, &uid, |claim| &claim.spec.workload_ref))
    }

    /// The part of an object that is written, addressed to that very object.
    fn of<K: Kind>(object: &K, mut body: Json) -> Json {
        body["apiVersion"] = json!(K::api_version(&()));
        body["kind"] = json!(K::kind(&()));
        body["metadata"] = json!({"name": object.name_any(), "uid": object.uid()});
        body
    }

    /// Takes the answer to a write in. Answers whether there was anything to write to.
    fn settle<K: Kind>(cache: &Cache<K>, answer: kube::Result<K>) -> Result<bool, Failure> {
        match answer {
            Ok(written) => {
                cache.wrote(&written);
                Ok(true)
            }
            // Gone, or another one by now: there is nobody left to tell.
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(false),
            Err(error) => Err(denial::failure(&error)),
        }
    }
}

/// The object that a write was answered with.
fn read<K>(answer: kube::Result<Legible<K>>) -> kube::Result<K> {
    answer?.0.map_err(|illegible| kube::Error::SerdeError(serde_json::Error::custom(illegible.error)))
}

/// Fails if an object was made for the Workload with this uid. One that cannot be read counts only while somebody
/// holds it: otherwise it is collected with the Workload.
fn is_no_child<K: Kind>(
    object: &Legible<K>,
    uid: &str,
    owner: fn(&K) -> &WorkloadRef,
) -> Result<(), Failure> {
    match &object.0 {
        Ok(object) if owner(object).uid == uid => {
            Err(Failure::Conflict("something of the workload is still there".to_owned()))
        }
        Ok(_) => Ok(()),
        Err(invalid) => {
            let ObjectMeta { owner_references, finalizers, name, .. } = &invalid.metadata;
            let is_owned = owner_references.iter().flatten().any(|owner| owner.uid == uid);
            let Some(holder) = finalizers.iter().flatten().next().filter(|_| is_owned) else { return Ok(()) };
            Err(Failure::Transient(format!(
                "The {} `{}` cannot be read, and `{holder}` holds it: the platform team has to correct or delete it.",
                K::kind(&()),
                name.as_deref().unwrap_or_default()
            )))
        }
    }
}

/// An object as an apply needs it: with its type, and without what only the API writes.
fn described<K: Kind>(object: &K) -> Result<Json, Failure> {
    let mut body = serde_json::to_value(object)
        .map_err(|error| Failure::Transient(format!("failed to write an object as JSON: {error}")))?;
    body["apiVersion"] = json!(K::api_version(&()));
    body["kind"] = json!(K::kind(&()));
    if let Some(fields) = body.as_object_mut() {
        fields.remove("status");
    }
    Ok(body)
}
