//! Reading the operations of a JSON patch.

use serde_json::Value;

use super::{Checks, PatchError};
use crate::json::{DecodeError, Place, Reader, Step, encode, kind_of};

/// One operation. What is missing, null or of a wrong type is none.
#[derive(Debug, Default)]
pub(super) struct Operation {
    pub(super) op: Option<String>,
    pub(super) path: Option<String>,
    pub(super) from: Option<String>,
    pub(super) value: Option<Value>,
    /// Whether the value is written in other characters than the server would use for it.
    pub(super) is_spelled_differently: bool,
}

/// The operations of a patch, and what strict decoding notes about them.
pub(super) fn read(patch: &[u8], checks: Checks) -> Result<(Vec<Operation>, Vec<String>), PatchError> {
    let (list, item) = match checks {
        Checks::Off => ("jsonpatch.Patch", "jsonpatch.Operation"),
        Checks::On => ("[]handlers.jsonPatchOp", "handlers.jsonPatchOp"),
    };
    let mut mistyped = Mistyped(None);
    let mut operations = Vec::new();
    let mut reader = Reader::new(patch);
    let all = if reader.peek() == Some(b'[') {
        reader.array(|reader| {
            let place = Place::ROOT.to(Step::Index(operations.len()));
            operations.push(read_one(reader, place, item, checks, &mut mistyped)?);
            Ok(())
        })
    } else {
        reader.value(&Place::ROOT).map(|value| mistyped.value(&value, list))
    };
    let end = all.and_then(|()| reader.finish());
    let problem = match end {
        Err(error) => Some(error.to_string()),
        Ok((_, Some(number))) if mistyped.0.is_none() && checks == Checks::On => Some(format!(
            "json: cannot unmarshal number {number} into Go struct field jsonPatchOp.value of type float64"
        )),
        Ok((_, Some(number))) if mistyped.0.is_none() => Some(DecodeError::OutOfRange(number).to_string()),
        Ok((notes, _)) => match mistyped.0 {
            None => return Ok((operations, notes.iter().map(|note| format!("json patch {note}")).collect())),
            problem => problem,
        },
    };
    let problem = problem.unwrap_or_default();
    Err(PatchError::malformed(match checks {
        Checks::Off => problem,
        Checks::On => format!("error decoding patch: {problem}"),
    }))
}

fn read_one(
    reader: &mut Reader<'_>,
    place: Place<'_>,
    item: &str,
    checks: Checks,
    mistyped: &mut Mistyped,
) -> Result<Operation, DecodeError> {
    let mut operation = Operation::default();
    if reader.peek() != Some(b'{') {
        let value = reader.value(&place)?;
        mistyped.value(&value, item);
        return Ok(operation);
    }
    let mut seen = [false; 4];
    reader.object(|reader, key| {
        let here = place.to(Step::Key(&key));
        let slot = ["op", "path", "from", "value"].iter().position(|name| *name == key);
        if let Some(slot) = slot {
            if seen[slot] {
                reader.note("duplicate", &here);
            }
            seen[slot] = true;
        } else {
            reader.note("unknown", &here);
        }
        let (value, text) = reader.value_and_text(&here)?;
        match slot {
            Some(0) => operation.op = mistyped.text(value, &key, checks),
            Some(1) => operation.path = mistyped.text(value, &key, checks),
            Some(2) => operation.from = mistyped.text(value, &key, checks),
            Some(_) => {
                operation.value = Some(value);
                operation.is_spelled_differently = !is_canonical(text);
            }
            None => {}
        }
        Ok(())
    })?;
    Ok(operation)
}

/// Whether every text and number of a JSON value is written as the server writes it.
fn is_canonical(text: &[u8]) -> bool {
    let mut rest = text;
    while let Some(start) = rest.iter().position(|byte| matches!(byte, b'"' | b'-' | b'0'..=b'9')) {
        rest = &rest[start..];
        let mut reader = Reader::new(rest);
        let Ok((value, literal)) = reader.value_and_text(&Place::ROOT) else { return false };
        // What a colon follows is a key, which is compared by what it means.
        if reader.peek() != Some(b':') && encode(&value) != literal {
            return false;
        }
        rest = &rest[literal.len()..];
    }
    true
}

/// The first value of a wrong type.
struct Mistyped(Option<String>);

impl Mistyped {
    fn value(&mut self, value: &Value, wanted: &str) {
        if !value.is_null() && self.0.is_none() {
            let kind = kind_of(value);
            self.0 = Some(format!("json: cannot unmarshal {kind} into Go value of type {wanted}"));
        }
    }

    fn text(&mut self, value: Value, field: &str, checks: Checks) -> Option<String> {
        match value {
            Value::String(text) => return Some(text),
            Value::Null => {}
            other if checks == Checks::On && self.0.is_none() => {
                let kind = kind_of(&other);
                self.0 = Some(format!(
                    "json: cannot unmarshal {kind} into Go struct field jsonPatchOp.{field} of type string"
                ));
            }
            _ => {}
        }
        None
    }
}
