//! Environment of the author: variables of the shell in which the Score file was applied, and of the file `.env` beside it. They
//! may be secret, so the outputs are secret.

use std::collections::BTreeMap;

use orchestra_core::provision::{Bound, Instance, Provision};

use super::{
    params::{listed, unavailable},
    secret::{is_key, of_keys},
};
use crate::{DriverError, ProvisionContext, SecretText, process::OriginStore, provision_context::SecretData};

pub(super) async fn ensure(
    origins: &OriginStore,
    instance: &Instance,
    ctx: &dyn ProvisionContext,
) -> Result<Provision, DriverError> {
    let mut variables = BTreeMap::new();
    let mut unknown = Vec::new();
    for dependent in &instance.dependents {
        match origins.find(&instance.namespace, &dependent.workload).map_err(unavailable)? {
            None => unknown.push(dependent.workload.as_str()),
            Some(origin) => {
                for (name, value) in origin.environment.into_iter().filter(|(name, _)| is_key(name)) {
                    // The first Workload that has the variable counts.
                    variables.entry(name).or_insert(value);
                }
            }
        }
    }
    if unknown.len() == instance.dependents.len() {
        return Ok(Provision::Pending(format!(
            "The environment of the author of {} is unknown on this machine: apply the file here with `orchestra up` or `orchestra apply`.",
            listed(unknown)
        )));
    }
    let wanted: SecretData =
        variables.into_iter().map(|(name, value)| (name, SecretText::new(value.into_bytes()))).collect();
    let kept = ctx.update_secret(&|_| Ok(wanted.clone())).await?;
    let message = "Ready to use; from the shell in which the file was applied, and from `.env`.".to_owned();
    Ok(Provision::Bound(Bound { message, ..of_keys(&kept, wanted.into_keys()) }))
}
