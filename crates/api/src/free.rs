//! Schemas of free-form values.

use schemars::{Schema, SchemaGenerator, json_schema};

/// Free-form map, atomic for server-side apply.
pub fn map(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object", "x-kubernetes-preserve-unknown-fields": true, "x-kubernetes-map-type": "atomic",
    })
}

/// Free-form value.
pub fn value(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"x-kubernetes-preserve-unknown-fields": true})
}
