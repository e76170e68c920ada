//! Secrets, from the API to where they are used. They are never printed.

use std::fmt;

use futures_util::future::BoxFuture;
use orchestra_api::reference::SecretKeyRef;

use crate::DriverError;

/// Secret value. Its `Debug` shows nothing.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretText(Vec<u8>);

impl SecretText {
    /// Wraps a value.
    pub fn new(value: Vec<u8>) -> Self {
        Self(value)
    }

    /// The value, where it is needed.
    pub fn expose(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretText")
    }
}

/// Value of a key of a Secret.
#[derive(Clone, Debug)]
pub struct Read {
    /// Value.
    pub value: SecretText,
    /// Version of the Secret; changes with the values.
    pub version: String,
}

/// Reader of the Secrets of one namespace, each by its name.
pub trait Secrets: Send + Sync {
    /// Value of a key; `None` if there is no such Secret or no such key.
    fn read<'a>(&'a self, secret: &'a SecretKeyRef) -> BoxFuture<'a, Result<Option<Read>, DriverError>>;
}
