//! Table of the built-in kinds.

use std::{
    collections::BTreeMap,
    sync::{Arc, LazyLock},
};

use orchestra_cel::FieldError;
use serde_json::{Value, json};

use super::{Checks, Kind, Review, events};
use crate::{
    access::policy::GROUP,
    crd,
    metadata::NameRule,
    schema::{Checker, Schema},
    store::Revision,
};

mod configmap;
mod event;
mod lease;
mod namespace;
mod rbac;
mod secret;
mod service_account;

/// Resource of namespaces.
pub(crate) const NAMESPACES: &str = "namespaces";
/// Resource of events, of both groups.
pub(crate) const EVENTS: &str = "events";
/// Resource of custom resource definitions.
pub(crate) const DEFINITIONS: &str = "customresourcedefinitions.apiextensions.k8s.io";
/// Resource of service accounts.
pub(crate) const SERVICE_ACCOUNTS: &str = "serviceaccounts";
/// Resource of secrets.
pub(crate) const SECRETS: &str = "secrets";
/// Resource of services. It is always empty: kubectl lists it for `cluster-info`, and for the category `all`, which
/// without any kind is an error.
const SERVICES: &str = "services";
/// Resources that are encrypted at rest, and whose reads the audit log records.
pub(crate) const CONFIDENTIAL: &[&str] = &[SECRETS];
/// Subresource of service accounts that issues tokens.
pub(crate) const TOKEN: &str = "token";
/// The group of definitions.
pub(crate) const EXTENSIONS: &str = "apiextensions.k8s.io";

/// Defaults and checks of a built-in kind beside its metadata and types.
#[derive(Debug)]
pub(crate) struct Rules {
    /// Sets defaults.
    pub defaults: fn(&mut Value),
    /// Sets the server's fields of a new object, which no manager owns.
    pub on_create: fn(&mut Value),
    /// Further checks of a decoded object; returns its unknown fields.
    pub decode: fn(&mut Value) -> Result<Vec<String>, String>,
    /// Returns the errors; `old` is the object before an update.
    pub validate: fn(&Value, Option<&Value>) -> Vec<FieldError>,
    /// Returns warnings about values that are valid, but probably not intended.
    pub warnings: fn(&Value, Option<&Value>) -> Vec<String>,
}

/// Rules of a kind without rules.
const NONE: Rules = Rules {
    defaults: |_| {},
    on_create: |_| {},
    decode: accept_all,
    validate: |_, _| Vec::new(),
    warnings: no_warnings,
};

const DEFINITION: Rules = Rules {
    defaults: crd::fill_defaults,
    on_create: crd::on_create,
    decode: crd::read,
    validate: crd::errors,
    warnings: crd::warnings,
};

/// Warnings of kinds without warnings.
fn no_warnings(_: &Value, _: Option<&Value>) -> Vec<String> {
    Vec::new()
}

/// Further checks of kinds without any.
#[expect(clippy::unnecessary_wraps, reason = "one of several functions of this type")]
fn accept_all(_: &mut Value) -> Result<Vec<String>, String> {
    Ok(Vec::new())
}

/// Row of the table.
struct Row {
    api: (&'static str, &'static str),
    names: (&'static str, &'static str, &'static str),
    short: &'static [&'static str],
    namespaced: bool,
    rules: &'static Rules,
    hash: &'static str,
}

/// Kinds of reviews.
const REVIEWS: [(Review, &str, &str, &str); 6] = [
    (Review::SelfSubject, AUTHENTICATION, "SelfSubjectReview", "selfsubjectreview"),
    (Review::Token, AUTHENTICATION, "TokenReview", "tokenreview"),
    (Review::LocalAccess, AUTHORIZATION, "LocalSubjectAccessReview", "localsubjectaccessreview"),
    (Review::SelfAccess, AUTHORIZATION, "SelfSubjectAccessReview", "selfsubjectaccessreview"),
    (Review::SelfRules, AUTHORIZATION, "SelfSubjectRulesReview", "selfsubjectrulesreview"),
    (Review::Access, AUTHORIZATION, "SubjectAccessReview", "subjectaccessreview"),
];
const AUTHENTICATION: &str = "authentication.k8s.io";
const AUTHORIZATION: &str = "authorization.k8s.io";

/// Row of a kind of RBAC.
const fn rbac_row(
    names: (&'static str, &'static str, &'static str),
    namespaced: bool,
    rules: &'static Rules,
    hash: &'static str,
) -> Row {
    Row { api: (GROUP, "v1"), names, short: &[], namespaced, rules, hash }
}

const ROWS: [Row; 13] = [
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
        rules: &service_account::RULES,
        hash: "pbx9ZvyFpBE=",
    },
    Row {
        api: ("", "v1"),
        names: (SERVICES, "service", "Service"),
        short: &["svc"],
        namespaced: true,
        rules: &NONE,
        hash: "0/CO1lhkEBI=",
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
    rbac_row(
        ("clusterrolebindings", "clusterrolebinding", "ClusterRoleBinding"),
        false,
        &rbac::CLUSTER_ROLE_BINDING,
        "48tpQ8gZHFc=",
    ),
    rbac_row(("clusterroles", "clusterrole", "ClusterRole"), false, &rbac::CLUSTER_ROLE, "bYE5ZWDrJ44="),
    rbac_row(("rolebindings", "rolebinding", "RoleBinding"), true, &rbac::ROLE_BINDING, "eGsCzGH6b1g="),
    rbac_row(("roles", "role", "Role"), true, &rbac::ROLE, "7FuwZcIIItM="),
];

/// Schemas of the built-in kinds, from the documentation of the API.
pub(crate) const SCHEMAS: &str = include_str!("builtin-schemas.json");

fn schemas() -> BTreeMap<String, Schema> {
    // The text is compiled in, and tested.
    serde_json::from_str(SCHEMAS).unwrap_or_default()
}

/// Built-in kinds.
pub(crate) fn kinds(since: Revision) -> Vec<Kind> {
    let mut schemas = schemas();
    let stored = ROWS
        .iter()
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
                categories: categories(group, plural),
                namespaced: row.namespaced,
                status: definition || plural == "namespaces",
                scale: None,
                custom: false,
                checks: Checks::Builtin(row.rules, Arc::new(Checker::new(&schema))),
                schema: Arc::new(schema),
                columns: Vec::new(),
                selectable: selectable(group, plural),
                resource: resource.into(),
                name_rule: match (group, plural) {
                    (GROUP, _) => NameRule::PathSegment,
                    (_, "namespaces") => NameRule::Dns1123Label,
                    _ => NameRule::Dns1123Subdomain,
                },
                generation: definition,
                create_on_update: matches!(plural, "leases" | "events") || group == GROUP,
                unconditional_update: !matches!(plural, "leases") && !definition,
                delete_collection: plural != "namespaces",
                read_only: plural == SERVICES,
                fingerprint: u64::from(view.is_some()),
                stored_fingerprint: 0,
                storage: None,
                view,
                since,
                returns_deleted: plural == "serviceaccounts",
                blank: Some(blank(group, plural)),
                deprecation: None,
                terminating: false,
                review: None,
                storage_hash: row.hash.to_owned(),
            }
        })
        .collect::<Vec<Kind>>();
    let reviews = REVIEWS.iter().map(|&(review, group, name, singular)| {
        let kind = unstored(&mut schemas, group, name, &format!("{singular}s"), since);
        Kind { review: Some(review), namespaced: review == Review::LocalAccess, ..kind }
    });
    let reviews: Vec<Kind> = reviews.collect();
    stored.into_iter().chain(reviews).collect()
}

/// Kind of the requests for tokens.
pub(crate) static TOKEN_REQUEST: LazyLock<Kind> = LazyLock::new(|| {
    let kind = unstored(&mut schemas(), AUTHENTICATION, "TokenRequest", "tokenrequests", Revision(0));
    Kind { namespaced: true, ..kind }
});

/// Subresource of custom kinds with replicas.
pub(crate) const SCALE_PART: &str = "scale";

/// Kind of the objects of that subresource.
pub(crate) static SCALE: LazyLock<Kind> = LazyLock::new(|| {
    let kind = unstored(&mut schemas(), "autoscaling", "Scale", "scales", Revision(0));
    Kind { namespaced: true, ..kind }
});

/// Kind whose objects are only sent and answered.
fn unstored(
    schemas: &mut BTreeMap<String, Schema>,
    group: &str,
    name: &str,
    plural: &str,
    since: Revision,
) -> Kind {
    let schema = schemas.remove(&format!("{group}/v1/{name}")).unwrap_or_default();
    Kind {
        group: group.to_owned(),
        version: "v1".to_owned(),
        plural: plural.to_owned(),
        singular: plural.trim_end_matches('s').to_owned(),
        kind: name.to_owned(),
        list_kind: format!("{name}List"),
        short_names: Vec::new(),
        categories: Vec::new(),
        namespaced: false,
        status: false,
        scale: None,
        custom: false,
        checks: Checks::Builtin(&NONE, Arc::new(Checker::new(&schema))),
        schema: Arc::new(schema),
        columns: Vec::new(),
        selectable: Vec::new(),
        resource: format!("{plural}.{group}").into(),
        name_rule: NameRule::PathSegment,
        generation: false,
        create_on_update: false,
        unconditional_update: false,
        delete_collection: false,
        read_only: false,
        fingerprint: 0,
        stored_fingerprint: 0,
        storage: None,
        view: None,
        since,
        returns_deleted: false,
        blank: Some(blank(group, plural)),
        deprecation: None,
        terminating: false,
        review: None,
        storage_hash: String::new(),
    }
}

/// Zero values of the types of a real server.
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
        (GROUP, "roles" | "clusterroles") => json!({"metadata": {}, "rules": null}),
        (AUTHENTICATION, "selfsubjectreviews") => json!({"metadata": {}, "status": {"userInfo": {}}}),
        (AUTHENTICATION, "tokenreviews") => json!({"metadata": {}, "spec": {}, "status": {"user": {}}}),
        (AUTHENTICATION, _) => json!({
            "metadata": {},
            "spec": {"audiences": null, "expirationSeconds": null, "boundObjectRef": null},
            "status": {"token": "", "expirationTimestamp": null},
        }),
        (AUTHORIZATION, "selfsubjectrulesreviews") => json!({
            "metadata": {}, "spec": {},
            "status": {"resourceRules": null, "nonResourceRules": null, "incomplete": false},
        }),
        (AUTHORIZATION, _) => json!({"metadata": {}, "spec": {}, "status": {"allowed": false}}),
        (GROUP, _) => json!({"metadata": {}, "roleRef": {"apiGroup": "", "kind": "", "name": ""}}),
        _ => json!({"metadata": {}}),
    }
}

fn categories(group: &str, plural: &str) -> Vec<String> {
    let categories: &[&str] = match (group, plural) {
        (EXTENSIONS, _) => &["api-extensions"],
        ("", SERVICES) => &["all"],
        _ => &[],
    };
    categories.iter().map(|&category| category.to_owned()).collect()
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
