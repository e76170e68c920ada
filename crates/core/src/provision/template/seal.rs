//! Which outputs are secret. One that is exactly a reference to a Secret stays a reference; a text that has a reference or
//! anything drawn at random in it is put together, for the Secret of the instance; everything else is for everyone.

use std::collections::{BTreeMap, BTreeSet};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use orchestra_api::{claim::Output, name, reference::SecretKeyRef};
use serde_json::{Map, Value as Json};

use crate::template::{Segment, decode_secret_refs};

/// Outputs that are addresses and names: a few random letters in them make them unique, not secret.
const NAMES: [&str; 13] = [
    "bucket", "database", "endpoint", "host", "hostname", "name", "region", "server", "source", "topic",
    "url", "vhost", "workload",
];
/// From how many letters on something drawn is more than part of a name.
const PASSWORD: usize = 12;
/// From how many letters on something drawn is recognised in a text.
const RECOGNISED: usize = 4;
/// What composed outputs are kept under, in the Secret of the instance.
const PREFIX: &str = "output.";

/// Outputs, with what is secret apart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sealed {
    /// What claims are told, by name.
    pub outputs: BTreeMap<String, Output>,
    /// What the Secret of the instance has to hold for it, by key.
    pub composed: BTreeMap<String, String>,
}

/// Values of Secrets, by name of the Secret and key.
pub type Secrets = BTreeMap<(String, String), Vec<u8>>;

/// The values in the Secrets among objects that were admitted.
pub fn secrets(objects: &[Json]) -> Result<Secrets, String> {
    let mut found = Secrets::new();
    for object in objects.iter().filter(|object| object["kind"] == "Secret") {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        for (key, value) in object["data"].as_object().into_iter().flatten() {
            let value = value.as_str().and_then(|value| STANDARD.decode(value).ok());
            let value = value.ok_or_else(|| format!("the Secret `{name}` has no base64 in `data.{key}`"))?;
            found.insert((name.to_owned(), key.clone()), value);
        }
    }
    Ok(found)
}

/// What has to be known to tell what is secret.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// The values of the instance's own Secrets; outputs may name no others.
    pub secrets: &'a Secrets,
    /// Everything that was drawn at random for it.
    pub drawn: &'a BTreeSet<String>,
    /// Outputs that everyone may see although they were drawn.
    pub public: &'a [String],
    /// The name of the Secret that is kept for the instance.
    pub kept: &'a str,
}

/// Tells secret outputs from others; or what is wrong with one, for those who wrote the template.
pub fn seal(outputs: &Map<String, Json>, known: Known<'_>) -> Result<Sealed, String> {
    let mut sealed = Sealed::default();
    for (output, value) in outputs {
        let secret = match value {
            Json::String(text) => whole(text),
            _ => None,
        };
        let given = if let Some(secret) = secret {
            known.value(output, &secret)?;
            Output::SecretKeyRef(secret)
        } else if known.is_secret(output, value) {
            let text = known.composed(output, value)?;
            let key = key(output);
            sealed.composed.insert(key.clone(), text);
            Output::SecretKeyRef(SecretKeyRef { name: known.kept.to_owned(), key })
        } else {
            Output::Value(value.clone())
        };
        sealed.outputs.insert(output.clone(), given);
    }
    Ok(sealed)
}

/// A text that is one reference and nothing else.
fn whole(text: &str) -> Option<SecretKeyRef> {
    match decode_secret_refs(text).as_slice() {
        [Segment::Ref { name, key }] => Some(SecretKeyRef { name: name.clone(), key: key.clone() }),
        _ => None,
    }
}

/// Whether a key of the Secret of an instance holds a composed output.
pub fn is_composed(key: &str) -> bool {
    key.starts_with(PREFIX)
}

/// The key for an output in the Secret of the instance. Outputs may have names that keys cannot.
fn key(output: &str) -> String {
    let is_inside = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if output.len() <= 200 && output.chars().all(is_inside) {
        format!("{PREFIX}{output}")
    } else {
        format!("{PREFIX}{}", name::hash(&[output]))
    }
}

impl Known<'_> {
    fn value(&self, output: &str, secret: &SecretKeyRef) -> Result<&[u8], String> {
        let found = self.secrets.get(&(secret.name.clone(), secret.key.clone()));
        found.map(Vec::as_slice).ok_or_else(|| {
            format!(
                "the output `{output}` names the key `{}` of the Secret `{}`, which is not among its manifests",
                secret.key, secret.name
            )
        })
    }

    /// Whether a value has a reference or something drawn in it.
    fn is_secret(&self, output: &str, value: &Json) -> bool {
        match value {
            Json::String(text) => {
                let refers = decode_secret_refs(text).iter().any(|part| matches!(part, Segment::Ref { .. }));
                refers || self.is_drawn(output, text)
            }
            Json::Array(items) => items.iter().any(|item| self.is_secret(output, item)),
            Json::Object(fields) => fields.values().any(|value| self.is_secret(output, value)),
            _ => self.is_drawn(output, &value.to_string()),
        }
    }

    fn is_drawn(&self, output: &str, text: &str) -> bool {
        if self.public.iter().any(|public| public == output) {
            return false;
        }
        let least = if NAMES.contains(&output) { PASSWORD } else { RECOGNISED };
        let lower = text.to_lowercase();
        self.drawn.iter().any(|drawn| {
            let is_there = || {
                lower.contains(&drawn.to_lowercase()) || text.contains(&STANDARD.encode(drawn)[..drawn.len()])
            };
            drawn.len() >= least && is_there()
        })
    }

    /// A value as text, with its references resolved.
    fn composed(&self, output: &str, value: &Json) -> Result<String, String> {
        match value {
            Json::String(text) => self.resolved(output, text),
            other => Ok(self.inside(output, other)?.to_string()),
        }
    }

    fn inside(&self, output: &str, value: &Json) -> Result<Json, String> {
        Ok(match value {
            Json::String(text) => Json::String(self.resolved(output, text)?),
            Json::Array(items) => {
                Json::Array(items.iter().map(|item| self.inside(output, item)).collect::<Result<_, _>>()?)
            }
            Json::Object(fields) => {
                let fields = fields.iter().map(|(key, value)| Ok((key.clone(), self.inside(output, value)?)));
                Json::Object(fields.collect::<Result<_, String>>()?)
            }
            other => other.clone(),
        })
    }

    fn resolved(&self, output: &str, text: &str) -> Result<String, String> {
        let mut whole = String::new();
        for part in decode_secret_refs(text) {
            match part {
                Segment::Literal(text) => whole.push_str(&text),
                Segment::Ref { name, key } => {
                    let value = self.value(output, &SecretKeyRef { name, key })?;
                    let text = std::str::from_utf8(value);
                    whole.push_str(text.map_err(|_| format!("the output `{output}` has bytes in a text"))?);
                }
            }
        }
        Ok(whole)
    }
}

#[cfg(test)]
#[path = "seal_tests.rs"]
mod tests;
