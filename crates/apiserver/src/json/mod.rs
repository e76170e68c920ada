//! Bodies of requests and answers: JSON and YAML in, JSON and YAML out.

mod decode;
mod encode;
mod yaml;

use serde_json::Value;

pub(crate) use decode::{DecodeError, Decoded, decode};
pub(crate) use encode::{encode, encode_into, encode_pretty, text, with_integers};
pub(crate) use yaml::{MAX_ALIASED, decode_yaml, encode_yaml};

/// Levels of nesting that a body may have. Everything behind the decoder may recurse over values.
pub(crate) const MAX_DEPTH: usize = 128;

/// Name of a JSON type, for messages about a wrong one.
pub(crate) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Error text for a body that is not an object.
pub(crate) fn no_object(value: &Value) -> String {
    format!("couldn't get version/kind; json parse error: expected an object, got {}", kind_of(value))
}

/// First integer above the range of `i64`, as a float.
pub(crate) const I64_UPPER_BOUND: f64 = 9_223_372_036_854_775_808.0;

/// Integer part of a float; the smallest integer if it does not fit.
#[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
pub(crate) fn truncate(float: f64) -> i64 {
    if (-I64_UPPER_BOUND..I64_UPPER_BOUND).contains(&float) { float as i64 } else { i64::MIN }
}

/// Integer with the value of a float without a fraction. JSON has one type of number: `1.0` is stored as `1`.
fn integral(float: f64) -> Option<i64> {
    #[expect(clippy::cast_possible_truncation, reason = "the value has no fraction and is in range")]
    (float.fract() == 0.0 && float.abs() < I64_UPPER_BOUND).then_some(float as i64)
}

#[cfg(test)]
mod tests;
