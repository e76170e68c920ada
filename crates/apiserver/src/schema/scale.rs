//! The fields that the scale subresource of a kind reads must hold what it can read.

use serde_json::Value;

use super::{complaint, go_text};
use crate::field_error::FieldError;

/// Where the numbers of the scale subresource are: `.spec.replicas`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScalePaths {
    /// The wanted number.
    pub spec_replicas: String,
    /// The actual number.
    pub status_replicas: String,
    /// The label selector, as text.
    pub label_selector: Option<String>,
}

impl ScalePaths {
    pub(super) fn check_spec(&self, object: &Value, errors: &mut Vec<FieldError>) {
        check_count(&self.spec_replicas, object, errors);
    }

    pub(super) fn check_status(&self, object: &Value, errors: &mut Vec<FieldError>) {
        check_count(&self.status_replicas, object, errors);
        let Some(path) = &self.label_selector else { return };
        match at(object, path) {
            Ok(None | Some(Value::String(_))) => {}
            Ok(Some(other)) => {
                let problem = accessor_error(path, &printed(other), go_type(other), "string");
                errors.push(complaint::invalid_text(path, "", problem));
            }
            Err(problem) => errors.push(complaint::invalid_text(path, "", problem)),
        }
    }
}

fn check_count(path: &str, object: &Value, errors: &mut Vec<FieldError>) {
    let problem = match at(object, path) {
        Ok(None) => return,
        Ok(Some(value)) => match value.as_i64() {
            Some(count @ ..0) => {
                return errors.push(complaint::invalid(
                    path,
                    &count.into(),
                    "should be a non-negative integer",
                ));
            }
            Some(count) if count > i64::from(i32::MAX) => {
                let detail = format!("should be less than or equal to {}", i32::MAX);
                return errors.push(complaint::invalid(path, &count.into(), detail));
            }
            Some(_) => return,
            None => accessor_error(path, &printed(value), go_type(value), "int64"),
        },
        Err(problem) => problem,
    };
    errors.push(complaint::invalid(path, &0.into(), problem));
}

fn accessor_error(path: &str, value: &str, found: &str, wanted: &str) -> String {
    let path = path.strip_prefix('.').unwrap_or(path);
    format!(".{path} accessor error: {value} is of the type {found}, expected {wanted}")
}

/// The value at a path of fields.
fn at<'a>(object: &'a Value, path: &str) -> Result<Option<&'a Value>, String> {
    let path = path.strip_prefix('.').unwrap_or(path);
    let mut value = object;
    let mut walked = String::new();
    for name in path.split('.') {
        walked.push('.');
        walked.push_str(name);
        let Value::Object(fields) = value else {
            if value.is_null() {
                return Ok(None);
            }
            return Err(accessor_error(&walked, &printed(value), go_type(value), "map[string]interface{}"));
        };
        let Some(field) = fields.get(name) else { return Ok(None) };
        value = field;
    }
    Ok(Some(value))
}

/// A value as `%v` prints it.
fn printed(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) => format!("[{}]", items.iter().map(printed).collect::<Vec<_>>().join(" ")),
        Value::Object(fields) => {
            let fields: Vec<String> =
                fields.iter().map(|(name, field)| format!("{name}:{}", printed(field))).collect();
            format!("map[{}]", fields.join(" "))
        }
        other => go_text::shown(other),
    }
}

fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
        Value::Number(number) if number.is_i64() => "int64",
        Value::Number(_) => "float64",
    }
}
