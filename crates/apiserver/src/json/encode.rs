//! Encoder of JSON answers.

use std::io;

use serde::Serialize as _;
use serde_json::{
    Serializer, Value,
    ser::{CompactFormatter, Formatter},
};

use super::integral;

/// JSON on one line, where a float without a fraction is written without one, as a real server writes it.
struct Compact;

impl Formatter for Compact {
    fn write_f64<W: ?Sized + io::Write>(&mut self, writer: &mut W, float: f64) -> io::Result<()> {
        /// From this value on, Go writes an exponent.
        const LARGE: f64 = 1e21;
        if float.fract() == 0.0 && float.abs() < LARGE {
            // The sum of negative zero and zero is zero.
            write!(writer, "{}", float + 0.0)
        } else {
            CompactFormatter.write_f64(writer, float)
        }
    }
}

/// Encodes a value on one line, without a newline at the end.
pub(crate) fn encode(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    encode_into(&mut out, value);
    out
}

/// Appends a value on one line.
pub(crate) fn encode_into(out: &mut Vec<u8>, value: &Value) {
    // Writing a value to memory cannot fail.
    let _ = value.serialize(&mut Serializer::with_formatter(out, Compact));
}

/// JSON of a value on one line, for messages and cells.
pub(crate) fn text(value: &Value) -> String {
    String::from_utf8(encode(value)).unwrap_or_default()
}

/// Encodes a value for people: two spaces for each level, without a newline at the end.
pub(crate) fn encode_pretty(value: &Value) -> Vec<u8> {
    serde_json::to_vec_pretty(&with_integers(value)).unwrap_or_default()
}

/// Value with its floats as [`encode`] writes them.
pub(crate) fn with_integers(value: &Value) -> Value {
    match value {
        Value::Number(number) if number.is_f64() => {
            number.as_f64().and_then(integral).map_or_else(|| value.clone(), Value::from)
        }
        Value::Array(list) => list.iter().map(with_integers).collect(),
        Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), with_integers(value))).collect(),
        other => other.clone(),
    }
}
