//! Secret of an instance, as this engine writes it: the seed of its random values, the state of its templates, the record of
//! created objects, and composed outputs.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::SystemTime,
};

use orchestra_api::name;
use orchestra_core::provision::{
    params::{ParamError, Params},
    template::{Extension, Generates, Record, Rendered, SavedState},
};
use serde::{Serialize, de::DeserializeOwned};

use crate::{DriverError, SecretText, certificate, provision_context::SecretData, random};

const SEED: &str = "seed";
const STATE: &str = "state";
const SHARED: &str = "shared";
const RECORD: &str = "record";
/// Opaque version that changes with the secret values behind the outputs.
const VERSION: &str = "version";
/// Hash of those values.
const FINGERPRINT: &str = "fingerprint";
/// Prefix of generated values.
const VALUE: &str = "value.";
/// Default key.
const ONE: &str = "secret";

/// State of earlier runs; `None` if this is the first.
pub(super) fn past(contents: &SecretData) -> Option<SavedState> {
    Some(SavedState {
        seed: contents.get(SEED)?.expose().to_vec(),
        state: read(contents, STATE),
        shared: read(contents, SHARED),
        record: read(contents, RECORD),
    })
}

/// Record of created objects. Not needed for objects that are found by their labels.
pub(super) fn record(contents: &SecretData) -> Record {
    read(contents, RECORD)
}

/// State of a first run.
pub(super) fn initial_state() -> Result<SavedState, DriverError> {
    Ok(SavedState { seed: random::generate()?, ..SavedState::default() })
}

/// Unreadable values count as absent.
fn read<T: DeserializeOwned + Default>(contents: &SecretData, key: &str) -> T {
    contents.get(key).and_then(|text| serde_json::from_slice(text.expose()).ok()).unwrap_or_default()
}

fn written(value: &impl Serialize) -> SecretText {
    SecretText::new(serde_json::to_vec(value).unwrap_or_default())
}

/// Values that the engine generates for an entry, and the data to store for them.
pub(super) fn generated(
    extension: &Extension,
    params: &Params,
    is: &SecretData,
) -> Result<(BTreeMap<String, String>, SecretData), DriverError> {
    let refused = |error: ParamError| super::refused(error.to_string());
    match extension.generates {
        None => Ok((BTreeMap::new(), SecretData::new())),
        Some(Generates::Values) => {
            let mut keys = params.texts("keys").map_err(refused)?;
            if keys.is_empty() {
                keys.push(ONE.to_owned());
            }
            if let Some(key) = keys.iter().find(|key| !is_key(key)) {
                return Err(super::refused(format!(
                    "The parameter `keys` has {key:?}, which is not a valid key: use letters, digits, `-`, `_` and `.`."
                )));
            }
            // Unused values stay, so that a later request gets the same.
            let mut stored: SecretData = is.clone();
            stored.retain(|key, _| key.starts_with(VALUE));
            let mut values = BTreeMap::new();
            for key in keys {
                let at = format!("{VALUE}{key}");
                if !stored.contains_key(&at) {
                    stored.insert(at.clone(), SecretText::new(random::generate()?));
                }
                values.insert(key, text(&stored, &at));
            }
            Ok((values, stored))
        }
        Some(Generates::Certificate) => {
            let mut hosts: BTreeSet<String> = params.texts("hosts").map_err(refused)?.into_iter().collect();
            hosts.extend(params.texts("dns").map_err(refused)?);
            let mut own = is.clone();
            own.retain(|key, _| certificate::is_own(key));
            let stored = certificate::renewed(&own, &hosts, SystemTime::now())?;
            let keys = [certificate::CERTIFICATE, certificate::KEY, certificate::CA];
            Ok((keys.map(|key| (key.to_owned(), text(&stored, key))).into(), stored))
        }
    }
}

fn text(contents: &SecretData, key: &str) -> String {
    contents.get(key).map(|value| String::from_utf8_lossy(value.expose()).into_owned()).unwrap_or_default()
}

/// Data to store after a run.
pub(super) fn after(
    rendered: &Rendered,
    generated: SecretData,
    is: &SecretData,
) -> Result<SecretData, DriverError> {
    let SavedState { seed, state, shared, record } = &rendered.saved;
    let mut contents = generated;
    contents.insert(SEED.to_owned(), SecretText::new(seed.clone()));
    contents.insert(STATE.to_owned(), written(state));
    contents.insert(SHARED.to_owned(), written(shared));
    contents.insert(RECORD.to_owned(), written(record));
    for (key, value) in &rendered.sealed.composed {
        contents.insert(key.clone(), SecretText::new(value.clone().into_bytes()));
    }
    if !rendered.sealed.composed.is_empty() || !rendered.secrets.is_empty() {
        let fingerprint = fingerprint(rendered);
        let is_same = is.get(FINGERPRINT).is_some_and(|stored| stored.expose() == fingerprint.as_bytes());
        let version = match is.get(VERSION) {
            Some(version) if is_same => version.clone(),
            _ => SecretText::new(random::generate()?),
        };
        contents.insert(FINGERPRINT.to_owned(), SecretText::new(fingerprint.into_bytes()));
        contents.insert(VERSION.to_owned(), version);
    }
    Ok(contents)
}

/// The same data with another record.
pub(super) fn noted(is: &SecretData, record: &Record) -> SecretData {
    let mut contents = is.clone();
    contents.insert(RECORD.to_owned(), written(record));
    contents
}

/// Version of the secret values behind the outputs.
pub(super) fn version(contents: &SecretData) -> Option<String> {
    contents.contains_key(VERSION).then(|| text(contents, VERSION))
}

fn fingerprint(rendered: &Rendered) -> String {
    let composed = rendered.sealed.composed.iter().flat_map(|(key, value)| [key.clone(), value.clone()]);
    let own = rendered.secrets.iter().flat_map(|((secret, key), value)| {
        [secret.clone(), key.clone(), String::from_utf8_lossy(value).into_owned()]
    });
    let all: Vec<String> = composed.chain(own).collect();
    name::hash(&all.iter().map(String::as_str).collect::<Vec<_>>())
}

/// True if a text is a valid key of a Secret.
fn is_key(key: &str) -> bool {
    let is_inside = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let longest = 253 - VALUE.len();
    !key.is_empty()
        && key.len() <= longest
        && key.chars().all(is_inside)
        && !key.starts_with("..")
        && key != "."
}
