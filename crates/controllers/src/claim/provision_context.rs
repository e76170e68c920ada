//! Provision context of an instance: its Secret, read and written by name, and the Workloads of its namespace.

use std::collections::BTreeMap;

use futures_util::future::BoxFuture;
use k8s_openapi::{ByteString, api::core::v1::Secret, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, PostParams, Preconditions},
};
use orchestra_api::{Workload, label, name, plan::Port, reference::SecretKeyRef};
use orchestra_core::{
    denial::{self, secret::SecretRequest},
    provision::{self, service_ref},
};
use orchestra_drivers::{
    DriverError, ProvisionContext, SecretText, Secrets,
    provision_context::{Edit, InstanceSecret, SecretData},
    secret::Read,
};

use crate::{
    engine::cache::Cache,
    secrets::{self, NamespaceSecrets},
};

/// Attempts of a write that conflicts with others.
const MAX_TRIES: usize = 5;

/// Provision context of one instance.
pub(crate) struct InstanceContext {
    api: Api<Secret>,
    workloads: Cache<Workload>,
    namespace: String,
    instance: String,
    /// Name of the instance's Secret.
    name: String,
}

impl InstanceContext {
    pub(crate) fn new(
        secrets: &NamespaceSecrets,
        workloads: &Cache<Workload>,
        namespace: &str,
        type_: &str,
        instance: &str,
    ) -> Self {
        Self {
            api: secrets.api(namespace),
            workloads: workloads.clone(),
            namespace: namespace.to_owned(),
            instance: instance.to_owned(),
            name: name::secret(type_, instance),
        }
    }

    fn error(&self, error: kube::Error, verb: &str) -> DriverError {
        secrets::driver_error(error, SecretRequest { verb, name: &self.name, key: None })
    }

    async fn find(&self) -> Result<Option<Secret>, DriverError> {
        self.api.get_opt(&self.name).await.map_err(|error| self.error(error, "read"))
    }

    async fn update(&self, edit: &Edit<'_>) -> Result<InstanceSecret, DriverError> {
        for _ in 0..MAX_TRIES {
            let found = self.find().await?;
            if let Some(found) = &found {
                provision::check_secret_owner(&found.metadata, &self.instance)?;
            }
            let is = found.as_ref().map(contents);
            let wanted = edit(is.as_ref().unwrap_or(&SecretData::new()))?;
            let answer = match found {
                Some(found) if is.as_ref() == Some(&wanted) => return Ok(self.shown(&found, wanted)),
                // With the resource version that was read: no concurrent change is lost.
                Some(found) => {
                    let secret = Secret { data: Some(data(&wanted)), ..found };
                    self.api.replace(&self.name, &PostParams::default(), &secret).await
                }
                None => self.api.create(&PostParams::default(), &self.fresh(&wanted)).await,
            };
            match answer {
                Ok(written) => return Ok(self.shown(&written, wanted)),
                // Read again, and edited again.
                Err(kube::Error::Api(status)) if denial::is_race(&status) => {}
                Err(error) => return Err(self.error(error, "write")),
            }
        }
        Err(DriverError::unreachable(format!(
            "The secret `{}` is being changed by others; the write is retried.",
            self.name
        )))
    }

    /// New Secret. It has no owner: it outlives its claims under the policies Retain and Orphan.
    fn fresh(&self, contents: &SecretData) -> Secret {
        let labels = [(label::INSTANCE, self.instance.as_str()), (label::MANAGED_BY, label::ORCHESTRA)];
        let labels = labels.map(|(key, value)| (key.to_owned(), value.to_owned()));
        Secret {
            metadata: ObjectMeta {
                name: Some(self.name.clone()),
                labels: Some(labels.into()),
                ..ObjectMeta::default()
            },
            data: Some(data(contents)),
            ..Secret::default()
        }
    }

    fn shown(&self, secret: &Secret, contents: SecretData) -> InstanceSecret {
        let version = secret.resource_version().unwrap_or_default();
        InstanceSecret { name: self.name.clone(), version, contents }
    }

    async fn delete(&self) -> Result<(), DriverError> {
        let found = self.find().await?;
        let found = found.filter(|found| provision::is_secret_of(&found.metadata, &self.instance));
        let Some(found) = found else { return Ok(()) };
        let this = Preconditions { uid: found.uid(), resource_version: None };
        let params = DeleteParams { preconditions: Some(this), ..DeleteParams::default() };
        match self.api.delete(&self.name, &params).await {
            Ok(_) => Ok(()),
            // It is gone, or has been replaced.
            Err(kube::Error::Api(status)) if denial::is_gone_or_replaced(&status) => Ok(()),
            Err(error) => Err(self.error(error, "delete")),
        }
    }
}

fn contents(secret: &Secret) -> SecretData {
    let data = secret.data.iter().flatten();
    data.map(|(key, value)| (key.clone(), SecretText::new(value.0.clone()))).collect()
}

fn data(contents: &SecretData) -> BTreeMap<String, ByteString> {
    contents.iter().map(|(key, value)| (key.clone(), ByteString(value.expose().to_vec()))).collect()
}

impl Secrets for InstanceContext {
    fn read<'a>(&'a self, secret: &'a SecretKeyRef) -> BoxFuture<'a, Result<Option<Read>, DriverError>> {
        Box::pin(secrets::read(&self.api, secret))
    }
}

impl ProvisionContext for InstanceContext {
    fn update_secret<'a>(&'a self, edit: &'a Edit<'a>) -> BoxFuture<'a, Result<InstanceSecret, DriverError>> {
        Box::pin(self.update(edit))
    }

    fn delete_secret(&self) -> BoxFuture<'_, Result<(), DriverError>> {
        Box::pin(self.delete())
    }

    fn workload_ports(&self, workload: &str) -> Option<BTreeMap<String, Port>> {
        service_ref::ports(&self.workloads.get(&self.namespace, workload)?)
    }

    fn workload_names(&self) -> Vec<String> {
        let all = self.workloads.keys().into_iter();
        all.filter(|(namespace, _)| *namespace == self.namespace).map(|(_, name)| name).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use orchestra_testkit::TestEnv;

    use super::*;

    #[tokio::test]
    async fn a_write_into_a_deleted_namespace_fails_without_the_retries_of_a_conflict() {
        let env = TestEnv::start().await;
        let secrets = NamespaceSecrets::new(env.client());
        let ctx = InstanceContext::new(&secrets, &Cache::default(), "gone", "vault", "a");
        let attempts = AtomicUsize::new(0);
        let edit = |_: &SecretData| {
            attempts.fetch_add(1, Ordering::Relaxed);
            Ok([("password".to_owned(), SecretText::new(b"x".to_vec()))].into())
        };
        let error = ctx.update_secret(&edit).await.unwrap_err();
        assert_eq!(attempts.into_inner(), 1);
        assert!(error.to_string().contains("the namespace does not exist"), "{error}");
    }
}
