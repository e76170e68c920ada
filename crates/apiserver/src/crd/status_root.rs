//! The root of a schema of a kind with a status subresource.

use super::go_form;
use super::unsupported::Props;
use crate::field_error::FieldError;
use crate::schema::complaint;

/// With a status subresource the schema of the status is taken out of the whole, so only some keywords make sense at
/// the root.
pub(super) fn error(root: Props<'_>, path: &str) -> Option<FieldError> {
    const ALLOWED: &str = "Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength \
                           MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties \
                           ExternalDocs Example XPreserveUnknownFields XValidations";
    let schema = root.schema;
    let before_type = root.has_filled("id") || root.has_filled("$schema") || root.has("$ref");
    if !before_type && !schema.kind.is_empty() && schema.kind != "object" {
        let detail = "only \"object\" is allowed as the type at the root of the schema if the status subresource is enabled";
        return Some(complaint::invalid_text(format!("{path}.type"), &schema.kind, detail));
    }
    let refused = before_type
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
            .any(|word| root.has(word))
        || schema.embedded_resource
        || schema.int_or_string
        || !schema.list_map_keys.is_empty()
        || schema.list_type.is_some()
        || schema.map_type.is_some();
    refused.then(|| {
        let detail =
            format!("only [{ALLOWED}] fields are allowed at the root of the schema if the status subresource is enabled");
        complaint::invalid_printed(path, &go_form::schema(root), detail)
    })
}
