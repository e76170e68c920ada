//! `Role`, `ClusterRole`, `RoleBinding` and `ClusterRoleBinding`.

use orchestra_cel::FieldError;
use serde_json::{Value, json};

use super::Rules;
use crate::{
    access::policy::GROUP,
    metadata::{self, NameRule},
    selectors::LabelSelector,
};

pub(super) const ROLE: Rules = Rules {
    defaults: role_defaults,
    on_create: |_| {},
    decode: super::accept_all,
    validate: |role, _| rule_errors(role, true),
    warnings: super::no_warnings,
};

pub(super) const CLUSTER_ROLE: Rules = Rules { validate: |role, _| cluster_role_errors(role), ..ROLE };

pub(super) const ROLE_BINDING: Rules =
    Rules { defaults: binding_defaults, validate: |binding, old| binding_errors(binding, old, true), ..ROLE };

pub(super) const CLUSTER_ROLE_BINDING: Rules =
    Rules { validate: |binding, old| binding_errors(binding, old, false), ..ROLE_BINDING };

/// A role always shows its rules.
fn role_defaults(role: &mut Value) {
    if let Some(fields) = role.as_object_mut() {
        fields.entry("rules").or_insert(Value::Null);
    }
}

fn binding_defaults(binding: &mut Value) {
    if let Some(fields) = binding.as_object_mut()
        && let Value::Object(role) = fields.entry("roleRef").or_insert_with(|| json!({}))
    {
        for field in ["kind", "name"] {
            role.entry(field).or_insert_with(|| json!(""));
        }
        if role.get("apiGroup").and_then(Value::as_str).is_none_or(str::is_empty) {
            role.insert("apiGroup".to_owned(), json!(GROUP));
        }
    }
    let subjects = binding.get_mut("subjects").and_then(Value::as_array_mut);
    for subject in subjects.into_iter().flatten().filter_map(Value::as_object_mut) {
        let of_rbac = matches!(subject.get("kind").and_then(Value::as_str), Some("User" | "Group"));
        if of_rbac && subject.get("apiGroup").and_then(Value::as_str).is_none_or(str::is_empty) {
            subject.insert("apiGroup".to_owned(), json!(GROUP));
        }
    }
}

fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object[field].as_str().unwrap_or_default()
}

fn items(value: &Value) -> impl Iterator<Item = (usize, &Value)> {
    value.as_array().into_iter().flatten().enumerate()
}

fn rule_errors(role: &Value, namespaced: bool) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (at, rule) in items(&role["rules"]) {
        let has = |field: &str| rule[field].as_array().is_some_and(|values| !values.is_empty());
        let path = |field: &str| format!("rules[{at}].{field}");
        let mut require = |field: &str, why: &str| {
            if !has(field) {
                errors.push(FieldError::required(path(field), why));
            }
        };
        require("verbs", "verbs must contain at least one value");
        if !has("nonResourceURLs") {
            require("apiGroups", "resource rules must supply at least one api group");
            require("resources", "resource rules must supply at least one resource");
            continue;
        }
        let urls = &rule["nonResourceURLs"];
        if namespaced {
            let why = "namespaced rules cannot apply to non-resource URLs";
            errors.push(FieldError::invalid(path("nonResourceURLs"), urls, why));
        }
        if ["apiGroups", "resources", "resourceNames"].into_iter().any(has) {
            let why = "rules cannot apply to both regular resources and non-resource URLs";
            errors.push(FieldError::invalid(path("nonResourceURLs"), urls, why));
        }
    }
    errors
}

fn cluster_role_errors(role: &Value) -> Vec<FieldError> {
    let mut errors = rule_errors(role, false);
    if role["aggregationRule"].is_object() {
        let selectors = &role["aggregationRule"]["clusterRoleSelectors"];
        let path = "aggregationRule.clusterRoleSelectors";
        if items(selectors).next().is_none() {
            let why = "at least one clusterRoleSelector required if aggregationRule is non-nil";
            errors.push(FieldError::required(path, why));
        }
        for (at, selector) in items(selectors) {
            selector_errors(&mut errors, selector, &format!("{path}[{at}]"));
        }
    }
    errors
}

fn selector_errors(errors: &mut Vec<FieldError>, selector: &Value, path: &str) {
    errors.extend(metadata::validate_labels(&selector["matchLabels"], &format!("{path}.matchLabels")));
    for (at, expression) in items(&selector["matchExpressions"]) {
        let path = format!("{path}.matchExpressions[{at}]");
        let values = items(&expression["values"]).count();
        match text(expression, "operator") {
            "In" | "NotIn" if values == 0 => {
                let why = "must be specified when `operator` is 'In' or 'NotIn'";
                errors.push(FieldError::required(format!("{path}.values"), why));
            }
            "Exists" | "DoesNotExist" if values > 0 => {
                let why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                errors.push(FieldError::forbidden(format!("{path}.values"), why));
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            _ => {
                let why = "not a valid selector operator";
                errors.push(FieldError::invalid(format!("{path}.operator"), &expression["operator"], why));
            }
        }
        let wrong = metadata::qualified_name(text(expression, "key")).into_iter();
        errors.extend(wrong.map(|why| FieldError::invalid(format!("{path}.key"), &expression["key"], why)));
        for (at, value) in items(&expression["values"]) {
            let wrong = metadata::label_value(value.as_str().unwrap_or_default()).into_iter();
            let path = format!("{path}.values[{at}]");
            errors.extend(wrong.map(|why| FieldError::invalid(path.clone(), value, why)));
        }
    }
    if LabelSelector::of(selector).is_err() {
        errors.push(FieldError::invalid(path, selector, "invalid label selector."));
    }
}

fn binding_errors(binding: &Value, old: Option<&Value>, namespaced: bool) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let role = &binding["roleRef"];
    let mut supported = |path: String, value: &Value, known: &[&str]| {
        if !known.contains(&value.as_str().unwrap_or_default()) {
            errors.push(FieldError::not_supported(path, value, known.iter().copied()));
        }
    };
    supported("roleRef.apiGroup".to_owned(), &role["apiGroup"], &[GROUP]);
    let kinds: &[&str] = if namespaced { &["Role", "ClusterRole"] } else { &["ClusterRole"] };
    supported("roleRef.kind".to_owned(), &role["kind"], kinds);
    match text(role, "name") {
        "" => errors.push(FieldError::required("roleRef.name", "")),
        name => {
            let wrong = NameRule::PathSegment.check(name).into_iter();
            errors.extend(wrong.map(|why| FieldError::invalid("roleRef.name", &role["name"], why)));
        }
    }
    for (at, subject) in items(&binding["subjects"]) {
        subject_errors(&mut errors, subject, namespaced, &format!("subjects[{at}]"));
    }
    if old.is_some_and(|old| old["roleRef"] != *role) {
        errors.push(FieldError::invalid("roleRef", role, "cannot change roleRef"));
    }
    errors
}

fn subject_errors(errors: &mut Vec<FieldError>, subject: &Value, namespaced: bool, path: &str) {
    let name = text(subject, "name");
    if name.is_empty() {
        errors.push(FieldError::required(format!("{path}.name"), ""));
    }
    let group = json!(text(subject, "apiGroup"));
    let path_of_group = format!("{path}.apiGroup");
    match text(subject, "kind") {
        "ServiceAccount" => {
            if !name.is_empty() {
                let wrong = NameRule::Dns1123Subdomain.check(name).into_iter();
                let path = format!("{path}.name");
                errors.extend(wrong.map(|why| FieldError::invalid(path.clone(), &subject["name"], why)));
            }
            if group != "" {
                errors.push(FieldError::not_supported(path_of_group, &group, [""]));
            }
            if !namespaced && text(subject, "namespace").is_empty() {
                errors.push(FieldError::required(format!("{path}.namespace"), ""));
            }
        }
        "User" | "Group" if group != GROUP => {
            errors.push(FieldError::not_supported(path_of_group, &group, [GROUP]));
        }
        "User" | "Group" => {}
        kind => {
            let known = ["Group", "ServiceAccount", "User"];
            errors.push(FieldError::not_supported(format!("{path}.kind"), &json!(kind), known));
        }
    }
}
