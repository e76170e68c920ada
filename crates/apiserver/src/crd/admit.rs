//! Admission of a definition.

use orchestra_cel::{FieldError, Rules, check_within};
use serde_json::{Value, json};

use super::{RulePlace, RuleTask, decode, unknown, validate};

/// Errors in a definition, with those of its CEL rules.
pub(crate) fn errors(definition: &Value, old: Option<&Value>) -> Vec<FieldError> {
    validate(definition, old, &check_rule)
}

fn check_rule(place: &RulePlace<'_>) -> Vec<FieldError> {
    match place.task {
        RuleTask::Compile => check_within(place.schema, place.path, place.uncorrelatable),
        RuleTask::Default(value) => {
            let rules = Rules::compile(place.schema);
            let mut errors = rules.evaluate(value, Some(value)).errors;
            errors.extend(rules.evaluate(value, None).errors);
            errors
        }
    }
}

/// Checks the types of a decoded definition, and drops unknown keywords of its schemas.
pub(crate) fn read(definition: &mut Value) -> Result<Vec<String>, String> {
    decode(definition)?;
    Ok(unknown::prune(definition))
}

/// Initial status of a definition, before its names are accepted.
pub(crate) fn on_create(definition: &mut Value) {
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

/// Adds the storage version to `status.storedVersions`.
pub(crate) fn record_stored_version(definition: &mut Value) {
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
