//! Provisioner of the instances that claims ask for.

use futures_util::{future::BoxFuture, stream::BoxStream};
use orchestra_core::provision::{Engine, Instance, Provision, Release};

use crate::{DriverError, NamespacedName, ProvisionContext, Released};

/// Provisioner with one engine.
pub trait Provisioner: Send + Sync + 'static {
    /// Name of the engine, as in the orchestrator config.
    fn name(&self) -> &str;

    /// Capabilities of the engine.
    fn capabilities(&self) -> Engine;

    /// Provides an instance as it is asked for, and returns its status. Idempotent. `Bound` means that it is ready.
    fn ensure<'a>(
        &'a self,
        instance: &'a Instance,
        ctx: &'a dyn ProvisionContext,
    ) -> BoxFuture<'a, Result<Provision, DriverError>>;

    /// Releases an instance. Idempotent, and based on what the engine has created: the config may have changed since.
    fn release<'a>(
        &'a self,
        release: &'a Release,
        ctx: &'a dyn ProvisionContext,
    ) -> BoxFuture<'a, Result<Released, DriverError>>;

    /// Namespaces and identities of instances whose status has changed.
    fn changes(&self) -> BoxStream<'static, NamespacedName>;
}
