//! Writer of the controllers: server-side apply with a field manager per controller, and the uid as a precondition.
//!
//! An apply with a uid neither recreates a deleted object nor changes another one of the same name. Every answer goes into the cache
//! (read-your-writes).

use kube::{
    Api, Client, Resource, ResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams, Preconditions},
    core::{ClusterResourceScope, NamespaceResourceScope},
};
use orchestra_api::{ResourceClaim, Workload, WorkloadExposure, WorkloadPlan, WorkloadRef};
use orchestra_core::{
    Denied, claim_state,
    decision::Fault,
    denial::{NotFound, is_race},
    leftover::Leftover,
};
use serde::Serialize;
use serde_json::{Value as Json, json};

use crate::{
    denial,
    engine::{
        cache::{Cache, Kind},
        deserialize_guard::DeserializeGuard,
    },
    error::Error,
};

/// Writer with one field manager.
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
    /// Writer of the controller of this name.
    pub fn new(client: Client, controller: &str) -> Self {
        Self { client, manager: format!("score.dev/{controller}") }
    }

    fn api<K: Kind + Resource<Scope = NamespaceResourceScope>>(&self, namespace: &str) -> Api<K> {
        Api::namespaced(self.client.clone(), namespace)
    }

    /// API whose objects deserialize even if they are invalid.
    fn guarded<K: Kind + Resource<Scope = NamespaceResourceScope>>(
        &self,
        namespace: &str,
    ) -> Api<DeserializeGuard<K>> {
        Api::namespaced(self.client.clone(), namespace)
    }

    /// An apply rejects unknown fields in any case. For warnings about duplicate ones, the server would parse the body twice.
    fn params(&self) -> PatchParams {
        PatchParams::apply(&self.manager).force().validation_ignore()
    }

    /// Creates or updates an object. A denial is an answer to report; the decision about the object retries it.
    pub async fn apply<K: Kind + Resource<Scope = NamespaceResourceScope>>(
        &self,
        cache: &Cache<K>,
        object: &K,
    ) -> Result<Result<K, Denied>, Error> {
        let namespace = object.namespace().unwrap_or_default();
        let patch = Patch::Apply(described(object)?);
        let answer = self.guarded::<K>(&namespace).patch(&object.name_any(), &self.params(), &patch).await;
        match read(answer) {
            Ok(written) => {
                cache.wrote(&written);
                Ok(Ok(written))
            }
            Err(error) => denial::classify(error).map(Err),
        }
    }

    /// Writes the status of an object. False if the object is gone.
    pub async fn status<K: Kind + Resource<Scope = NamespaceResourceScope>>(
        &self,
        cache: &Cache<K>,
        object: &K,
        status: &impl Serialize,
    ) -> Result<bool, Error> {
        let namespace = object.namespace().unwrap_or_default();
        let patch = Patch::Apply(Self::of::<K>(object, json!({"status": status})));
        let answer =
            self.guarded::<K>(&namespace).patch_status(&object.name_any(), &self.params(), &patch).await;
        Self::settle(cache, read(answer))
    }

    /// Writes the status of an object of the cluster. False if the object is gone.
    pub async fn cluster_status<K: Kind + Resource<Scope = ClusterResourceScope>>(
        &self,
        cache: &Cache<K>,
        object: &K,
        status: &impl Serialize,
    ) -> Result<bool, Error> {
        let api: Api<DeserializeGuard<K>> = Api::all(self.client.clone());
        let patch = Patch::Apply(Self::of::<K>(object, json!({"status": status})));
        let answer = api.patch_status(&object.name_any(), &self.params(), &patch).await;
        Self::settle(cache, read(answer))
    }

    /// Merges a patch into the status of an object of the cluster that cannot be deserialized. Succeeds if it is gone.
    pub async fn patch_cluster_status<K: Kind>(&self, name: &str, patch: &Json) -> Result<(), Error> {
        let api: Api<DeserializeGuard<K>> = Api::all(self.client.clone());
        let params = PatchParams { field_manager: Some(self.manager.clone()), ..PatchParams::default() };
        match api.patch_status(name, &params, &Patch::Merge(patch)).await.map_err(Error::from) {
            Ok(_) => Ok(()),
            Err(error) if is_gone(&error) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Adds a finalizer and annotations to an object. Fails if it is gone: nobody would remove what is made for it now.
    pub async fn add_finalizer<K: Kind + Resource<Scope = NamespaceResourceScope>>(
        &self,
        cache: &Cache<K>,
        object: &K,
        finalizer: &str,
        annotations: &Json,
    ) -> Result<(), Error> {
        let mut body = Self::of::<K>(object, json!({}));
        body["metadata"]["finalizers"] = json!([finalizer]);
        // An empty map would be stored, as a change of the object.
        if annotations.as_object().is_some_and(|annotations| !annotations.is_empty()) {
            body["metadata"]["annotations"] = annotations.clone();
        }
        let namespace = object.namespace().unwrap_or_default();
        let patch = Patch::Apply(body);
        match read(self.guarded::<K>(&namespace).patch(&object.name_any(), &self.params(), &patch).await) {
            Err(error) if is_gone(&error) => {
                cache.removed(&namespace, &object.name_any(), &object.uid().unwrap_or_default());
                Err(Error::Gone { kind: K::kind(&()).into_owned(), name: object.name_any() })
            }
            answer => Self::settle(cache, answer).map(drop),
        }
    }

    /// Removes a finalizer, whichever manager added it. The resource version is a precondition, so that finalizers of others stay.
    pub async fn remove_finalizer<K: Kind + Resource<Scope = NamespaceResourceScope>>(
        &self,
        cache: &Cache<K>,
        object: &K,
        finalizer: &str,
    ) -> Result<(), Error> {
        let namespace = object.namespace().unwrap_or_default();
        // The cache may have a newer version, usually after a write of the status.
        let cached = cache.get(&namespace, &object.name_any()).filter(|cached| cached.uid() == object.uid());
        let object = cached.as_ref().unwrap_or(object);
        let rest: Vec<_> = object.finalizers().iter().filter(|holder| *holder != finalizer).collect();
        let patch = Patch::Merge(json!({"metadata": {
            "uid": object.uid(), "resourceVersion": object.resource_version(), "finalizers": rest,
        }}));
        let params = PatchParams { field_manager: Some(self.manager.clone()), ..PatchParams::default() };
        let answer = self.guarded::<K>(&namespace).patch(&object.name_any(), &params, &patch).await;
        Self::settle(cache, read(answer)).map(drop)
    }

    /// Deletes the object with this uid. Succeeds if it is gone.
    pub async fn delete<K: Kind + Resource<Scope = NamespaceResourceScope>>(
        &self,
        cache: &Cache<K>,
        namespace: &str,
        name: &str,
        uid: &str,
    ) -> Result<(), Error> {
        let mut params = DeleteParams::background();
        params.preconditions = Some(Preconditions { uid: Some(uid.to_owned()), resource_version: None });
        match self.api::<K>(namespace).delete(name, &params).await {
            Ok(answer) => {
                if let Some(object) = answer.left().filter(|object| !object.finalizers().is_empty()) {
                    cache.wrote(&object);
                } else {
                    cache.removed(namespace, name, uid);
                }
                Ok(())
            }
            Err(kube::Error::Api(status)) if is_race(&status) => {
                let found = self.api::<K>(namespace).get_opt(name).await?;
                if found.is_some_and(|found| found.uid().as_deref() == Some(uid)) {
                    return Err(Error::Changed(Box::new(kube::Error::Api(status))));
                }
                // It is gone, or has been replaced.
                cache.removed(namespace, name, uid);
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Fails if the API still has anything that was made for a Workload: with a conflict if a new reconcile helps, else with the remedy.
    pub async fn ensure_no_leftovers(&self, workload: &Workload) -> Result<(), Error> {
        let namespace = workload.namespace().unwrap_or_default();
        let name = workload.name_any();
        let uid = workload.uid().unwrap_or_default();
        let read = async {
            let plan = self.guarded::<WorkloadPlan>(&namespace).get_opt(&name).await?;
            let exposure = self.guarded::<WorkloadExposure>(&namespace).get_opt(&name).await?;
            let own = ListParams::default().fields(&claim_state::of_workload(&name));
            let claims = self.guarded::<ResourceClaim>(&namespace).list(&own).await?;
            Ok::<_, kube::Error>((plan, exposure, claims))
        };
        let (plan, exposure, claims) = read.await?;
        if let Some(plan) = plan {
            reject_leftover(&plan, &uid, |plan| &plan.spec.workload_ref)?;
        }
        if let Some(exposure) = exposure {
            reject_leftover(&exposure, &uid, |exposure| &exposure.spec.workload_ref)?;
        }
        claims.iter().try_for_each(|claim| reject_leftover(claim, &uid, |claim| &claim.spec.workload_ref))
    }

    /// Body of an apply, with the uid as a precondition.
    fn of<K: Kind>(object: &K, mut body: Json) -> Json {
        body["apiVersion"] = json!(K::api_version(&()));
        body["kind"] = json!(K::kind(&()));
        body["metadata"] = json!({"name": object.name_any(), "uid": object.uid()});
        body
    }

    /// Stores the answer to a write in the cache. False if the object is gone.
    fn settle<K: Kind>(cache: &Cache<K>, answer: Result<K, Error>) -> Result<bool, Error> {
        match answer {
            Ok(written) => {
                cache.wrote(&written);
                Ok(true)
            }
            // It is gone, or has been replaced.
            Err(error) if is_gone(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// True if the object of a request does not exist. A missing namespace or definition is an error: objects may return with them.
fn is_gone(error: &Error) -> bool {
    let Error::Api(error) = error else { return false };
    matches!(&**error, kube::Error::Api(status) if NotFound::of(status) == Some(NotFound::Object))
}

/// Object in the answer to a write.
fn read<K>(answer: kube::Result<DeserializeGuard<K>>) -> Result<K, Error> {
    answer?.0.map_err(|invalid| Error::InvalidAnswer(Box::new(invalid)))
}

/// Fails if an object is a leftover of the Workload with this uid.
fn reject_leftover<K: Kind>(
    object: &DeserializeGuard<K>,
    uid: &str,
    owner: fn(&K) -> &WorkloadRef,
) -> Result<(), Error> {
    let (owner, metadata) = match &object.0 {
        Ok(object) => (Some(owner(object)), object.meta()),
        Err(invalid) => (None, &invalid.metadata),
    };
    let Some(leftover) = Leftover::of(uid, owner, metadata) else { return Ok(()) };
    let (kind, name) = (K::kind(&()).into_owned(), metadata.name.clone().unwrap_or_default());
    Err(match leftover {
        Leftover::Child => Error::Leftover { kind, name },
        Leftover::Invalid { finalizer } => {
            Error::InvalidLeftover(Fault::InvalidLeftover { kind, name, finalizer })
        }
    })
}

/// Body of an apply: the object with its type, without the status.
fn described<K: Kind>(object: &K) -> Result<Json, Error> {
    let mut body = serde_json::to_value(object).map_err(Error::Serialize)?;
    body["apiVersion"] = json!(K::api_version(&()));
    body["kind"] = json!(K::kind(&()));
    if let Some(fields) = body.as_object_mut() {
        fields.remove("status");
    }
    Ok(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_missing_object_counts_as_gone() {
        let written = |kind: &str, message: &str| {
            let status = json!({
                "code": 404, "reason": "NotFound", "message": message, "details": {"kind": kind},
            });
            let status = serde_json::from_value(status).unwrap();
            Writer::settle(&Cache::<Workload>::default(), Err(kube::Error::Api(Box::new(status)).into()))
        };
        assert!(matches!(written("workloads", "workloads.score.dev \"a\" not found"), Ok(false)));
        assert!(written("namespaces", "namespaces \"a\" not found").is_err());
        assert!(written("", "the server could not find the requested resource").is_err());
    }
}
