//! The schema of a Workload's spec, from the grammar of the language.

use schemars::{Schema, json_schema};

/// The schema of the spec.
pub fn spec() -> Schema {
    json_schema!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
}
