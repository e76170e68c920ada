//! Unknown fields of the schemas in a definition.

use serde_json::Value;

/// Keywords of a schema.
const KEYWORDS: [&str; 44] = [
    "$ref",
    "$schema",
    "additionalItems",
    "additionalProperties",
    "allOf",
    "anyOf",
    "default",
    "definitions",
    "dependencies",
    "description",
    "enum",
    "example",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "externalDocs",
    "format",
    "id",
    "items",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "not",
    "nullable",
    "oneOf",
    "pattern",
    "patternProperties",
    "properties",
    "required",
    "title",
    "type",
    "uniqueItems",
    "x-kubernetes-embedded-resource",
    "x-kubernetes-int-or-string",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-list-type",
    "x-kubernetes-map-type",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-validations",
];
/// Fields of a rule under `x-kubernetes-validations`.
const RULE_FIELDS: [&str; 6] =
    ["fieldPath", "message", "messageExpression", "optionalOldSelf", "reason", "rule"];

/// Drops unknown keywords of the schemas of all versions; returns their paths.
pub(super) fn prune(definition: &mut Value) -> Vec<String> {
    let mut unknown = Vec::new();
    let versions = definition.pointer_mut("/spec/versions").and_then(Value::as_array_mut);
    for (at, version) in versions.into_iter().flatten().enumerate() {
        if let Some(schema) = version.pointer_mut("/schema/openAPIV3Schema") {
            prune_schema(schema, &format!("spec.versions[{at}].schema.openAPIV3Schema"), &mut unknown);
        }
    }
    unknown
}

fn prune_schema(schema: &mut Value, path: &str, unknown: &mut Vec<String>) {
    drop_unknown(schema, &KEYWORDS, path, unknown);
    let Some(keywords) = schema.as_object_mut() else { return };
    for (keyword, value) in keywords.iter_mut() {
        let at = format!("{path}.{keyword}");
        match (keyword.as_str(), value) {
            ("properties" | "patternProperties" | "definitions" | "dependencies", Value::Object(schemas)) => {
                for (name, schema) in schemas {
                    prune_schema(schema, &format!("{at}.{name}"), unknown);
                }
            }
            ("items" | "additionalProperties" | "additionalItems" | "not", schema @ Value::Object(_)) => {
                prune_schema(schema, &at, unknown);
            }
            ("allOf" | "anyOf" | "oneOf" | "items", Value::Array(schemas)) => {
                for (index, schema) in schemas.iter_mut().enumerate() {
                    prune_schema(schema, &format!("{at}[{index}]"), unknown);
                }
            }
            ("x-kubernetes-validations", Value::Array(rules)) => {
                for (index, rule) in rules.iter_mut().enumerate() {
                    drop_unknown(rule, &RULE_FIELDS, &format!("{at}[{index}]"), unknown);
                }
            }
            _ => {}
        }
    }
}

fn drop_unknown(value: &mut Value, known: &[&str], path: &str, unknown: &mut Vec<String>) {
    if let Value::Object(fields) = value {
        fields.retain(|name, _| {
            let keep = known.contains(&name.as_str());
            if !keep {
                unknown.push(format!("{path}.{name}"));
            }
            keep
        });
    }
}
