//! A definition on its way into the store.

use serde_json::{Value, json};

use super::{RulePlace, RuleTask, decode, unknown, validate};
use crate::{cel, field_error::FieldError};

/// What is wrong with a definition, its rules in CEL included.
pub(crate) fn mistakes(definition: &Value, old: Option<&Value>) -> Vec<FieldError> {
    validate(definition, old, &check_rule)
}

fn check_rule(place: &RulePlace<'_>) -> Vec<FieldError> {
    match place.task {
        RuleTask::Compile => cel::check_within(place.schema, place.path, place.uncorrelatable),
        RuleTask::Default(value) => {
            let rules = cel::Rules::compile(place.schema);
            let mut errors = rules.evaluate(value, Some(value)).errors;
            errors.extend(rules.evaluate(value, None).errors);
            errors
        }
    }
}

/// Checks the types in a definition as it comes in, and drops unknown words of its schemas.
pub(crate) fn read(definition: &mut Value) -> Result<Vec<String>, String> {
    decode(definition)?;
    Ok(unknown::prune(definition))
}

/// The status of a new definition, before its names are accepted.
pub(crate) fn born(definition: &mut Value) {
    let stored: Vec<Value> = definition["spec"]["versions"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|version| version["storage"] == true)
        .map(|version| version["name"].clone())
        .collect();
    definition["status"] = json!({
        "conditions": null, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": stored,
    });
}

/// Objects may be kept in this version from now on.
pub(crate) fn remember_storage(definition: &mut Value) {
    let versions = definition["spec"]["versions"].as_array().into_iter().flatten();
    let storage =
        versions.clone().find(|version| version["storage"] == true).map(|version| version["name"].clone());
    let stored = definition.pointer_mut("/status/storedVersions").and_then(Value::as_array_mut);
    if let (Some(name), Some(stored)) = (storage, stored)
        && !stored.contains(&name)
    {
        stored.push(name);
    }
}
