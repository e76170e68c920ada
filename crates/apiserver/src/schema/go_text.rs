//! How the real server writes values into its messages. It prints with Go's `%q`, `%v` and `encoding/json`, which
//! differ from Rust's `Debug` and from `serde_json` in escapes and in floating-point numbers; clients compare the
//! texts, so they are reproduced here.

use serde_json::{Number, Value};

pub(crate) use crate::json::{is_printable, quote as quoted, text as json};

/// A value in a message: text quoted, plain numbers and booleans bare, everything else as JSON.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Number(number) => number_text(number),
        other => json(other),
    }
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
