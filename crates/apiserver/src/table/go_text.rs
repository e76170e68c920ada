//! Values as text in a cell, formatted as the real server formats them: scalars as they are, objects and lists as
//! JSON that is safe inside HTML, floats with an exponent of two digits.

use serde_json::Value;

use crate::{json, schema::go_text};

/// A value as the text of a cell.
pub(super) fn printed(value: &Value) -> String {
    match value {
        Value::Null => "<no value>".to_owned(),
        Value::Bool(truth) => truth.to_string(),
        Value::String(text) => text.clone(),
        Value::Number(number) => go_text::number_text(number),
        Value::Array(_) | Value::Object(_) => json::text(value),
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
