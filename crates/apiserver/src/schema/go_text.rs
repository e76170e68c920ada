//! How the real server writes values into its messages. It prints with Go's `%q`, `%v` and `encoding/json`, which
//! differ from Rust's `Debug` and from `serde_json` in escapes and in floating-point numbers; clients compare the
//! texts, so they are reproduced here.

use std::fmt::Write as _;

use serde_json::{Number, Value};

/// A value in a message: text quoted, plain numbers and booleans bare, everything else as JSON.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Number(number) => number_text(number),
        other => json(other),
    }
}

/// A text in double quotes with the escapes of Go.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for char in text.chars() {
        push_quoted(&mut out, char);
    }
    out.push('"');
    out
}

fn push_quoted(out: &mut String, char: char) {
    match char {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\u{7}' => out.push_str("\\a"),
        '\u{8}' => out.push_str("\\b"),
        '\u{c}' => out.push_str("\\f"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\u{b}' => out.push_str("\\v"),
        _ if is_printable(char) => out.push(char),
        _ => {
            let code = u32::from(char);
            // Writing to a String cannot fail.
            let _ = match code {
                0..=0x7f => write!(out, "\\x{code:02x}"),
                0x80..=0xffff => write!(out, "\\u{code:04x}"),
                _ => write!(out, "\\U{code:08x}"),
            };
        }
    }
}

/// Whether a character is shown as it is: letters, marks, numbers, punctuation, symbols and the ASCII space.
pub(crate) fn is_printable(char: char) -> bool {
    if char.is_ascii() {
        return char == ' ' || char.is_ascii_graphic();
    }
    // A mark is escaped only where a text starts with it, so it is looked at behind a letter.
    let mut buffer = String::from("a");
    buffer.push(char);
    buffer.escape_debug().count() == 2
}

/// A number as `%v` prints it.
pub(crate) fn number_text(number: &Number) -> String {
    match number.as_i64() {
        Some(integer) => integer.to_string(),
        None => float(number.as_f64().unwrap_or_default()),
    }
}

/// A floating-point number as `%v` prints it: shortest digits, an exponent from a million up and below 1e-4.
pub(crate) fn float(value: f64) -> String {
    let exponent = decimal_exponent(value);
    if value != 0.0 && !(-4..6).contains(&exponent) { with_exponent(value, 2) } else { plain(value) }
}

/// A floating-point number as `encoding/json` prints it.
fn json_float(value: f64) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-6..1e21).contains(&size) { with_exponent(value, 1) } else { plain(value) }
}

/// The shortest digits without an exponent: `1`, `0.25`.
pub(crate) fn plain(value: f64) -> String {
    format!("{value}")
}

fn decimal_exponent(value: f64) -> i32 {
    let text = format!("{value:e}");
    text.split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or_default()
}

/// `1.5e+06`, with at least `digits` digits in the exponent (a negative one of JSON is `e-7`).
fn with_exponent(value: f64, digits: usize) -> String {
    let text = format!("{value:e}");
    let Some((mantissa, exponent)) = text.split_once('e') else { return text };
    let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |rest| ('-', rest));
    format!("{mantissa}e{sign}{exponent:0>digits$}")
}

/// Compact JSON with sorted keys, and `<`, `>`, `&` escaped.
pub(crate) fn json(value: &Value) -> String {
    let mut out = String::new();
    push_json(&mut out, value);
    out
}

fn push_json(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Value::Number(number) => match number.as_i64() {
            Some(integer) => out.push_str(&integer.to_string()),
            None => out.push_str(&json_float(number.as_f64().unwrap_or_default())),
        },
        Value::String(text) => push_json_text(out, text),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                push_json(out, item);
            }
            out.push(']');
        }
        Value::Object(fields) => {
            out.push('{');
            for (index, (key, field)) in fields.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                push_json_text(out, key);
                out.push(':');
                push_json(out, field);
            }
            out.push('}');
        }
    }
}

/// A JSON string as `encoding/json` writes it.
pub(crate) fn push_json_text(out: &mut String, text: &str) {
    out.push('"');
    for char in text.chars() {
        match char {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '<' | '>' | '&' | '\u{0}'..='\u{1f}' | '\u{2028}' | '\u{2029}' => {
                // Writing to a String cannot fail.
                let _ = write!(out, "\\u{:04x}", u32::from(char));
            }
            _ => out.push(char),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_shown_as_the_real_server_shows_them() {
        for (value, text) in [
            (json!("a\"b\n\u{7f}é\u{a0}"), r#""a\"b\n\x7fé\u00a0""#),
            (json!(1_000_000), "1000000"),
            (json!(0.000_01), "1e-05"),
            (json!(1_234_567.5), "1.2345675e+06"),
            (json!(1.0), "1"),
            (
                json!({"a": "<&>", "b": [1.5, null, 1e-7]}),
                r#"{"a":"\u003c\u0026\u003e","b":[1.5,null,1e-7]}"#,
            ),
            (json!(null), "null"),
            (json!(true), "true"),
        ] {
            assert_eq!(shown(&value), text);
        }
    }
}
