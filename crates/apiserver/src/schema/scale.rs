//! Fields of the scale subresource of a kind: their validation, and access to them.

use orchestra_cel::FieldError;
use serde_json::{Value, json};

use crate::json::kind_of;

/// JSON paths of the scale subresource: `.spec.replicas`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ScalePaths {
    /// Desired number.
    pub spec_replicas: String,
    /// The actual number.
    pub status_replicas: String,
    /// The label selector, as text.
    pub label_selector: Option<String>,
}

impl ScalePaths {
    /// Desired number of replicas, if it is set.
    pub(crate) fn spec_replicas(&self, object: &Value) -> Option<i64> {
        at(object, &self.spec_replicas).ok().flatten().and_then(Value::as_i64)
    }

    /// Actual number of replicas.
    pub(crate) fn status_replicas(&self, object: &Value) -> i64 {
        at(object, &self.status_replicas).ok().flatten().and_then(Value::as_i64).unwrap_or_default()
    }

    /// Label selector of the replicas, if there is one.
    pub(crate) fn label_selector<'a>(&self, object: &'a Value) -> Option<&'a str> {
        let path = self.label_selector.as_ref()?;
        at(object, path).ok().flatten().and_then(Value::as_str).filter(|text| !text.is_empty())
    }

    /// Sets the desired number of replicas.
    pub(crate) fn set_spec_replicas(&self, object: &mut Value, replicas: i64) {
        let path = self.spec_replicas.strip_prefix('.').unwrap_or(&self.spec_replicas);
        let mut field = object;
        for name in path.split('.') {
            if !field.is_object() {
                *field = json!({});
            }
            field = &mut field[name];
        }
        *field = json!(replicas);
    }

    pub(super) fn check_spec(&self, object: &Value, errors: &mut Vec<FieldError>) {
        check_count(&self.spec_replicas, object, errors);
    }

    pub(super) fn check_status(&self, object: &Value, errors: &mut Vec<FieldError>) {
        check_count(&self.status_replicas, object, errors);
        let Some(path) = &self.label_selector else { return };
        match at(object, path) {
            Ok(None | Some(Value::String(_))) => {}
            Ok(Some(other)) => {
                errors.push(FieldError::invalid_text(path, "", expected("string", other)));
            }
            Err(problem) => errors.push(FieldError::invalid_text(path, "", problem)),
        }
    }
}

fn check_count(path: &str, object: &Value, errors: &mut Vec<FieldError>) {
    let problem = match at(object, path) {
        Ok(None) => return,
        Ok(Some(value)) => match value.as_i64() {
            Some(count @ ..0) => {
                return errors.push(FieldError::invalid(
                    path,
                    &count.into(),
                    "should be a non-negative integer",
                ));
            }
            Some(count) if count > i64::from(i32::MAX) => {
                let detail = format!("should be less than or equal to {}", i32::MAX);
                return errors.push(FieldError::invalid(path, &count.into(), detail));
            }
            Some(_) => return,
            None => expected("integer", value),
        },
        Err(problem) => problem,
    };
    errors.push(FieldError::invalid(path, &0.into(), problem));
}

fn expected(wanted: &str, found: &Value) -> String {
    format!("expected {wanted}, got {}", kind_of(found))
}

/// The value at a path of fields.
fn at<'a>(object: &'a Value, path: &str) -> Result<Option<&'a Value>, String> {
    let path = path.strip_prefix('.').unwrap_or(path);
    let mut value = object;
    for name in path.split('.') {
        let Value::Object(fields) = value else {
            if value.is_null() {
                return Ok(None);
            }
            return Err(expected("object", value));
        };
        let Some(field) = fields.get(name) else { return Ok(None) };
        value = field;
    }
    Ok(Some(value))
}
