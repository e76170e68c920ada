//! The author's environment: variables of the shell in which the Score file was applied, and of the file `.env` beside it.
//! They may be secret, so they are kept as secrets.

use std::{collections::BTreeMap, path::Path};

use orchestra_core::provision::{Bound, Instance, Provision};

use super::{
    params::{broken, listed},
    secret::{is_key, of_keys},
};
use crate::{DriverError, Neighbourhood, SecretText, neighbourhood::Contents, process::folders};

pub(super) async fn ensure(
    data: &Path,
    instance: &Instance,
    around: &dyn Neighbourhood,
) -> Result<Provision, DriverError> {
    let mut variables = BTreeMap::new();
    let mut unknown = Vec::new();
    for dependent in &instance.dependents {
        match folders::find(data, &instance.namespace, &dependent.workload).map_err(broken)? {
            None => unknown.push(dependent.workload.as_str()),
            Some(home) => {
                for (name, value) in home.environment.into_iter().filter(|(name, _)| is_key(name)) {
                    // Of several authors, the first counts.
                    variables.entry(name).or_insert(value);
                }
            }
        }
    }
    if unknown.len() == instance.dependents.len() {
        return Ok(Provision::Pending(format!(
            "The environment of the author of {} is not known on this machine: apply the file with `orchestra up` or `orchestra apply`.",
            listed(unknown)
        )));
    }
    let wanted: Contents =
        variables.into_iter().map(|(name, value)| (name, SecretText::new(value.into_bytes()))).collect();
    let kept = around.keep(&|_| Ok(wanted.clone())).await?;
    let message =
        "Ready to use; taken from the shell in which the file was applied, and from `.env`.".to_owned();
    Ok(Provision::Bound(Bound { message, ..of_keys(&kept, wanted.into_keys()) }))
}
