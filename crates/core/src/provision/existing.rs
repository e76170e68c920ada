//! Resources that already exist: outputs of the engine `static`. They follow from the config, except for the existence of
//! its Secrets.

use std::collections::BTreeMap;

use orchestra_api::{claim::Output, config::Provisioner, reference::SecretKeyRef};

use super::Bound;

/// Secret outputs of an entry, by name.
pub fn secrets(entry: &Provisioner) -> impl Iterator<Item = (&String, &SecretKeyRef)> {
    entry.outputs.iter().filter_map(|(name, output)| match output {
        Output::SecretKeyRef(secret) => Some((name, secret)),
        Output::Value(_) => None,
    })
}

/// Outputs of an entry whose Secrets have these versions.
pub fn bind(entry: &Provisioner, versions: BTreeMap<String, String>) -> Bound {
    Bound { outputs: entry.outputs.clone(), versions, message: "Ready.".to_owned() }
}
