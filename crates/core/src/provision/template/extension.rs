//! What an entry of a provisioner file says to this platform alone, under `x-orchestra`.

use serde::Deserialize;
use serde_json::{Map, Value as Json};

/// What an entry says to this platform alone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Extension {
    /// Parameters that only the platform's document may give, such as `image`.
    pub settings: Vec<String>,
    /// Kinds that it may make besides those that every entry may, such as `Component.dapr.io`.
    pub kinds: Vec<String>,
    /// Whether it may ask for privileges of the machines it runs on.
    pub privileged: bool,
    /// Kinds that stay under the policy `Retain`, besides volumes and what is secret.
    pub keep: Vec<String>,
    /// The condition that says of objects of a kind that they are there, by kind.
    pub ready: std::collections::BTreeMap<String, String>,
    /// Outputs that everyone may see although they were drawn at random.
    pub public: Vec<String>,
    /// The Workload whose port has to be declared before anything is made.
    pub target: Option<Target>,
    /// What the engine generates, and hands to the templates in `.State.generated`.
    pub generates: Option<Generates>,
    /// Whether `.Params.values` holds what the namespace has set for all its Workloads.
    pub environment: bool,
}

/// A Workload whose port has to be declared. Its name and the name of the port are then in `.Params.workload` and
/// `.Params.port`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Target {
    /// The one that asks for it.
    Own,
    /// The one that `params.workload` names, or the id, or the key.
    Other,
}

/// What the engine generates once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Generates {
    /// A value for each name in `params.keys`.
    Values,
    /// A certificate for the names in `params.hosts` and `params.dns`; it is made anew before it ends.
    Certificate,
}

impl Extension {
    /// Reads what stands under `x-orchestra`.
    pub fn read(written: &Map<String, Json>) -> Result<Self, String> {
        Self::deserialize(&Json::Object(written.clone())).map_err(|error| format!("`x-orchestra`: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(written: &Json) -> Result<Extension, String> {
        Extension::read(written.as_object().unwrap())
    }

    #[test]
    fn a_word_that_it_does_not_know_is_refused_by_name() {
        let refused = read(&json!({"kindz": []})).unwrap_err();
        assert!(refused.starts_with("`x-orchestra`: unknown field `kindz`"), "{refused}");
    }

    #[test]
    fn an_entry_that_says_nothing_may_do_nothing_special() {
        assert_eq!(read(&json!({})).unwrap(), Extension::default());
        assert_eq!(read(&json!({"target": "own"})).unwrap().target, Some(Target::Own));
    }
}
