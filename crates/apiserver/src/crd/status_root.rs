//! Validation of the root of a schema with a status subresource.

use orchestra_cel::FieldError;

use super::unsupported::Props;

/// Error for a type or keyword that is not allowed at the root: with a status subresource, the status is validated apart.
pub(super) fn error(root: Props<'_>, path: &str) -> Option<FieldError> {
    const ALLOWED: &str = "description, type, format, title, maximum, exclusiveMaximum, minimum, exclusiveMinimum, \
                           maxLength, minLength, pattern, maxItems, minItems, uniqueItems, multipleOf, required, items, \
                           properties, externalDocs, example, x-kubernetes-preserve-unknown-fields and \
                           x-kubernetes-validations";
    let schema = root.schema;
    // A real server checks these keywords before the type.
    let has_reference = root.has_filled("id") || root.has_filled("$schema") || root.has("$ref");
    if !has_reference && !schema.kind.is_empty() && schema.kind != "object" {
        let detail = "only \"object\" is allowed as the type at the root of the schema if the status subresource is enabled";
        return Some(FieldError::invalid_text(format!("{path}.type"), &schema.kind, detail));
    }
    let has_forbidden_keyword = has_reference
        || schema.nullable
        || schema.default.is_some()
        || schema.allowed.is_some()
        || schema.max_properties.is_some()
        || schema.min_properties.is_some()
        || !schema.all_of.is_empty()
        || !schema.one_of.is_empty()
        || !schema.any_of.is_empty()
        || schema.not.is_some()
        || schema.additional_properties.is_some()
        || ["patternProperties", "dependencies", "additionalItems", "definitions"]
            .iter()
            .any(|keyword| root.has(keyword))
        || schema.embedded_resource
        || schema.int_or_string
        || !schema.list_map_keys.is_empty()
        || schema.list_type.is_some()
        || schema.map_type.is_some();
    has_forbidden_keyword.then(|| {
        let detail = format!(
            "only {ALLOWED} are allowed at the root of the schema if the status subresource is enabled"
        );
        FieldError::invalid_part(path, detail)
    })
}
