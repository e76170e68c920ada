//! The parameters of a claim: which of them a type knows, and what they say.

use orchestra_api::{condition::Reason, config::UnknownParams};
use orchestra_core::provision::Instance;
use serde_json::{Map, Value as Json};

use crate::DriverError;

/// What the platform's document and the author say together.
pub(super) struct Params {
    given: Map<String, Json>,
    /// What is said of parameters that are not used.
    pub(super) warning: Option<String>,
}

impl Params {
    /// The parameters of an instance of a type that knows these.
    pub(super) fn read(instance: &Instance, known: &[&str]) -> Result<Self, DriverError> {
        let mut given = instance.entry.params.clone();
        given.extend(instance.params.clone());
        let unknown = given
            .keys()
            .filter(|key| !known.contains(&key.as_str()) && !instance.entry.matching.contains_key(*key));
        let unknown: Vec<_> = unknown.map(|key| format!("`{key}`")).collect();
        if unknown.is_empty() {
            return Ok(Self { given, warning: None });
        }
        let known = match known {
            [] => "there are none that it knows".to_owned(),
            known => format!("it knows {}", listed(known.iter().copied())),
        };
        let (unknown, type_) = (unknown.join(", "), &instance.type_);
        match instance.entry.unknown_params {
            UnknownParams::Refuse => Err(refused(format!(
                "The parameters {unknown} of `{type_}` are not known here: remove them from `params`; {known}."
            ))),
            UnknownParams::Warn => {
                let warning = format!("The parameters {unknown} are not used here; {known}.");
                Ok(Self { given, warning: Some(warning) })
            }
        }
    }

    /// A text, or a number as text.
    pub(super) fn text(&self, key: &str) -> Result<Option<String>, DriverError> {
        match self.given.get(key) {
            None => Ok(None),
            Some(Json::String(text)) => Ok(Some(text.clone())),
            Some(Json::Number(number)) => Ok(Some(number.to_string())),
            Some(_) => Err(refused(format!("The parameter `{key}` has to be a text without secrets in it."))),
        }
    }

    /// A list of texts; empty if there is none.
    pub(super) fn texts(&self, key: &str) -> Result<Vec<String>, DriverError> {
        let Some(given) = self.given.get(key) else { return Ok(Vec::new()) };
        let items = given.as_array().into_iter().flatten();
        let texts: Vec<String> = items.filter_map(|item| item.as_str().map(ToOwned::to_owned)).collect();
        if given.as_array().is_none_or(|items| items.len() != texts.len()) {
            return Err(refused(format!(
                "The parameter `{key}` has to be a list of texts without secrets in them."
            )));
        }
        Ok(texts)
    }
}

/// It cannot be had as it is asked for.
pub(super) fn refused(message: impl Into<String>) -> DriverError {
    DriverError::Refused { reason: Reason::BindingFailed, message: message.into() }
}

/// Names, as a sentence lists them.
pub(super) fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<_> = names.into_iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

/// This machine does not let the platform do its work; it is tried again.
pub(super) fn broken(why: impl std::fmt::Display) -> DriverError {
    DriverError::Transient {
        reason: Reason::BindingPending,
        message: format!("This machine cannot provide it at the moment: {why}."),
    }
}
