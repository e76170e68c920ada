//! Things that exist already, as the platform's document describes them: what the engine `static` gives. All of it
//! follows from the document, but for whether the Secrets that it names are there.

use std::collections::BTreeMap;

use orchestra_api::{claim::Output, config::Provisioner, reference::SecretKeyRef};

use super::Bound;

/// The outputs of an entry that Secrets hold, by name.
pub fn secrets(entry: &Provisioner) -> impl Iterator<Item = (&String, &SecretKeyRef)> {
    entry.outputs.iter().filter_map(|(name, output)| match output {
        Output::SecretKeyRef(secret) => Some((name, secret)),
        Output::Value(_) => None,
    })
}

/// What an entry gives while its Secrets are there in these versions.
pub fn bind(entry: &Provisioner, versions: BTreeMap<String, String>) -> Bound {
    Bound { outputs: entry.outputs.clone(), versions, message: "Ready to use.".to_owned() }
}
