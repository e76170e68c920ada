//! What provides the things that claims ask for.

use futures_util::{future::BoxFuture, stream::BoxStream};
use orchestra_core::provision::{Engine, Instance, Provision, Release};

use crate::{DriverError, Neighbourhood};

/// Provides instances, with one engine.
pub trait Provisioner: Send + Sync + 'static {
    /// The name of the engine, as the platform's document gives it.
    fn engine(&self) -> &str;

    /// What the engine is like.
    fn traits(&self) -> Engine;

    /// Makes an instance be there as it is asked for, and says how far it is. Idempotent. `Bound` means that it
    /// answers.
    fn ensure<'a>(
        &'a self,
        instance: &'a Instance,
        around: &'a dyn Neighbourhood,
    ) -> BoxFuture<'a, Result<Provision, DriverError>>;

    /// Takes an instance down. Idempotent, and from what it made itself: the document may say something else by now.
    fn release<'a>(
        &'a self,
        release: &'a Release,
        around: &'a dyn Neighbourhood,
    ) -> BoxFuture<'a, Result<Released, DriverError>>;

    /// The namespaces and identities of instances about which there is something new.
    fn changes(&self) -> BoxStream<'static, (String, String)>;
}

/// How far a release is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Released {
    /// It is done.
    Done,
    /// Something is still going on; what, in a sentence. A change will be reported.
    Waiting(String),
}
