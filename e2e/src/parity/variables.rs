//! Values of responses that later requests use.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// Variables of a running script. `${name}` is replaced by a value, and `${repeat N text}` by N copies of a text (with
/// `\}` for a brace), so that scripts with large bodies stay small.
#[derive(Debug, Default)]
pub(super) struct Variables(BTreeMap<String, Value>);

impl Variables {
    pub(super) fn set(&mut self, name: &str, value: Value) {
        self.0.insert(name.to_owned(), value);
    }

    /// Text with all variables replaced. An unknown variable stays, so that it is visible in the response.
    pub(super) fn fill_text(&self, text: &str) -> String {
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(start) = rest.find("${") {
            let Some(length) = closing(&rest[start..]) else { break };
            let name = &rest[start + 2..start + length];
            filled.push_str(&rest[..start]);
            if let Some((count, part)) = repetition(name) {
                filled.push_str(&part.replace("\\}", "}").repeat(count));
            } else {
                match self.0.get(name) {
                    Some(Value::String(value)) => filled.push_str(value),
                    Some(value) => filled.push_str(&value.to_string()),
                    None => filled.push_str(&rest[start..=start + length]),
                }
            }
            rest = &rest[start + length + 1..];
        }
        filled.push_str(rest);
        filled
    }

    /// Value with all variables in keys and strings replaced. A string that is a single variable becomes its value, of any
    /// type.
    pub(super) fn fill(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => {
                let whole = text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
                match whole.and_then(|name| self.0.get(name)) {
                    Some(value) => value.clone(),
                    None => Value::String(self.fill_text(text)),
                }
            }
            Value::Array(items) => items.iter().map(|item| self.fill(item)).collect(),
            Value::Object(fields) => {
                let fill = |(key, value): (&String, &Value)| (self.fill_text(key), self.fill(value));
                Value::Object(fields.iter().map(fill).collect::<Map<_, _>>())
            }
            other => other.clone(),
        }
    }
}

/// End of a variable: the first brace without a backslash.
fn closing(text: &str) -> Option<usize> {
    text.match_indices('}').map(|(at, _)| at).find(|at| !text[..*at].ends_with('\\'))
}

fn repetition(name: &str) -> Option<(usize, &str)> {
    let (count, part) = name.strip_prefix("repeat ")?.split_once(' ')?;
    Some((count.parse().ok()?, part))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn variables_fill_texts_keys_and_whole_values() {
        let mut variables = Variables::default();
        variables.set("a", json!("x"));
        variables.set("n", json!(5));
        assert_eq!(variables.fill_text("/${a}/${n}?${unknown}"), "/x/5?${unknown}");
        assert_eq!(variables.fill(&json!({"${a}": ["${n}", "${n}!"]})), json!({"x": [5, "5!"]}));
    }

    #[test]
    fn a_repetition_may_contain_a_brace() {
        assert_eq!(Variables::default().fill_text(r"[${repeat 2 {\},}{}]"), "[{},{},{}]");
    }
}
