//! Values as text in a cell, formatted as the real server formats them: scalars as they are, objects and lists as
//! JSON that is safe inside HTML, floats with an exponent of two digits.

use std::fmt::Write;

use serde_json::{Number, Value};

/// A value as the text of a cell.
pub(super) fn printed(value: &Value) -> String {
    match value {
        Value::Null => "<no value>".to_owned(),
        Value::Bool(truth) => truth.to_string(),
        Value::String(text) => text.clone(),
        Value::Number(number) => float_or(number, |float| {
            let exponent = exponent(float);
            if (-4..6).contains(&exponent) { float.to_string() } else { with_exponent(float, 2) }
        }),
        Value::Array(_) | Value::Object(_) => {
            let mut out = String::new();
            write_json(value, &mut out);
            out
        }
    }
}

fn write_json(value: &Value, out: &mut String) {
    match value {
        Value::Null | Value::Bool(_) => out.push_str(&value.to_string()),
        Value::Number(number) => out.push_str(&float_or(number, |float| {
            let size = float.abs();
            let plain = size == 0.0 || (1e-6..1e21).contains(&size);
            if plain { float.to_string() } else { with_exponent(float, 1) }
        })),
        Value::String(text) => write_string(text, out),
        Value::Array(items) => {
            out.push('[');
            for (position, item) in items.iter().enumerate() {
                if position > 0 {
                    out.push(',');
                }
                write_json(item, out);
            }
            out.push(']');
        }
        Value::Object(fields) => {
            out.push('{');
            for (position, (key, field)) in fields.iter().enumerate() {
                if position > 0 {
                    out.push(',');
                }
                write_string(key, out);
                out.push(':');
                write_json(field, out);
            }
            out.push('}');
        }
    }
}

fn write_string(text: &str, out: &mut String) {
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\u{0}'..='\u{1f}' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{:04x}", u32::from(letter));
            }
            _ => out.push(letter),
        }
    }
    out.push('"');
}

fn float_or(number: &Number, float: impl Fn(f64) -> String) -> String {
    match number.as_f64() {
        Some(value) if number.is_f64() => float(value),
        _ => number.to_string(),
    }
}

/// The decimal exponent of the shortest form of a float.
fn exponent(float: f64) -> i32 {
    format!("{float:e}").split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or(0)
}

/// `1.5e-07`: the exponent has a sign and at least so many digits.
fn with_exponent(float: f64, digits: usize) -> String {
    let text = format!("{float:e}");
    match text.split_once('e') {
        Some((number, exponent)) => match exponent.strip_prefix('-') {
            Some(exponent) => format!("{number}e-{exponent:0>digits$}"),
            None => format!("{number}e+{exponent:0>digits$}"),
        },
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lists_and_objects_are_compact_json_that_is_safe_in_html() {
        let value = json!({ "b": [1, 2.5, null, true], "a": "<&>\u{2028}\u{1}\u{7f}\"\\\t\u{8}" });
        let text = r#"{"a":"\u003c\u0026\u003e\u2028\u0001"#.to_owned()
            + "\u{7f}"
            + r#"\"\\\t\b","b":[1,2.5,null,true]}"#;
        assert_eq!(printed(&value), text);
    }
}
