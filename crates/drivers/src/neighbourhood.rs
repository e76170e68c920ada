//! What an engine finds around an instance: the Secrets of its namespace, the one Secret that is its own, and the
//! Workloads beside it. Engines see no more of the API than this.

use std::collections::BTreeMap;

use futures_util::future::BoxFuture;
use orchestra_api::{plan::Port, reference::SecretKeyRef};

use crate::{DriverError, SecretText, Secrets};

/// What is in the Secret of an instance, by key.
pub type Contents = BTreeMap<String, SecretText>;

/// From what is in the Secret of an instance to what shall be in it.
pub type Edit<'a> = dyn Fn(&Contents) -> Result<Contents, DriverError> + Send + Sync + 'a;

/// The Secret of an instance, as it is kept.
#[derive(Clone, Debug)]
pub struct Kept {
    /// Its name.
    pub name: String,
    /// Its version; it changes with the values in it.
    pub version: String,
    /// What is in it.
    pub contents: Contents,
}

impl Kept {
    /// Where the value of a key is.
    pub fn key(&self, key: &str) -> SecretKeyRef {
        SecretKeyRef { name: self.name.clone(), key: key.to_owned() }
    }
}

/// What an engine finds around an instance.
pub trait Neighbourhood: Secrets {
    /// Keeps the Secret of the instance: it is made if there is none, and written if the edit changes it. The edit may be
    /// asked more than once. A Secret of this name that is not of this instance is not touched, and is the error.
    fn keep<'a>(&'a self, edit: &'a Edit<'a>) -> BoxFuture<'a, Result<Kept, DriverError>>;

    /// Removes the Secret of the instance, if there is one.
    fn forget(&self) -> BoxFuture<'_, Result<(), DriverError>>;

    /// The ports that a Workload of the namespace declares, by name; `None` if there is no such Workload.
    fn neighbour(&self, workload: &str) -> Option<BTreeMap<String, Port>>;

    /// The names of the Workloads of the namespace.
    fn neighbours(&self) -> Vec<String>;
}
