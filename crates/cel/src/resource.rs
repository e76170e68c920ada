//! Implicit fields of a resource in rules: its kind and its name.

use std::borrow::Cow;

use crate::schema::{Additional, Part, Schema};

/// Subject of a schema.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    /// A whole object, at the root or embedded.
    Resource,
    /// Anything else.
    Part,
}

/// The schema with `apiVersion`, `kind`, `metadata.name` and `metadata.generateName` for every resource in it.
pub(crate) fn completed(schema: &Schema, kind: Kind) -> Cow<'_, Schema> {
    if kind == Kind::Part && !embeds(schema) {
        return Cow::Borrowed(schema);
    }
    let mut schema = schema.clone();
    complete(&mut schema, kind);
    Cow::Owned(schema)
}

fn embeds(schema: &Schema) -> bool {
    schema.embedded_resource
        || schema.declared().any(embeds)
        || schema.items.as_deref().is_some_and(embeds)
        || schema.values().is_some_and(embeds)
}

fn complete(schema: &mut Schema, kind: Kind) {
    let values = match &mut schema.additional_properties {
        Some(Additional::Of(values)) => Some(values),
        _ => None,
    };
    for child in schema.properties.values_mut().chain(&mut schema.items).chain(values) {
        // Unchanged parts stay shared.
        if embeds(child) {
            let kind = if child.embedded_resource { Kind::Resource } else { Kind::Part };
            complete(child.change(), kind);
        }
    }
    if kind == Kind::Part {
        return;
    }
    let named = |kind: &str| Part::from(Schema { kind: kind.to_owned(), ..Schema::default() });
    for name in ["apiVersion", "kind"] {
        schema.properties.entry(name.to_owned()).or_insert_with(|| named("string"));
    }
    let metadata = schema.properties.entry("metadata".to_owned()).or_insert_with(|| named("object")).change();
    metadata.properties.retain(|name, _| matches!(name.as_str(), "name" | "generateName"));
    for name in ["name", "generateName"] {
        metadata.properties.entry(name.to_owned()).or_insert_with(|| named("string"));
    }
}
