//! Secrets, each read by its name from the API when it is needed. None is listed, watched or kept.

use std::fmt;

use futures_util::future::BoxFuture;
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client, ResourceExt};
use orchestra_api::{Reason, reference::SecretKeyRef};
use orchestra_drivers::{DriverError, SecretText, Secrets, secret::Read};

/// The Secrets of every namespace, for which the platform needs the right to read single ones.
#[derive(Clone)]
pub struct NamespaceSecrets(Client);

impl fmt::Debug for NamespaceSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NamespaceSecrets")
    }
}

impl NamespaceSecrets {
    /// Reads with this client.
    pub fn new(client: Client) -> Self {
        Self(client)
    }

    /// The API of the Secrets of one namespace.
    pub(crate) fn api(&self, namespace: &str) -> Api<Secret> {
        Api::namespaced(self.0.clone(), namespace)
    }

    /// The Secrets of one namespace.
    pub fn of(&self, namespace: &str) -> impl Secrets + use<> {
        One(self.api(namespace))
    }
}

struct One(Api<Secret>);

impl Secrets for One {
    fn read<'a>(&'a self, secret: &'a SecretKeyRef) -> BoxFuture<'a, Result<Option<Read>, DriverError>> {
        Box::pin(read(&self.0, secret))
    }
}

/// The value of one key of a Secret.
pub(crate) async fn read(api: &Api<Secret>, secret: &SecretKeyRef) -> Result<Option<Read>, DriverError> {
    let found = api.get_opt(&secret.name).await.map_err(|error| refusal(&error, "read"))?;
    Ok(found.and_then(|found| {
        let version = found.resource_version().unwrap_or_default();
        let value = found.data?.remove(&secret.key)?;
        Some(Read { value: SecretText::new(value.0), version })
    }))
}

/// What went wrong, without a word of what was read.
pub(crate) fn refusal(error: &kube::Error, wish: &str) -> DriverError {
    match error {
        kube::Error::Api(status) if status.code == 403 => DriverError::Transient {
            reason: Reason::PermissionDenied,
            message: format!(
                "The platform may not {wish} the secrets of this namespace: the platform team has to allow it."
            ),
        },
        _ => DriverError::unreachable(format!(
            "The platform cannot {wish} secrets at the moment; it tries again."
        )),
    }
}
