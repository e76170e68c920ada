//! Secrets, each read by name when it is needed. None is listed, watched or cached.

use std::fmt;

use futures_util::future::BoxFuture;
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client, ResourceExt};
use orchestra_api::reference::SecretKeyRef;
use orchestra_core::denial::secret::SecretRequest;
use orchestra_drivers::{DriverError, SecretText, Secrets, secret::Read};

/// Secrets of every namespace, which the platform may read by name.
#[derive(Clone)]
pub struct NamespaceSecrets(Client);

impl fmt::Debug for NamespaceSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NamespaceSecrets")
    }
}

impl NamespaceSecrets {
    /// Secrets as this client sees them.
    pub fn new(client: Client) -> Self {
        Self(client)
    }

    /// API of the Secrets of one namespace.
    pub(crate) fn api(&self, namespace: &str) -> Api<Secret> {
        Api::namespaced(self.0.clone(), namespace)
    }

    /// Secrets of one namespace.
    pub fn of(&self, namespace: &str) -> impl Secrets + use<> {
        SingleNamespaceSecrets(self.api(namespace))
    }
}

/// Secrets of one namespace.
struct SingleNamespaceSecrets(Api<Secret>);

impl Secrets for SingleNamespaceSecrets {
    fn read<'a>(&'a self, secret: &'a SecretKeyRef) -> BoxFuture<'a, Result<Option<Read>, DriverError>> {
        Box::pin(read(&self.0, secret))
    }
}

/// Value of one key of a Secret.
pub(crate) async fn read(api: &Api<Secret>, secret: &SecretKeyRef) -> Result<Option<Read>, DriverError> {
    let found = api.get_opt(&secret.name).await.map_err(|error| {
        driver_error(error, SecretRequest { verb: "read", name: &secret.name, key: Some(&secret.key) })
    })?;
    Ok(found.and_then(|found| {
        let version = found.resource_version().unwrap_or_default();
        let value = found.data?.remove(&secret.key)?;
        Some(Read { value: SecretText::new(value.0), version })
    }))
}

/// Error of a request about a Secret, with its source unless that may quote the content.
pub(crate) fn driver_error(error: kube::Error, request: SecretRequest<'_>) -> DriverError {
    let status = match &error {
        kube::Error::Api(status) => Some(&**status),
        _ => None,
    };
    let may_quote =
        matches!(error, kube::Error::SerdeError(_)) || status.is_some_and(|status| status.code == 422);
    let failed = request.error(status);
    if may_quote { failed } else { failed.with_source(error) }
}
