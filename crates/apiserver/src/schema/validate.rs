//! Validation of values against a schema, with the causes of a real server in its order.

use orchestra_cel::FieldError;
use serde_json::{Map, Value};

use super::node::{Node, Values};
use super::number_checks;
use super::outcome::ValidationOutcome;
use super::path::Path;
use super::ratchet::{self, OldItems};

/// Checks a single value at its own path.
pub(crate) fn validate_value(node: &Node, value: &Value, place: &str) -> Vec<FieldError> {
    check(node, value, None, &Path::root("")).into_errors(place)
}

/// Checks a value. With an old value, invalid but unchanged parts are tolerated.
pub(super) fn check(node: &Node, value: &Value, old: Option<&Value>, path: &Path<'_>) -> ValidationOutcome {
    let mut outcome = check_now(node, value, old, path);
    if let Some(old) = old
        && !outcome.is_valid()
    {
        if !outcome.changed && ratchet::unchanged(node, value, old) {
            outcome.findings.clear();
        } else {
            outcome.changed = true;
        }
    }
    outcome
}

fn check_now(node: &Node, value: &Value, old: Option<&Value>, path: &Path<'_>) -> ValidationOutcome {
    let mut outcome = ValidationOutcome::default();
    if value.is_null() {
        if node.types.is_empty() || node.nullable {
            outcome.matches += 1;
        } else {
            outcome.add(wrong_type(path, &node.types.text(), "null"));
        }
        check_allowed(node, value, path, &mut outcome);
        return outcome;
    }
    if !node.types.is_empty() || !node.format.is_empty() {
        outcome.matches += 1;
        match type_error(node, value, path) {
            None => outcome.matches += 1,
            Some(cause) => outcome.add(cause),
        }
    }
    check_combinations(node, value, path, &mut outcome);
    match value {
        Value::String(text) => {
            outcome.matches += 1;
            check_text(node, text, path, &mut outcome);
            if let Some(check) = node.format_check {
                outcome.matches += 1;
                if !check(text) {
                    let detail =
                        format!("{} in body must be of type {}: {text:?}", path.dotted(), node.format);
                    outcome.add(FieldError::wrong_type(path.dotted(), text, detail));
                }
            }
        }
        Value::Number(number) => {
            outcome.matches += 2;
            number_checks::check(&node.numbers, number, path, &mut outcome);
        }
        Value::Array(items) => check_items(node, items, old, path, &mut outcome),
        _ => {}
    }
    outcome.matches += 1;
    check_allowed(node, value, path, &mut outcome);
    if let Value::Object(fields) = value {
        outcome.matches += 1;
        check_fields(node, fields, old, path, &mut outcome);
    }
    outcome.matches += 1;
    outcome
}

/// `PATH in body must be of type WANTED: "FOUND"`
fn wrong_type(path: &Path<'_>, wanted: &str, found: &str) -> FieldError {
    let place = path.dotted();
    let detail = format!("{place} in body must be of type {wanted}: \"{found}\"");
    FieldError::wrong_type(place, found, detail)
}

fn type_error(node: &Node, value: &Value, path: &Path<'_>) -> Option<FieldError> {
    let (found, found_format) = match value {
        Value::Null => return None,
        Value::Bool(_) => ("boolean", ""),
        Value::String(_) => ("string", ""),
        Value::Array(_) => ("array", ""),
        Value::Object(_) => ("object", ""),
        Value::Number(number) if number.is_i64() => ("integer", "int64"),
        Value::Number(_) => ("number", "float64"),
    };
    let types = &node.types;
    let whole = value.as_f64().is_some_and(number_checks::is_whole);
    let fits = types.contains(found)
        || (found == "number" && whole && types.contains("integer"))
        || (found == "integer" && types.contains("number"));
    let has_format = !node.format.is_empty();
    let text_or_list = value.is_string() || value.is_array();
    if has_format && !text_or_list && !fits && found_format != node.format {
        return Some(wrong_type(path, &node.format, found_format));
    }
    let numeric = types.contains("number") || types.contains("integer");
    if has_format && text_or_list && !numeric {
        return None;
    }
    (!fits).then(|| wrong_type(path, &types.text(), found))
}

fn check_text(node: &Node, text: &str, path: &Path<'_>, outcome: &mut ValidationOutcome) {
    let length = || i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
    if let Some(most) = node.max_length
        && length() > most
    {
        return outcome.add(FieldError::too_long(path.dotted(), most));
    }
    if let Some(least) = node.min_length
        && length() < least
    {
        return outcome.add(should(path, &Value::from(text), &format!("be at least {least} chars long")));
    }
    let Some(pattern) = &node.pattern else { return };
    match &pattern.compiled {
        Ok(compiled) if compiled.is_match(text) => {}
        Ok(_) => outcome.add(should(path, &Value::from(text), &format!("match '{}'", pattern.source))),
        Err(problem) => {
            let wanted = format!("match '{}, but pattern is invalid: {problem}'", pattern.source);
            outcome.add(should(path, &Value::from(text), &wanted));
        }
    }
}

/// `PATH in body should WANTED`
pub(super) fn should(path: &Path<'_>, value: &Value, wanted: &str) -> FieldError {
    let place = path.dotted();
    let detail = format!("{place} in body should {wanted}");
    FieldError::invalid(place, value, detail)
}

fn check_allowed(node: &Node, value: &Value, path: &Path<'_>, outcome: &mut ValidationOutcome) {
    if node.allowed.is_empty() || node.allowed.iter().any(|allowed| is_allowed(value, allowed)) {
        return;
    }
    let supported: Vec<String> = node
        .allowed
        .iter()
        .map(|allowed| allowed.as_str().map_or_else(|| allowed.to_string(), str::to_owned))
        .collect();
    outcome.add(FieldError::not_supported(path.dotted(), value, supported.iter().map(String::as_str)));
}

/// Numbers are compared after conversion to the type of the allowed value, and null equals nothing.
fn is_allowed(value: &Value, allowed: &Value) -> bool {
    match (value, allowed) {
        (Value::Null, _) | (_, Value::Null) => false,
        (Value::Number(value), Value::Number(allowed)) => match (value.as_i64(), allowed.as_i64()) {
            (Some(value), Some(allowed)) => value == allowed,
            (None, Some(allowed)) => {
                value.as_f64().is_some_and(|float| crate::json::truncate(float) == allowed)
            }
            _ => value.as_f64() == allowed.as_f64(),
        },
        (Value::Number(value), Value::String(allowed)) => value
            .as_i64()
            .and_then(|code| u32::try_from(code).ok().and_then(char::from_u32))
            .is_some_and(|char| allowed.chars().eq([char])),
        _ => value == allowed,
    }
}

fn check_items(
    node: &Node,
    items: &[Value],
    old: Option<&Value>,
    path: &Path<'_>,
    outcome: &mut ValidationOutcome,
) {
    outcome.matches += 2;
    if let Some(item_node) = &node.items {
        let old_items = old.and_then(|old| OldItems::new(node, old));
        for (index, item) in items.iter().enumerate() {
            let old_item = old_items.as_ref().and_then(|old_items| old_items.of(item));
            outcome.merge(check(item_node, item, old_item, &path.index(index)));
        }
    }
    let count = i64::try_from(items.len()).unwrap_or(i64::MAX);
    if let Some(least) = node.min_items
        && count < least
    {
        outcome.add(should(path, &Value::from(count), &format!("have at least {least} items")));
    }
    if let Some(most) = node.max_items
        && count > most
    {
        outcome.add(FieldError::too_many(path.dotted(), items.len(), most));
    }
}

fn check_fields(
    node: &Node,
    fields: &Map<String, Value>,
    old: Option<&Value>,
    path: &Path<'_>,
    outcome: &mut ValidationOutcome,
) {
    let count = i64::try_from(fields.len()).unwrap_or(i64::MAX);
    if let Some(least) = node.min_properties
        && count < least
    {
        outcome.add(should(path, &Value::from(count), &format!("have at least {least} properties")));
    }
    if let Some(most) = node.max_properties
        && count > most
    {
        outcome.add(FieldError::too_many(path.dotted(), fields.len(), most));
    }
    let old_of = |name: &str| match old {
        // apiVersion and kind follow from the requested version: ratcheting does not apply to them.
        Some(_) if path.is_root() && matches!(name, "apiVersion" | "kind") => None,
        Some(Value::Object(old)) => old.get(name),
        _ => None,
    };
    match &node.values {
        Values::Any => {}
        Values::None => {
            for name in fields.keys().filter(|name| !node.properties.contains_key(*name)) {
                let place = path.dotted();
                let detail = format!("{place}.{name} in body is a forbidden property");
                outcome.add(FieldError::invalid_text(place, name, detail));
            }
        }
        Values::Of(values) => {
            for (name, field) in fields.iter().filter(|(name, _)| !node.properties.contains_key(*name)) {
                outcome.merge(check(values, field, old_of(name), &path.key(name)));
            }
        }
    }
    if !node.properties.is_empty() {
        for (name, field) in fields {
            if let Some(property) = node.properties.get(name) {
                outcome.merge(check(property, field, old_of(name), &path.field(name)));
            }
        }
    }
    for name in node.required.iter().filter(|name| !fields.contains_key(*name)) {
        outcome.add(FieldError::required(path.key(name).dotted(), ""));
    }
}

fn check_combinations(node: &Node, value: &Value, path: &Path<'_>, outcome: &mut ValidationOutcome) {
    outcome.matches += 2;
    if !node.any_of.is_empty() {
        let result = best(&node.any_of, value, path, true);
        if result.good == 0 {
            outcome.add_general(&format!("{:?} must validate at least one schema (anyOf)", path.dotted()));
        }
        outcome.merge(result.outcome);
    }
    if !node.one_of.is_empty() {
        let result = best(&node.one_of, value, path, false);
        if result.good == 1 {
            outcome.merge(result.outcome);
        } else {
            let count = match result.good {
                0 => "Found none valid".to_owned(),
                good => format!("Found {good} valid alternatives"),
            };
            let place = path.dotted();
            outcome.add_general(&format!("{place:?} must validate one and only one schema (oneOf). {count}"));
            if result.good == 0 {
                outcome.merge(result.outcome);
            }
        }
    }
    if !node.all_of.is_empty() {
        let mut good = 0;
        for one in &node.all_of {
            let result = check(one, value, None, path);
            good += usize::from(result.is_valid());
            outcome.merge(result);
        }
        if good < node.all_of.len() {
            let none = if good == 0 { ". None validated" } else { "" };
            let place = path.dotted();
            outcome.add_general(&format!("{place:?} must validate all the schemas (allOf){none}"));
        }
    }
    if let Some(not) = &node.not
        && check(not, value, None, path).is_valid()
    {
        outcome.add_general(&format!("{:?} must not validate the schema (not)", path.dotted()));
    }
}

/// Number of valid alternatives, and the outcome of the first valid one, or else of the one with the most matches.
struct Alternatives {
    good: usize,
    outcome: ValidationOutcome,
}

fn best(alternatives: &[Node], value: &Value, path: &Path<'_>, stop_at_first: bool) -> Alternatives {
    let mut good = 0;
    let mut outcome: Option<ValidationOutcome> = None;
    for alternative in alternatives {
        let result = check(alternative, value, None, path);
        if result.is_valid() {
            if good == 0 {
                outcome = Some(result);
            }
            good += 1;
            if stop_at_first {
                break;
            }
        } else if good == 0 && outcome.as_ref().is_none_or(|best| result.matches > best.matches) {
            outcome = Some(result);
        }
    }
    Alternatives { good, outcome: outcome.unwrap_or_default() }
}
