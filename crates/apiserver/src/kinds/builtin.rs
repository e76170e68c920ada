//! The rows of the built-in kinds.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Value, json};

use super::{Checks, Kind, events};
use crate::{
    crd,
    field_error::FieldError,
    names::NameRule,
    schema::{Checker, Schema},
    store::Revision,
};

mod configmap;
mod event;
mod lease;
mod namespace;
mod secret;

/// The resource of namespaces, which the pipeline looks up itself.
pub(crate) const NAMESPACES: &str = "namespaces";
/// The resource of the definitions that teach this server new kinds.
pub(crate) const DEFINITIONS: &str = "customresourcedefinitions.apiextensions.k8s.io";
/// The group of definitions.
pub(crate) const EXTENSIONS: &str = "apiextensions.k8s.io";

/// What a built-in kind fills in and checks beside its metadata and types.
#[derive(Debug)]
pub struct Rules {
    /// Fills in what is absent.
    pub defaults: fn(&mut Value),
    /// Gives a new object what the server adds and nobody owns.
    pub born: fn(&mut Value),
    /// Checks what types alone do not say while an object is read; names fields that it does not know.
    pub decode: fn(&mut Value) -> Result<Vec<String>, String>,
    /// Names the mistakes; `old` is the object before an update.
    pub validate: fn(&Value, Option<&Value>) -> Vec<FieldError>,
    /// Names what is allowed, but hardly meant.
    pub warnings: fn(&Value, Option<&Value>) -> Vec<String>,
}

/// The rules of a kind that has none.
const NONE: Rules =
    Rules { defaults: |_| {}, born: |_| {}, decode: no_more, validate: |_, _| Vec::new(), warnings: silent };

const DEFINITION: Rules = Rules {
    defaults: crd::fill_defaults,
    born: crd::born,
    decode: crd::read,
    validate: crd::mistakes,
    warnings: crd::warnings,
};

/// For kinds that never warn.
fn silent(_: &Value, _: Option<&Value>) -> Vec<String> {
    Vec::new()
}

/// For kinds whose types say everything.
#[expect(clippy::unnecessary_wraps, reason = "one of several functions of this type")]
fn no_more(_: &mut Value) -> Result<Vec<String>, String> {
    Ok(Vec::new())
}

/// A row, as far as it is not the same for all.
struct Row {
    api: (&'static str, &'static str),
    names: (&'static str, &'static str, &'static str),
    short: &'static [&'static str],
    namespaced: bool,
    rules: &'static Rules,
    hash: &'static str,
}

const ROWS: [Row; 8] = [
    Row {
        api: ("", "v1"),
        names: ("configmaps", "configmap", "ConfigMap"),
        short: &["cm"],
        namespaced: true,
        rules: &configmap::RULES,
        hash: "qFsyl6wFWjQ=",
    },
    Row {
        api: ("", "v1"),
        names: ("events", "event", "Event"),
        short: &["ev"],
        namespaced: true,
        rules: &event::CORE,
        hash: "r2yiGXH7wu8=",
    },
    Row {
        api: ("", "v1"),
        names: ("namespaces", "namespace", "Namespace"),
        short: &["ns"],
        namespaced: false,
        rules: &namespace::RULES,
        hash: "Q3oi5N2YM8M=",
    },
    Row {
        api: ("", "v1"),
        names: ("secrets", "secret", "Secret"),
        short: &[],
        namespaced: true,
        rules: &secret::RULES,
        hash: "S6u1pOWzb84=",
    },
    Row {
        api: ("", "v1"),
        names: ("serviceaccounts", "serviceaccount", "ServiceAccount"),
        short: &["sa"],
        namespaced: true,
        rules: &NONE,
        hash: "pbx9ZvyFpBE=",
    },
    Row {
        api: (EXTENSIONS, "v1"),
        names: ("customresourcedefinitions", "customresourcedefinition", "CustomResourceDefinition"),
        short: &["crd", "crds"],
        namespaced: false,
        rules: &DEFINITION,
        hash: "jfWCUB31mvA=",
    },
    Row {
        api: ("coordination.k8s.io", "v1"),
        names: ("leases", "lease", "Lease"),
        short: &[],
        namespaced: true,
        rules: &lease::RULES,
        hash: "gqkMMb/YqFM=",
    },
    Row {
        api: ("events.k8s.io", "v1"),
        names: ("events", "event", "Event"),
        short: &["ev"],
        namespaced: true,
        rules: &event::VIEW,
        hash: "r2yiGXH7wu8=",
    },
];

/// The schemas of the built-in kinds, as the API documents them.
const SCHEMAS: &str = include_str!("builtin-schemas.json");

fn schemas() -> BTreeMap<String, Schema> {
    // The text is a part of this program; a mistake in it is found by the first test.
    serde_json::from_str(SCHEMAS).unwrap_or_default()
}

/// The kinds that every server has.
pub(crate) fn kinds(since: Revision) -> Vec<Kind> {
    let mut schemas = schemas();
    ROWS.iter()
        .map(|row| {
            let ((group, version), (plural, singular, name)) = (row.api, row.names);
            let api_version =
                if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
            let definition = group == EXTENSIONS;
            let view = (group == "events.k8s.io").then_some(events::VIEW);
            let resource = match group {
                "" | "events.k8s.io" => plural.to_owned(),
                group => format!("{plural}.{group}"),
            };
            let schema = schemas.remove(&format!("{api_version}/{name}")).unwrap_or_default();
            Kind {
                group: group.to_owned(),
                version: version.to_owned(),
                plural: plural.to_owned(),
                singular: singular.to_owned(),
                kind: name.to_owned(),
                list_kind: format!("{name}List"),
                short_names: row.short.iter().map(|&name| name.to_owned()).collect(),
                categories: if definition { vec!["api-extensions".to_owned()] } else { Vec::new() },
                namespaced: row.namespaced,
                status: definition || plural == "namespaces",
                custom: false,
                checks: Checks::Builtin(row.rules, Arc::new(Checker::new(&schema))),
                schema: Arc::new(schema),
                columns: Vec::new(),
                selectable: selectable(group, plural),
                resource: resource.into(),
                name_rule: if plural == "namespaces" {
                    NameRule::Dns1123Label
                } else {
                    NameRule::Dns1123Subdomain
                },
                generation: definition,
                create_on_update: matches!(plural, "leases" | "events"),
                unconditional_update: !matches!(plural, "leases") && !definition,
                delete_collection: plural != "namespaces",
                fingerprint: u64::from(view.is_some()),
                stored_fingerprint: 0,
                storage: None,
                view,
                since,
                returns_deleted: plural == "serviceaccounts",
                blank: Some(blank(group, plural)),
                deprecation: None,
                terminating: false,
                storage_hash: row.hash.to_owned(),
            }
        })
        .collect()
}

/// What the real server's types hold before anything is said.
fn blank(group: &str, plural: &str) -> Value {
    match (group, plural) {
        (EXTENSIONS, _) => json!({
            "metadata": {},
            "spec": {"group": "", "names": {"plural": "", "kind": ""}, "scope": "", "versions": null},
            "status": {
                "conditions": null, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": null,
            },
        }),
        ("events.k8s.io", _) => json!({
            "metadata": {}, "eventTime": null, "regarding": {}, "deprecatedSource": {},
            "deprecatedFirstTimestamp": null, "deprecatedLastTimestamp": null,
        }),
        (_, "events") => json!({
            "metadata": {}, "involvedObject": {}, "source": {}, "firstTimestamp": null, "lastTimestamp": null,
            "eventTime": null, "reportingComponent": "", "reportingInstance": "",
        }),
        (_, NAMESPACES) => json!({"metadata": {}, "spec": {}, "status": {}}),
        (_, "leases") => json!({"metadata": {}, "spec": {}}),
        _ => json!({"metadata": {}}),
    }
}

fn selectable(group: &str, plural: &str) -> Vec<String> {
    let fields: &[&str] = match (group, plural) {
        ("", "namespaces") => &["status.phase"],
        ("", "secrets") => &["type"],
        ("", "events") => &[
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
        ],
        (_, "events") => &[
            "regarding.kind",
            "regarding.namespace",
            "regarding.name",
            "regarding.uid",
            "regarding.apiVersion",
            "regarding.resourceVersion",
            "regarding.fieldPath",
            "reason",
            "reportingController",
            "type",
        ],
        _ => &[],
    };
    fields.iter().map(|&field| field.to_owned()).collect()
}
