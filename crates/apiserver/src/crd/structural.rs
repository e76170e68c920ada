//! Validation of structural schemas: every type is declared once, outside of `allOf`, `anyOf`, `oneOf` and `not`,
//! which may only add constraints. Pruning, defaulting and CEL rely on it.

use orchestra_cel::FieldError;
use serde_json::Value;

use crate::schema::{Additional, Schema};

/// Violations of structural schemas, sorted by text.
pub(super) fn errors(schema: &Schema, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    invariants(schema, Level::Root, path, &mut errors);
    completeness(schema, Some(schema), path, path, &mut errors);
    errors.sort_by_cached_key(ToString::to_string);
    errors
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Item,
    Field,
}

fn invariants(schema: &Schema, level: Level, path: &str, errors: &mut Vec<FieldError>) {
    match &schema.items {
        Some(items) => invariants(items, Level::Item, &format!("{path}.items"), errors),
        None if schema.kind == "array" => {
            errors.push(FieldError::required(format!("{path}.items"), "must be specified"));
        }
        None => {}
    }
    for (name, property) in &schema.properties {
        invariants(property, Level::Field, &format!("{path}.properties[{name}]"), errors);
    }
    let additional = format!("{path}.additionalProperties");
    if schema.additional_properties.is_some() && level == Level::Root {
        errors.push(FieldError::forbidden(additional.as_str(), "must not be used at the root"));
    }
    if let Some(values) = schema.values() {
        invariants(values, Level::Field, &additional, errors);
    }
    for (is_set, keyword) in [
        (schema.preserve_unknown == Some(true), "x-kubernetes-preserve-unknown-fields"),
        (schema.embedded_resource, "x-kubernetes-embedded-resource"),
    ] {
        if schema.int_or_string && is_set {
            let detail = "must be false if x-kubernetes-int-or-string is true";
            errors.push(FieldError::invalid(format!("{path}.{keyword}"), &Value::Bool(true), detail));
        }
    }
    let first_all_of = schema.all_of.first();
    let skip = Skip {
        any_of: is_integer_or_string(&schema.any_of),
        first_all_of: first_all_of.is_some_and(|first| is_integer_or_string(&first.any_of)),
    };
    constraints(schema, skip, path, errors);
    types(schema, level, path, errors);
    object_fields(schema, level, path, errors);
}

/// `anyOf: [{type: integer}, {type: string}]`
fn is_integer_or_string(any_of: &[Schema]) -> bool {
    let of = |kind: &str| Schema { kind: kind.to_owned(), ..Schema::default() };
    any_of.len() == 2 && any_of == [of("integer"), of("string")]
}

fn types(schema: &Schema, level: Level, path: &str, errors: &mut Vec<FieldError>) {
    let place = format!("{path}.type");
    if schema.embedded_resource && schema.kind != "object" {
        let detail = "must be object if x-kubernetes-embedded-resource is true";
        errors.push(if schema.kind.is_empty() {
            FieldError::required(place.as_str(), detail)
        } else {
            FieldError::invalid_text(place.as_str(), &schema.kind, detail)
        });
    } else if schema.kind.is_empty() && !schema.int_or_string && schema.preserve_unknown != Some(true) {
        let detail = match level {
            Level::Root => "must not be empty at the root",
            Level::Item => "must not be empty for specified array items",
            Level::Field => "must not be empty for specified object fields",
        };
        errors.push(FieldError::required(place.as_str(), detail));
    }
    if schema.embedded_resource && schema.additional_properties.is_some() {
        let detail = "must not be used if x-kubernetes-embedded-resource is set";
        errors.push(FieldError::forbidden(format!("{path}.additionalProperties"), detail));
    }
    if level == Level::Root && !schema.kind.is_empty() && schema.kind != "object" {
        errors.push(FieldError::invalid_text(place, &schema.kind, "must be object at the root"));
    }
}

fn object_fields(schema: &Schema, level: Level, path: &str, errors: &mut Vec<FieldError>) {
    let is_resource = level == Level::Root || schema.embedded_resource;
    let mut check = |name: &str, wanted: &str| {
        if let Some(property) =
            schema.property(name).filter(|property| is_resource && property.kind != wanted)
        {
            let place = format!("{path}.properties[{name}].type");
            errors.push(FieldError::invalid_text(place, &property.kind, format!("must be {wanted}")));
        }
    };
    check("kind", "string");
    check("apiVersion", "string");
    check("metadata", "object");
    if let Some(metadata) = schema.property("metadata").filter(|_| level == Level::Root)
        && !restricts_only_names(metadata)
    {
        let detail = "must not specify anything other than name and generateName, but metadata is implicitly specified";
        errors.push(FieldError::forbidden(format!("{path}.properties[metadata]"), detail));
    }
    if schema.embedded_resource && schema.preserve_unknown != Some(true) && schema.properties.is_empty() {
        let detail = "must not be empty if x-kubernetes-embedded-resource is true without \
                      x-kubernetes-preserve-unknown-fields";
        errors.push(FieldError::required(format!("{path}.properties"), detail));
    }
}

fn restricts_only_names(metadata: &Schema) -> bool {
    let mut rest = metadata.clone();
    if rest.properties.keys().all(|name| name == "name" || name == "generateName") {
        rest.properties.clear();
    }
    rest.kind.clear();
    rest.default = None;
    rest == Schema::default()
}

/// Parts that are one of the known notations of int-or-string.
#[derive(Clone, Copy, Default)]
struct Skip {
    any_of: bool,
    first_all_of: bool,
}

fn constraints(schema: &Schema, skip: Skip, path: &str, errors: &mut Vec<FieldError>) {
    if !skip.any_of {
        for (index, one) in schema.any_of.iter().enumerate() {
            nested(one, false, &format!("{path}.anyOf[{index}]"), errors);
        }
    }
    for (index, one) in schema.all_of.iter().enumerate() {
        nested(one, skip.first_all_of && index == 0, &format!("{path}.allOf[{index}]"), errors);
    }
    for (index, one) in schema.one_of.iter().enumerate() {
        nested(one, false, &format!("{path}.oneOf[{index}]"), errors);
    }
    if let Some(not) = &schema.not {
        nested(not, false, &format!("{path}.not"), errors);
    }
    if !schema.pattern.is_empty()
        && let Err(problem) = orchestra_re2::compile(&schema.pattern)
    {
        let detail = format!("must be a valid regular expression, but isn't: {problem}");
        errors.push(FieldError::invalid_text(format!("{path}.pattern"), &schema.pattern, detail));
    }
}

/// A schema below `allOf`, `anyOf`, `oneOf` or `not`.
fn nested(schema: &Schema, skip_any_of: bool, path: &str, errors: &mut Vec<FieldError>) {
    constraints(schema, Skip { any_of: skip_any_of, first_all_of: false }, path, errors);
    if let Some(items) = &schema.items {
        nested(items, false, &format!("{path}.items"), errors);
    }
    for (name, property) in &schema.properties {
        nested(property, false, &format!("{path}.properties[{name}]"), errors);
    }
    let has_values =
        matches!(schema.additional_properties, Some(Additional::Allowed(true) | Additional::Of(_)));
    for (is_set, keyword, wanted) in [
        (!schema.kind.is_empty(), "type", "empty"),
        (has_values, "additionalProperties", "undefined"),
        (schema.default.is_some(), "default", "undefined"),
        (!schema.title.is_empty(), "title", "empty"),
        (!schema.description.is_empty(), "description", "empty"),
        (schema.nullable, "nullable", "false"),
        (schema.preserve_unknown == Some(true), "x-kubernetes-preserve-unknown-fields", "false"),
        (schema.embedded_resource, "x-kubernetes-embedded-resource", "false"),
        (schema.int_or_string, "x-kubernetes-int-or-string", "false"),
        (!schema.list_map_keys.is_empty(), "x-kubernetes-list-map-keys", "empty"),
        (schema.list_type.is_some(), "x-kubernetes-list-type", "undefined"),
        (schema.map_type.is_some(), "x-kubernetes-map-type", "undefined"),
        (!schema.rules.is_empty(), "x-kubernetes-validations", "empty"),
    ] {
        if is_set {
            errors.push(FieldError::forbidden(
                format!("{path}.{keyword}"),
                format!("must be {wanted} to be structural"),
            ));
        }
    }
    if schema.properties.contains_key("metadata") {
        let place = format!("{path}.properties[metadata]");
        errors.push(FieldError::forbidden(place, "must not be specified in a nested context"));
    }
}

/// Everything that `allOf`, `anyOf`, `oneOf` and `not` constrain must be declared outside of them.
fn completeness(
    constraint: &Schema,
    declared: Option<&Schema>,
    declared_path: &str,
    path: &str,
    errors: &mut Vec<FieldError>,
) {
    if let Some(not) = &constraint.not {
        nested_completeness(not, declared, declared_path, &format!("{path}.not"), errors);
    }
    let lists = [("allOf", &constraint.all_of), ("anyOf", &constraint.any_of), ("oneOf", &constraint.one_of)];
    for (keyword, parts) in lists {
        for (index, part) in parts.iter().enumerate() {
            nested_completeness(part, declared, declared_path, &format!("{path}.{keyword}[{index}]"), errors);
        }
    }
}

fn nested_completeness(
    part: &Schema,
    declared: Option<&Schema>,
    declared_path: &str,
    path: &str,
    errors: &mut Vec<FieldError>,
) {
    let Some(declared) = declared else {
        return errors.push(FieldError::required(declared_path, &format!("because it is defined in {path}")));
    };
    completeness(part, Some(declared), declared_path, path, errors);
    if let Some(items) = &part.items {
        let (declared_path, path) = (format!("{declared_path}.items"), format!("{path}.items"));
        nested_completeness(items, declared.items.as_deref(), &declared_path, &path, errors);
    }
    for (name, property) in &part.properties {
        let (declared_path, path) =
            (format!("{declared_path}.properties[{name}]"), format!("{path}.properties[{name}]"));
        nested_completeness(property, declared.property(name), &declared_path, &path, errors);
    }
}
