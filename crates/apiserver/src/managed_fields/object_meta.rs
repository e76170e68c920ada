//! Shape of the fields that all objects share: apiVersion, kind and metadata.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::schema::{Additional, Schema};

static STRING: LazyLock<Schema> = LazyLock::new(|| of_kind("string"));
static OBJECT_META: LazyLock<Schema> = LazyLock::new(object_meta);

/// The schema of a field that every object has.
pub(super) fn standard_field(name: &str) -> Option<&'static Schema> {
    match name {
        "apiVersion" | "kind" => Some(&STRING),
        "metadata" => Some(&OBJECT_META),
        _ => None,
    }
}

fn object_meta() -> Schema {
    let text = || of_kind("string");
    let texts = || Schema {
        additional_properties: Some(Additional::Of(of_kind("string").into())),
        ..of_kind("object")
    };
    record([
        ("annotations", texts()),
        ("creationTimestamp", time()),
        ("deletionGracePeriodSeconds", of_kind("integer")),
        ("deletionTimestamp", time()),
        ("finalizers", Schema { list_type: Some("set".into()), ..list(text()) }),
        ("generateName", text()),
        ("generation", of_kind("integer")),
        ("labels", texts()),
        ("managedFields", list(managed_fields_entry())),
        ("name", text()),
        ("namespace", text()),
        (
            "ownerReferences",
            Schema {
                list_type: Some("map".into()),
                list_map_keys: vec!["uid".into()],
                ..list(owner_reference())
            },
        ),
        ("resourceVersion", text()),
        ("selfLink", text()),
        ("uid", text()),
    ])
}

fn owner_reference() -> Schema {
    // The uid is the key of the list; a missing one is empty.
    let uid = Schema { default: Some("".into()), ..of_kind("string") };
    Schema {
        map_type: Some("atomic".into()),
        ..record([
            ("apiVersion", of_kind("string")),
            ("blockOwnerDeletion", of_kind("boolean")),
            ("controller", of_kind("boolean")),
            ("kind", of_kind("string")),
            ("name", of_kind("string")),
            ("uid", uid),
        ])
    }
}

fn managed_fields_entry() -> Schema {
    record([
        ("apiVersion", of_kind("string")),
        ("fieldsType", of_kind("string")),
        ("fieldsV1", of_kind("object")),
        ("manager", of_kind("string")),
        ("operation", of_kind("string")),
        ("subresource", of_kind("string")),
        ("time", time()),
    ])
}

fn time() -> Schema {
    Schema { format: "date-time".into(), ..of_kind("string") }
}

fn list(items: Schema) -> Schema {
    Schema { items: Some(items.into()), ..of_kind("array") }
}

fn record<const N: usize>(fields: [(&str, Schema); N]) -> Schema {
    let properties: BTreeMap<_, _> =
        fields.into_iter().map(|(name, field)| (name.to_owned(), field.into())).collect();
    Schema { properties, ..of_kind("object") }
}

fn of_kind(kind: &str) -> Schema {
    Schema { kind: kind.into(), ..Schema::default() }
}
