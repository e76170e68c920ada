//! The parameters of a claim: which of them are known, and what they say.

use orchestra_api::config::{Provisioner, UnknownParams};
use serde_json::{Map, Value as Json};

/// What the platform's document and the author say together, the author last.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Params {
    /// The values, by name.
    pub given: Map<String, Json>,
    /// What is said of parameters that are not used.
    pub warning: Option<String>,
}

impl Params {
    /// What was given to a thing of a type that knows these. What is not known is refused or told, as the entry says.
    pub fn read(
        type_: &str,
        entry: &Provisioner,
        given: Map<String, Json>,
        known: &[&str],
    ) -> Result<Self, String> {
        let unknown =
            given.keys().filter(|key| !known.contains(&key.as_str()) && !entry.matching.contains_key(*key));
        let unknown: Vec<_> = unknown.map(|key| format!("`{key}`")).collect();
        if unknown.is_empty() {
            return Ok(Self { given, warning: None });
        }
        let known = match known {
            [] => "there are none that it knows".to_owned(),
            known => format!("it knows {}", listed(known.iter().copied())),
        };
        let unknown = unknown.join(", ");
        match entry.unknown_params {
            UnknownParams::Refuse => Err(format!(
                "The parameters {unknown} of `{type_}` are not known here: remove them from `params`; {known}."
            )),
            UnknownParams::Warn => {
                let warning = format!("The parameters {unknown} are not used here; {known}.");
                Ok(Self { given, warning: Some(warning) })
            }
        }
    }

    /// A text, or a number as text.
    pub fn text(&self, key: &str) -> Result<Option<String>, String> {
        match self.given.get(key) {
            None => Ok(None),
            Some(Json::String(text)) => Ok(Some(text.clone())),
            Some(Json::Number(number)) => Ok(Some(number.to_string())),
            Some(_) => Err(format!("The parameter `{key}` has to be a text without secrets in it.")),
        }
    }

    /// A list of texts; empty if there is none.
    pub fn texts(&self, key: &str) -> Result<Vec<String>, String> {
        let Some(given) = self.given.get(key) else { return Ok(Vec::new()) };
        let items = given.as_array().into_iter().flatten();
        let texts: Vec<String> = items.filter_map(|item| item.as_str().map(ToOwned::to_owned)).collect();
        if given.as_array().is_none_or(|items| items.len() != texts.len()) {
            return Err(format!("The parameter `{key}` has to be a list of texts without secrets in them."));
        }
        Ok(texts)
    }
}

/// Names, as a sentence lists them.
pub fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<_> = names.into_iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}
