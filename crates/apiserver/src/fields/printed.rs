//! How the real server prints values in messages and in list keys. Clients and tests read these texts, so they
//! follow the conventions of its language: `%v`, `%#v`, `%q` and its JSON encoder.

use serde_json::{Number, Value};

pub(super) use crate::json::{quote as quoted, text as json};

/// `%v` of a wrapped value: `&{map[a:1]}`.
pub(super) fn plain(value: &Value) -> String {
    format!("&{{{}}}", bare(value))
}

fn bare(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".into(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => short(number),
        Value::String(text) => text.clone(),
        Value::Array(items) => format!("[{}]", items.iter().map(bare).collect::<Vec<_>>().join(" ")),
        Value::Object(fields) => {
            let fields: Vec<_> =
                fields.iter().map(|(name, value)| format!("{name}:{}", bare(value))).collect();
            format!("map[{}]", fields.join(" "))
        }
    }
}

/// `%#v` of a wrapped value: `&value.valueUnstructured{Value:1}`.
pub(super) fn literal(value: &Value) -> String {
    format!("&value.valueUnstructured{{Value:{}}}", source(value))
}

fn source(value: &Value) -> String {
    match value {
        Value::Null => "interface {}(nil)".into(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => short(number),
        Value::String(text) => quoted(text),
        Value::Array(items) => {
            format!("[]interface {{}}{{{}}}", items.iter().map(source).collect::<Vec<_>>().join(", "))
        }
        Value::Object(fields) => {
            let fields: Vec<_> =
                fields.iter().map(|(name, value)| format!("{}:{}", quoted(name), source(value))).collect();
            format!("map[string]interface {{}}{{{}}}", fields.join(", "))
        }
    }
}

/// `%T`: the type of a value.
pub(super) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// `%v` of a number: a float of a million or more has an exponent, an integer never.
fn short(number: &Number) -> String {
    match (number.as_i64(), number.as_f64()) {
        (None, Some(float)) => {
            let (digits, exponent) = scientific(float);
            if (-4..=5).contains(&exponent) {
                return float.to_string();
            }
            format!("{digits}e{}{:02}", sign(exponent), exponent.abs())
        }
        _ => number.to_string(),
    }
}

/// A value in a path: `[name="a"]`.
pub(super) fn in_path(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => short(number),
        Value::String(text) => quoted(text),
        Value::Array(items) => format!("[{}]", items.iter().map(in_path).collect::<Vec<_>>().join(",")),
        Value::Object(fields) => {
            let fields: Vec<_> =
                fields.iter().map(|(name, value)| format!("{name}={}", in_path(value))).collect();
            fields.concat()
        }
    }
}

/// Fields as a JSON object, in the order given.
pub(super) fn push_json_object<'a>(out: &mut String, fields: impl Iterator<Item = (&'a String, &'a Value)>) {
    out.push('{');
    for (index, (name, value)) in fields.enumerate() {
        if index > 0 {
            out.push(',');
        }
        out.push_str(&json(&Value::from(name.as_str())));
        out.push(':');
        out.push_str(&json(value));
    }
    out.push('}');
}

/// The shortest digits of a float with one before the point, and the decimal exponent.
fn scientific(float: f64) -> (String, i32) {
    let text = format!("{float:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    (digits.to_owned(), exponent.parse().unwrap_or_default())
}

fn sign(exponent: i32) -> char {
    if exponent < 0 { '-' } else { '+' }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_print_as_in_the_real_server() {
        let table = [
            (json!(80), "80", "80"),
            (json!(1_000_000), "1000000", "1000000"),
            (json!(999_999.0), "999999", "999999"),
            (json!(1_000_000.0), "1e+06", "1000000"),
            (json!(123_456_789.0), "1.23456789e+08", "123456789"),
            (json!(1_234_567.5), "1.2345675e+06", "1234567.5"),
            (json!(20.5), "20.5", "20.5"),
            (json!(0.0001), "0.0001", "0.0001"),
            (json!(0.00001), "1e-05", "0.00001"),
            (json!(1e20), "1e+20", "100000000000000000000"),
            (json!(1.5e300), "1.5e+300", "1.5e+300"),
            (json!(-1e-7), "-1e-07", "-1e-7"),
        ];
        for (value, printed, encoded) in table {
            assert_eq!(in_path(&value), printed);
            assert_eq!(json(&value), encoded);
        }
    }

    #[test]
    fn values_print_as_in_the_real_server() {
        let value = json!({"a": 1, "b": null, "c": ["x y", 1.5, true, null, {}, []]});
        assert_eq!(plain(&value), "&{map[a:1 b:<nil> c:[x y 1.5 true <nil> map[] []]]}");
        assert_eq!(
            literal(&value),
            "&value.valueUnstructured{Value:map[string]interface {}{\"a\":1, \"b\":interface {}(nil), \
             \"c\":[]interface {}{\"x y\", 1.5, true, interface {}(nil), map[string]interface {}{}, []interface {}{}}}}"
        );
        assert_eq!(type_name(&value), "map[string]interface {}");
    }

    #[test]
    fn strings_are_quoted_as_in_the_real_server() {
        let text = "a\"b\\\u{1}\u{7f}é\u{200b}\u{2028}😀'\u{ad}\u{301} \t\n\u{7}\u{a0}\u{3000}\u{e000}";
        assert_eq!(
            quoted(text),
            "\"a\\\"b\\\\\\x01\\x7fé\\u200b\\u2028😀'\\u00ad\u{301} \\t\\n\\a\\u00a0\\u3000\\ue000\""
        );
        assert_eq!(json(&json!("<a&\u{2028}\u{1}\"")), "\"\\u003ca\\u0026\\u2028\\u0001\\\"\"");
    }
}
