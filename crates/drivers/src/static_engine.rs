//! The engine `static`: existing services, as the orchestrator config describes them.
//!
//! Literal outputs are bound at once. A secret output names a Secret of the Workload's namespace that another client creates;
//! the claim is bound when the Secret exists and has the key. Nothing is created, and so nothing is ever deleted.

use std::collections::BTreeMap;

use futures_util::{
    future::BoxFuture,
    stream::{self, BoxStream, StreamExt},
};
use orchestra_core::{
    config::provisioner::STATIC,
    provision::{Engine, Instance, Provision, Release, existing},
};

use crate::{DriverError, NamespacedName, ProvisionContext, Provisioner, Released};

/// The engine `static`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Static;

impl Provisioner for Static {
    fn name(&self) -> &'static str {
        STATIC
    }

    fn capabilities(&self) -> Engine {
        Engine { additive: true, reads_params: false }
    }

    fn ensure<'a>(
        &'a self,
        instance: &'a Instance,
        ctx: &'a dyn ProvisionContext,
    ) -> BoxFuture<'a, Result<Provision, DriverError>> {
        Box::pin(async move {
            let mut versions = BTreeMap::new();
            for (name, secret) in existing::secrets(&instance.entry) {
                let Some(read) = ctx.read(secret).await? else {
                    return Ok(Provision::Pending(format!(
                        "Waiting for the secret `{}` with the key `{}` in this namespace, which has the output `{name}`: its owner must create it.",
                        secret.name, secret.key
                    )));
                };
                versions.insert(secret.name.clone(), read.version);
            }
            Ok(Provision::Bound(existing::bind(&instance.entry, versions)))
        })
    }

    fn release<'a>(
        &'a self,
        _: &'a Release,
        _: &'a dyn ProvisionContext,
    ) -> BoxFuture<'a, Result<Released, DriverError>> {
        Box::pin(async { Ok(Released::Done) })
    }

    fn changes(&self) -> BoxStream<'static, NamespacedName> {
        stream::pending().boxed()
    }
}
