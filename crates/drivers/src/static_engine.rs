//! The engine `static`: things that exist already, as the platform's document describes them.
//!
//! Plain outputs are there at once. A secret output names a Secret of the Workload's namespace that somebody else
//! keeps; the claim is bound when it is there and has the key. Nothing is made, and so nothing is ever taken down.

use std::collections::BTreeMap;

use futures_util::{
    future::BoxFuture,
    stream::{self, BoxStream, StreamExt},
};
use orchestra_core::{
    config::provisioner::STATIC,
    provision::{Engine, Instance, Provision, Release, existing},
};

use crate::{DriverError, Neighbourhood, Provisioner, Released};

/// The engine `static`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Static;

impl Provisioner for Static {
    fn engine(&self) -> &'static str {
        STATIC
    }

    fn traits(&self) -> Engine {
        Engine { additive: true, reads_params: false }
    }

    fn ensure<'a>(
        &'a self,
        instance: &'a Instance,
        around: &'a dyn Neighbourhood,
    ) -> BoxFuture<'a, Result<Provision, DriverError>> {
        Box::pin(async move {
            let mut versions = BTreeMap::new();
            for (name, secret) in existing::secrets(&instance.entry) {
                let Some(read) = around.read(secret).await? else {
                    return Ok(Provision::Pending(format!(
                        "Waiting for the secret `{}` with the key `{}`, which holds the output `{name}`: whoever keeps it has to put it into this namespace.",
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
        _: &'a dyn Neighbourhood,
    ) -> BoxFuture<'a, Result<Released, DriverError>> {
        Box::pin(async { Ok(Released::Done) })
    }

    fn changes(&self) -> BoxStream<'static, (String, String)> {
        stream::pending().boxed()
    }
}
