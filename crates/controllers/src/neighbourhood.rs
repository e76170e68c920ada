//! What engines find around an instance: its own Secret, which is read and written by name, and the Workloads that the
//! caches know.

use std::collections::BTreeMap;

use futures_util::future::BoxFuture;
use k8s_openapi::{ByteString, api::core::v1::Secret, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, PostParams, Preconditions},
};
use orchestra_api::{Reason, Workload, label, name, plan::Port, reference::SecretKeyRef};
use orchestra_core::provision::neighbour;
use orchestra_drivers::{
    DriverError, Neighbourhood, SecretText, Secrets,
    neighbourhood::{Contents, Edit, Kept},
    secret::Read,
};

use crate::{
    cache::Cache,
    secrets::{self, NamespaceSecrets},
};

/// How often a write is tried that others have come before.
const TRIES: usize = 5;

/// What is around one instance.
pub(crate) struct Surrounding {
    api: Api<Secret>,
    workloads: Cache<Workload>,
    namespace: String,
    instance: String,
    /// The name of the Secret of the instance.
    name: String,
}

impl Surrounding {
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

    fn is_ours(&self, secret: &Secret) -> bool {
        secret.labels().get(label::INSTANCE) == Some(&self.instance)
    }

    async fn find(&self) -> Result<Option<Secret>, DriverError> {
        self.api.get_opt(&self.name).await.map_err(|error| secrets::refusal(&error, "read"))
    }

    async fn kept(&self, edit: &Edit<'_>) -> Result<Kept, DriverError> {
        for _ in 0..TRIES {
            let found = self.find().await?;
            if found.as_ref().is_some_and(|found| !self.is_ours(found)) {
                return Err(DriverError::Refused {
                    reason: Reason::BindingFailed,
                    message: format!(
                        "There is a secret `{}` in this namespace that the platform has not made, where it would keep its own: rename or delete that one.",
                        self.name
                    ),
                });
            }
            let is = found.as_ref().map(contents);
            let wanted = edit(is.as_ref().unwrap_or(&Contents::new()))?;
            let answer = match found {
                Some(found) if is.as_ref() == Some(&wanted) => return Ok(self.shown(&found, wanted)),
                // The version that was read comes along: nobody's later change is lost.
                Some(found) => {
                    let secret = Secret { data: Some(data(&wanted)), ..found };
                    self.api.replace(&self.name, &PostParams::default(), &secret).await
                }
                None => self.api.create(&PostParams::default(), &self.fresh(&wanted)).await,
            };
            match answer {
                Ok(written) => return Ok(self.shown(&written, wanted)),
                // Somebody came before, or took it away.
                Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => {}
                Err(error) => return Err(secrets::refusal(&error, "keep")),
            }
        }
        Err(DriverError::unreachable(format!(
            "The secret `{}` is being changed by others; the platform tries again.",
            self.name
        )))
    }

    /// It outlives its claims where these say so: nobody owns it.
    fn fresh(&self, contents: &Contents) -> Secret {
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

    fn shown(&self, secret: &Secret, contents: Contents) -> Kept {
        let version = secret.resource_version().unwrap_or_default();
        Kept { name: self.name.clone(), version, contents }
    }

    async fn forgotten(&self) -> Result<(), DriverError> {
        let Some(found) = self.find().await?.filter(|found| self.is_ours(found)) else { return Ok(()) };
        let this = Preconditions { uid: found.uid(), resource_version: None };
        let params = DeleteParams { preconditions: Some(this), ..DeleteParams::default() };
        match self.api.delete(&self.name, &params).await {
            Ok(_) => Ok(()),
            // Gone, or another one by now.
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(()),
            Err(error) => Err(secrets::refusal(&error, "remove")),
        }
    }
}

fn contents(secret: &Secret) -> Contents {
    let data = secret.data.iter().flatten();
    data.map(|(key, value)| (key.clone(), SecretText::new(value.0.clone()))).collect()
}

fn data(contents: &Contents) -> BTreeMap<String, ByteString> {
    contents.iter().map(|(key, value)| (key.clone(), ByteString(value.expose().to_vec()))).collect()
}

impl Secrets for Surrounding {
    fn read<'a>(&'a self, secret: &'a SecretKeyRef) -> BoxFuture<'a, Result<Option<Read>, DriverError>> {
        Box::pin(secrets::read(&self.api, secret))
    }
}

impl Neighbourhood for Surrounding {
    fn keep<'a>(&'a self, edit: &'a Edit<'a>) -> BoxFuture<'a, Result<Kept, DriverError>> {
        Box::pin(self.kept(edit))
    }

    fn forget(&self) -> BoxFuture<'_, Result<(), DriverError>> {
        Box::pin(self.forgotten())
    }

    fn neighbour(&self, workload: &str) -> Option<BTreeMap<String, Port>> {
        neighbour::ports(&self.workloads.get(&self.namespace, workload)?)
    }

    fn neighbours(&self) -> Vec<String> {
        let all = self.workloads.keys().into_iter();
        all.filter(|(namespace, _)| *namespace == self.namespace).map(|(_, name)| name).collect()
    }
}
