//! Operations of a JSON patch.

use serde_json::{Map, Value};

use super::{Checks, PatchError};
use crate::json::{decode, kind_of};

/// Findings of strict decoding that are reported for one patch.
const MAX_NOTES: usize = 100;

/// Operation. A field that is missing, null or of a wrong type is `None`.
#[derive(Debug, Default)]
pub(super) struct Operation {
    pub(super) op: Option<String>,
    pub(super) path: Option<String>,
    pub(super) from: Option<String>,
    pub(super) value: Option<Value>,
}

/// Decodes a patch to its operations and the findings of strict decoding.
pub(super) fn read(patch: &[u8], checks: Checks) -> Result<(Vec<Operation>, Vec<String>), PatchError> {
    let malformed = |problem: String| PatchError::malformed(format!("error decoding patch: {problem}"));
    let decoded = decode(patch).map_err(|error| malformed(error.to_string()))?;
    let list = match decoded.value {
        Value::Array(list) => list,
        Value::Null => Vec::new(),
        other => return Err(malformed(format!("expected an array, got {}", kind_of(&other)))),
    };
    let mut notes = decoded.duplicates;
    let mut operations = Vec::with_capacity(list.len());
    for (index, item) in list.into_iter().enumerate() {
        operations.push(match item {
            Value::Object(mut fields) => {
                let operation = Operation {
                    op: text(&mut fields, index, "op", checks).map_err(malformed)?,
                    path: text(&mut fields, index, "path", checks).map_err(malformed)?,
                    from: text(&mut fields, index, "from", checks).map_err(malformed)?,
                    value: fields.remove("value"),
                };
                let unknown = fields.keys().map(|name| format!("unknown field \"[{index}].{name}\""));
                notes.extend(unknown.take(MAX_NOTES.saturating_sub(notes.len())));
                operation
            }
            Value::Null => Operation::default(),
            other => {
                return Err(malformed(format!("[{index}]: expected an object, got {}", kind_of(&other))));
            }
        });
    }
    Ok((operations, notes.iter().map(|note| format!("json patch {note}")).collect()))
}

fn text(
    fields: &mut Map<String, Value>,
    index: usize,
    name: &str,
    checks: Checks,
) -> Result<Option<String>, String> {
    match fields.remove(name) {
        Some(Value::String(text)) => Ok(Some(text)),
        Some(other) if checks == Checks::On && !other.is_null() => {
            Err(format!("[{index}].{name}: expected string, got {}", kind_of(&other)))
        }
        _ => Ok(None),
    }
}
