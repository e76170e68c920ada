//! Parameters of a claim.

use orchestra_api::config::{Provisioner, UnknownParams};
use serde_json::{Map, Value as Json};
use thiserror::Error as ThisError;

/// Invalid parameter; a sentence for users.
#[derive(Clone, Debug, PartialEq, Eq, ThisError)]
pub enum ParamError {
    /// The type does not have these parameters.
    #[error("Unknown params of `{type_}`: {unknown}. Remove them; {known}.")]
    Unknown {
        /// Resource type.
        type_: String,
        /// The unknown parameters.
        unknown: String,
        /// Phrase about the known ones.
        known: String,
    },
    /// The parameter is not a string.
    #[error("The parameter `{0}` must be a string without secrets.")]
    NotText(String),
    /// The parameter is not a list of strings.
    #[error("The parameter `{0}` must be a list of strings without secrets.")]
    NotTexts(String),
    /// The parameter contains a secret, and goes where secrets are not protected.
    #[error("The parameter `{param}` of `{type_}` contains a secret, which is not allowed here.")]
    Secret {
        /// The parameter.
        param: String,
        /// Resource type.
        type_: String,
    },
}

/// Parameters of the config and of the author, who takes precedence.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Params {
    /// Values, by name.
    pub given: Map<String, Json>,
    /// Warning about unused parameters.
    pub warning: Option<String>,
}

impl Params {
    /// Checks parameters of a type with these known ones. Unknown ones are an error or a warning, by the entry.
    pub fn read(
        type_: &str,
        entry: &Provisioner,
        given: Map<String, Json>,
        known: &[&str],
    ) -> Result<Self, ParamError> {
        let unknown =
            given.keys().filter(|key| !known.contains(&key.as_str()) && !entry.matching.contains_key(*key));
        let unknown: Vec<_> = unknown.map(|key| format!("`{key}`")).collect();
        if unknown.is_empty() {
            return Ok(Self { given, warning: None });
        }
        let known = match known {
            [] => "it has none".to_owned(),
            known => format!("known params: {}", listed(known.iter().copied())),
        };
        let unknown = unknown.join(", ");
        match entry.unknown_params {
            UnknownParams::Refuse => Err(ParamError::Unknown { type_: type_.to_owned(), unknown, known }),
            UnknownParams::Warn => {
                let warning = format!("Ignored params: {unknown}; {known}.");
                Ok(Self { given, warning: Some(warning) })
            }
        }
    }

    /// String, or a number as string.
    pub fn text(&self, key: &str) -> Result<Option<String>, ParamError> {
        match self.given.get(key) {
            None => Ok(None),
            Some(Json::String(text)) => Ok(Some(text.clone())),
            Some(Json::Number(number)) => Ok(Some(number.to_string())),
            Some(_) => Err(ParamError::NotText(key.to_owned())),
        }
    }

    /// List of strings; empty if absent.
    pub fn texts(&self, key: &str) -> Result<Vec<String>, ParamError> {
        let Some(given) = self.given.get(key) else { return Ok(Vec::new()) };
        let items = given.as_array().into_iter().flatten();
        let texts: Vec<String> = items.filter_map(|item| item.as_str().map(ToOwned::to_owned)).collect();
        if given.as_array().is_none_or(|items| items.len() != texts.len()) {
            return Err(ParamError::NotTexts(key.to_owned()));
        }
        Ok(texts)
    }
}

/// Quoted names, separated by commas.
pub fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<_> = names.into_iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}
