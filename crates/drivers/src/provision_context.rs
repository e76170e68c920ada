//! Context of an instance, for engines: the Secrets of its namespace, its own Secret, and the Workloads beside it. Engines see
//! no more of the API.

use std::collections::BTreeMap;

use futures_util::future::BoxFuture;
use orchestra_api::{plan::Port, reference::SecretKeyRef};

use crate::{DriverError, SecretText, Secrets};

/// Data of the Secret of an instance, by key.
pub type SecretData = BTreeMap<String, SecretText>;

/// Edit of the Secret of an instance: from its data to the desired data.
pub type Edit<'a> = dyn Fn(&SecretData) -> Result<SecretData, DriverError> + Send + Sync + 'a;

/// Secret of an instance, as it is stored.
#[derive(Clone, Debug)]
pub struct InstanceSecret {
    /// Name.
    pub name: String,
    /// Version; changes with the values.
    pub version: String,
    /// Data.
    pub contents: SecretData,
}

impl InstanceSecret {
    /// Reference to a key.
    pub fn key(&self, key: &str) -> SecretKeyRef {
        SecretKeyRef { name: self.name.clone(), key: key.to_owned() }
    }
}

/// Context of an instance.
pub trait ProvisionContext: Secrets {
    /// Creates the Secret of the instance, or updates it if the edit changes its data. The edit may be called more than once. A
    /// Secret of the same name that is not managed by orchestra is not touched, and is the error.
    fn update_secret<'a>(&'a self, edit: &'a Edit<'a>) -> BoxFuture<'a, Result<InstanceSecret, DriverError>>;

    /// Deletes the Secret of the instance, if there is one.
    fn delete_secret(&self) -> BoxFuture<'_, Result<(), DriverError>>;

    /// Ports that a Workload of the namespace declares, by name; `None` if there is no such Workload.
    fn workload_ports(&self, workload: &str) -> Option<BTreeMap<String, Port>>;

    /// Names of the Workloads of the namespace.
    fn workload_names(&self) -> Vec<String>;
}
