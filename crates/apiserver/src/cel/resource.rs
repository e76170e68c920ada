//! What rules see of a whole resource beside its declared fields: its kind and its name.

use std::borrow::Cow;

use crate::schema::{Additional, Schema};

/// What a schema describes.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Kind {
    /// A whole object, at the root or embedded.
    Resource,
    /// Anything else.
    Part,
}

/// The schema with `apiVersion`, `kind`, `metadata.name` and `metadata.generateName` for every resource in it.
pub(super) fn completed(schema: &Schema, kind: Kind) -> Cow<'_, Schema> {
    if kind == Kind::Part && !embeds(schema) {
        return Cow::Borrowed(schema);
    }
    let mut schema = schema.clone();
    complete(&mut schema, kind);
    Cow::Owned(schema)
}

fn embeds(schema: &Schema) -> bool {
    schema.embedded_resource
        || schema.properties.values().any(embeds)
        || schema.items.as_deref().is_some_and(embeds)
        || schema.values().is_some_and(embeds)
}

fn complete(schema: &mut Schema, kind: Kind) {
    let children = schema.properties.values_mut().chain(schema.items.as_deref_mut());
    let values = match &mut schema.additional_properties {
        Some(Additional::Of(values)) => Some(values.as_mut()),
        _ => None,
    };
    for child in children.chain(values) {
        complete(child, if child.embedded_resource { Kind::Resource } else { Kind::Part });
    }
    if kind == Kind::Part {
        return;
    }
    let named = |kind: &str| Schema { kind: kind.to_owned(), ..Schema::default() };
    for name in ["apiVersion", "kind"] {
        schema.properties.entry(name.to_owned()).or_insert_with(|| named("string"));
    }
    let metadata = schema.properties.entry("metadata".to_owned()).or_insert_with(|| named("object"));
    metadata.properties.retain(|name, _| matches!(name.as_str(), "name" | "generateName"));
    for name in ["name", "generateName"] {
        metadata.properties.entry(name.to_owned()).or_insert_with(|| named("string"));
    }
}
