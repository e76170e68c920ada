//! Defaulting.

use serde_json::Value;

use super::Schema;

/// Sets defaults. A null that is not allowed becomes the default, or is removed if there is none; in lists it stays.
pub(super) fn fill_defaults(schema: &Schema, object: &mut Value) {
    drop_nulls(object, Some(schema));
    fill(object, schema);
}

/// Sets defaults for absent fields, and leaves nulls that have none: an apply with such a null is refused.
pub(super) fn fill_absent(schema: &Schema, object: &mut Value) {
    fill(object, schema);
}

fn field_schema<'a>(schema: Option<&'a Schema>, name: &str) -> Option<&'a Schema> {
    let schema = schema?;
    schema.property(name).or_else(|| schema.values())
}

/// Drops nulls that are not allowed and have no default.
fn drop_nulls(value: &mut Value, schema: Option<&Schema>) {
    match value {
        Value::Object(fields) => fields.retain(|name, field| {
            let schema = field_schema(schema, name);
            let drop = field.is_null() && schema.is_some_and(|one| !one.nullable && one.default.is_none());
            if !drop {
                drop_nulls(field, schema);
            }
            !drop
        }),
        Value::Array(items) => {
            let schema = schema.and_then(|schema| schema.items.as_deref());
            for item in items {
                drop_nulls(item, schema);
            }
        }
        _ => {}
    }
}

fn fill(value: &mut Value, schema: &Schema) {
    match value {
        Value::Object(fields) => {
            for (name, property) in &schema.properties {
                let Some(default) = &property.default else { continue };
                let replace = fields.get(name).is_none_or(|field| field.is_null() && !property.nullable);
                if replace {
                    fields.insert(name.clone(), default.clone());
                }
            }
            for (name, field) in fields {
                if let Some(property) = schema.property(name) {
                    fill(field, property);
                } else if let Some(values) = schema.values() {
                    fill_null(field, values);
                    fill(field, values);
                }
            }
        }
        Value::Array(items) => {
            let Some(item_schema) = schema.items.as_deref() else { return };
            for item in items {
                fill_null(item, item_schema);
                fill(item, item_schema);
            }
        }
        _ => {}
    }
}

fn fill_null(value: &mut Value, schema: &Schema) {
    if value.is_null()
        && !schema.nullable
        && let Some(default) = &schema.default
    {
        *value = default.clone();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed test panics")]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn absent_and_null_fields_become_the_default() {
        let schema: Schema = serde_json::from_value(json!({"type": "object", "properties": {
            "a": {"type": "integer", "default": 1},
            "b": {"type": "integer", "default": 1, "nullable": true},
            "c": {"type": "integer"},
            "d": {"type": "object", "default": {}, "properties": {"e": {"type": "string", "default": "x"}}},
            "f": {"type": "array", "items": {"type": "integer", "default": 2}},
            "g": {"type": "array", "items": {"type": "integer"}},
            "h": {"type": "object", "additionalProperties": {"type": "integer", "default": 3}},
            "i": {"type": "object", "additionalProperties": {"type": "integer"}},
            "j": {"x-kubernetes-preserve-unknown-fields": true}
        }}))
        .unwrap();
        let mut object = json!({"a": null, "b": null, "c": null, "f": [null, 1], "g": [null], "h": {"x": null},
            "i": {"x": null}, "j": null, "unknown": null});
        fill_defaults(&schema, &mut object);
        assert_eq!(
            object,
            json!({"a": 1, "b": null, "d": {"e": "x"}, "f": [2, 1], "g": [null], "h": {"x": 3}, "i": {},
                "unknown": null})
        );
    }
}
