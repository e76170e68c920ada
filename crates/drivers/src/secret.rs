//! Secrets, on the way from the API to where they are used. They are never printed.

use std::fmt;

use futures_util::future::BoxFuture;
use orchestra_api::reference::SecretKeyRef;

use crate::DriverError;

/// A secret value. Its `Debug` says nothing.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretText(Vec<u8>);

impl SecretText {
    /// Takes charge of a value.
    pub fn new(value: Vec<u8>) -> Self {
        Self(value)
    }

    /// The value, for whoever must have it.
    pub fn expose(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretText")
    }
}

/// One key of a Secret that was read.
#[derive(Clone, Debug)]
pub struct Read {
    /// The value.
    pub value: SecretText,
    /// The version of the Secret; it changes with the values in it.
    pub version: String,
}

/// Reads Secrets of one namespace, each by its name.
pub trait Secrets: Send + Sync {
    /// The value of a key; `None` if there is no such Secret or no such key.
    fn read<'a>(&'a self, secret: &'a SecretKeyRef) -> BoxFuture<'a, Result<Option<Read>, DriverError>>;
}
