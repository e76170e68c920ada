//! Defaulting of a definition.

use serde_json::{Value, json};

/// `names.singular`, `names.listKind` and `conversion`.
pub(crate) fn fill_defaults(crd: &mut Value) {
    let Some(Value::Object(spec)) = crd.get_mut("spec") else { return };
    if let Some(Value::Object(names)) = spec.get_mut("names") {
        let kind = names.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
        for (field, default) in [("singular", kind.to_lowercase()), ("listKind", format!("{kind}List"))] {
            let is_empty = |value: &Value| value.is_null() || value.as_str().is_some_and(str::is_empty);
            if !kind.is_empty() && names.get(field).is_none_or(is_empty) {
                names.insert(field.to_owned(), Value::from(default));
            }
        }
    }
    if spec.get("conversion").is_none_or(Value::is_null) {
        spec.insert("conversion".to_owned(), json!({"strategy": "None"}));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_conversion_are_defaulted() {
        let mut crd = json!({"spec": {"names": {"kind": "FooBar", "singular": ""}}});
        fill_defaults(&mut crd);
        assert_eq!(
            crd,
            json!({"spec": {
                "names": {"kind": "FooBar", "singular": "foobar", "listKind": "FooBarList"},
                "conversion": {"strategy": "None"}
            }})
        );
    }
}
