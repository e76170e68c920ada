//! Normalization of derived schemas for API servers, in one pass.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    JSON, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use serde_json::json;

/// Normalizes a schema and everything below it.
pub(super) fn normalize_schema(schema: &mut JSONSchemaProps) {
    // Null would be a second form of absent, and kubectl prints it as `<no value>`.
    schema.nullable = None;
    if let Some(values) = &mut schema.enum_ {
        values.retain(|value| !value.0.is_null());
    }
    if let Some(text) = &mut schema.description {
        *text = unwrapped(text);
    }
    bound(schema);
    // The server would write these into every object.
    if schema.default.as_ref().is_some_and(|default| default.0.is_array() || default.0.is_object()) {
        schema.default = None;
    }
    if schema.type_.as_deref() == Some("array") && schema.x_kubernetes_list_type.is_none() {
        schema.x_kubernetes_list_type = Some("atomic".to_owned());
    }
    if is_meta_condition(schema) {
        restrict_condition(schema);
    }
    schema.properties.iter_mut().flat_map(|properties| properties.values_mut()).for_each(normalize_schema);
    if let Some(JSONSchemaPropsOrArray::Schema(items)) = &mut schema.items {
        normalize_schema(items);
    }
    if let Some(JSONSchemaPropsOrBool::Schema(values)) = &mut schema.additional_properties {
        normalize_schema(values);
    }
}

/// Text without the line breaks of its source, which `kubectl explain` would keep.
fn unwrapped(text: &str) -> String {
    text.split("\n\n").map(|paragraph| paragraph.replace('\n', " ")).collect::<Vec<_>>().join("\n\n")
}

/// Bounds integers by their type: the server would store one that does not fit, and no controller could deserialize the
/// object. Formats of unsigned integers are replaced: servers do not know them and warn at every apply.
fn bound(schema: &mut JSONSchemaProps) {
    let (format, min, max) = match schema.format.as_deref() {
        Some("int32") => (Some("int32"), f64::from(i32::MIN), f64::from(i32::MAX)),
        Some("uint16") => (None, 0.0, f64::from(u16::MAX)),
        Some("uint32") => (Some("int64"), 0.0, f64::from(u32::MAX)),
        _ => return,
    };
    schema.format = format.map(str::to_owned);
    schema.minimum.get_or_insert(min);
    schema.maximum.get_or_insert(max);
}

/// True for the `metav1.Condition` of Kubernetes; ours has enums.
fn is_meta_condition(schema: &JSONSchemaProps) -> bool {
    let Some(properties) = &schema.properties else { return false };
    properties.contains_key("lastTransitionTime")
        && properties.get("status").is_some_and(|status| status.enum_.is_none())
}

/// Adds the restrictions that the API documentation of `metav1.Condition` gives.
fn restrict_condition(condition: &mut JSONSchemaProps) {
    for (name, property) in condition.properties.iter_mut().flatten() {
        match name.as_str() {
            "status" => {
                let values = ["True", "False", "Unknown"].map(|value| JSON(json!(value)));
                property.enum_ = Some(values.to_vec());
            }
            "reason" | "type" => property.min_length = Some(1),
            "observedGeneration" => property.minimum = Some(0.0),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_integer_is_bounded_by_its_type_and_unsigned_formats_are_replaced() {
        for (format, minimum, expected) in [
            ("int32", None, (Some("int32"), Some(-2_147_483_648.0), Some(2_147_483_647.0))),
            ("uint16", None, (None, Some(0.0), Some(65_535.0))),
            ("uint16", Some(1.0), (None, Some(1.0), Some(65_535.0))),
            ("uint32", None, (Some("int64"), Some(0.0), Some(4_294_967_295.0))),
            ("int64", None, (Some("int64"), None, None)),
        ] {
            let format_before = Some(format.to_owned());
            let mut schema = JSONSchemaProps { format: format_before, minimum, ..JSONSchemaProps::default() };
            bound(&mut schema);
            let bounded = (schema.format.as_deref(), schema.minimum, schema.maximum);
            assert_eq!(bounded, expected, "{format}");
        }
    }

    #[test]
    fn a_description_keeps_its_paragraphs_and_loses_its_other_line_breaks() {
        assert_eq!(unwrapped("One\nline.\n\nAnother\none."), "One line.\n\nAnother one.");
        assert_eq!(unwrapped("One line."), "One line.");
    }
}
