//! Separation of secret outputs. An output that is exactly one reference to a Secret stays a reference; a text with a
//! reference or a random value is composed into the Secret of the instance; any other output is public.

use std::collections::{BTreeMap, BTreeSet};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use orchestra_api::{claim::Output, name, reference::SecretKeyRef};
use serde_json::{Map, Value as Json};

use super::error::TemplateError;
use crate::template::{Segment, decode_secret_refs};

/// Outputs that are addresses and names: a few random characters make them unique, not secret.
const NAME_OUTPUTS: [&str; 13] = [
    "bucket", "database", "endpoint", "host", "hostname", "name", "region", "server", "source", "topic",
    "url", "vhost", "workload",
];
/// Minimum length of a random value that is secret in a name.
const MIN_PASSWORD_CHARS: usize = 12;
/// Minimum length of a random value that is recognised in a text.
const MIN_RANDOM_CHARS: usize = 4;
/// Prefix of the keys of composed outputs in the Secret of the instance.
const PREFIX: &str = "output.";

/// Outputs, with secret values separated.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sealed {
    /// Outputs for claims, by name.
    pub outputs: BTreeMap<String, Output>,
    /// Composed values for the Secret of the instance, by key.
    pub composed: BTreeMap<String, String>,
}

/// Values of Secrets, by name of the Secret and key.
pub type Secrets = BTreeMap<(String, String), Vec<u8>>;

/// Values of the Secrets among admitted objects.
pub fn secrets(objects: &[Json]) -> Result<Secrets, TemplateError> {
    let mut found = Secrets::new();
    for object in objects.iter().filter(|object| object["kind"] == "Secret") {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        for (key, value) in object["data"].as_object().into_iter().flatten() {
            let value = value.as_str().and_then(|value| STANDARD.decode(value).ok());
            let invalid = || TemplateError::InvalidBase64 { secret: name.to_owned(), key: key.clone() };
            let value = value.ok_or_else(invalid)?;
            found.insert((name.to_owned(), key.clone()), value);
        }
    }
    Ok(found)
}

/// Secret values of an instance.
#[derive(Clone, Copy, Debug)]
pub struct SecretContext<'a> {
    /// Values of the instance's own Secrets; outputs may not refer to others.
    pub secrets: &'a Secrets,
    /// Generated random values.
    pub random_values: &'a BTreeSet<String>,
    /// Outputs that are public although they contain random values.
    pub public: &'a [String],
    /// Name of the Secret of the instance.
    pub secret_name: &'a str,
}

/// Separates secret outputs.
pub fn seal(outputs: &Map<String, Json>, context: SecretContext<'_>) -> Result<Sealed, TemplateError> {
    let mut sealed = Sealed::default();
    for (output, value) in outputs {
        let secret = match value {
            Json::String(text) => single_reference(text),
            _ => None,
        };
        let given = if let Some(secret) = secret {
            context.value(output, &secret)?;
            Output::SecretKeyRef(secret)
        } else if context.is_secret(output, value) {
            let text = context.composed(output, value)?;
            let key = key(output);
            sealed.composed.insert(key.clone(), text);
            Output::SecretKeyRef(SecretKeyRef { name: context.secret_name.to_owned(), key })
        } else {
            Output::Value(value.clone())
        };
        sealed.outputs.insert(output.clone(), given);
    }
    Ok(sealed)
}

/// Reference, if the text is nothing else.
fn single_reference(text: &str) -> Option<SecretKeyRef> {
    match decode_secret_refs(text).as_slice() {
        [Segment::Ref { name, key }] => Some(SecretKeyRef { name: name.clone(), key: key.clone() }),
        _ => None,
    }
}

/// True for the key of a composed output in the Secret of an instance.
pub fn is_composed(key: &str) -> bool {
    key.starts_with(PREFIX)
}

/// Key of an output in the Secret of the instance. A name that is no valid key is hashed.
fn key(output: &str) -> String {
    let is_valid = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if output.len() <= 200 && output.chars().all(is_valid) {
        format!("{PREFIX}{output}")
    } else {
        format!("{PREFIX}{}", name::hash(&[output]))
    }
}

impl SecretContext<'_> {
    fn value(&self, output: &str, secret: &SecretKeyRef) -> Result<&[u8], TemplateError> {
        let found = self.secrets.get(&(secret.name.clone(), secret.key.clone()));
        found.map(Vec::as_slice).ok_or_else(|| TemplateError::ForeignSecret {
            output: output.to_owned(),
            secret: secret.name.clone(),
            key: secret.key.clone(),
        })
    }

    /// True if a value contains a reference or a random value.
    fn is_secret(&self, output: &str, value: &Json) -> bool {
        match value {
            Json::String(text) => {
                let refers = decode_secret_refs(text).iter().any(|part| matches!(part, Segment::Ref { .. }));
                refers || self.contains_random(output, text)
            }
            Json::Array(items) => items.iter().any(|item| self.is_secret(output, item)),
            Json::Object(fields) => fields.values().any(|value| self.is_secret(output, value)),
            _ => self.contains_random(output, &value.to_string()),
        }
    }

    fn contains_random(&self, output: &str, text: &str) -> bool {
        if self.public.iter().any(|public| public == output) {
            return false;
        }
        let least = if NAME_OUTPUTS.contains(&output) { MIN_PASSWORD_CHARS } else { MIN_RANDOM_CHARS };
        let lower = text.to_lowercase();
        self.random_values.iter().any(|random| {
            let contains = || {
                lower.contains(&random.to_lowercase())
                    || text.contains(&STANDARD.encode(random)[..random.len()])
            };
            random.len() >= least && contains()
        })
    }

    /// Text of a value, with its references resolved.
    fn composed(&self, output: &str, value: &Json) -> Result<String, TemplateError> {
        match value {
            Json::String(text) => self.resolved(output, text),
            other => Ok(self.inside(output, other)?.to_string()),
        }
    }

    fn inside(&self, output: &str, value: &Json) -> Result<Json, TemplateError> {
        Ok(match value {
            Json::String(text) => Json::String(self.resolved(output, text)?),
            Json::Array(items) => {
                Json::Array(items.iter().map(|item| self.inside(output, item)).collect::<Result<_, _>>()?)
            }
            Json::Object(fields) => {
                let fields = fields.iter().map(|(key, value)| Ok((key.clone(), self.inside(output, value)?)));
                Json::Object(fields.collect::<Result<_, TemplateError>>()?)
            }
            other => other.clone(),
        })
    }

    fn resolved(&self, output: &str, text: &str) -> Result<String, TemplateError> {
        let mut whole = String::new();
        for part in decode_secret_refs(text) {
            match part {
                Segment::Literal(text) => whole.push_str(&text),
                Segment::Ref { name, key } => {
                    let value = self.value(output, &SecretKeyRef { name, key })?;
                    let text = std::str::from_utf8(value);
                    whole.push_str(text.map_err(|_| TemplateError::BinarySecret(output.to_owned()))?);
                }
            }
        }
        Ok(whole)
    }
}

#[cfg(test)]
#[path = "seal_tests.rs"]
mod tests;
