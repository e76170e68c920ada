//! Schemas of values that authors choose freely.

use schemars::{Schema, SchemaGenerator, json_schema};

/// A map with anything in it, owned as a whole.
pub fn map(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object", "x-kubernetes-preserve-unknown-fields": true, "x-kubernetes-map-type": "atomic",
    })
}

/// Anything at all.
pub fn value(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"x-kubernetes-preserve-unknown-fields": true})
}
