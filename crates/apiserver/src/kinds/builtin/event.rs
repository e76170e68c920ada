//! `Event`, in both of its groups.

use orchestra_cel::FieldError;
use serde_json::{Value, json};

use super::Rules;
use crate::metadata::{qualified_name, validate_object_meta_update};

/// Rules of the core group, whose form is also the stored one.
pub(super) const CORE: Rules = Rules {
    defaults,
    on_create: |_| {},
    decode: super::accept_all,
    validate: |event, _| common(event, "reportingComponent"),
    warnings: super::no_warnings,
};
/// Rules of `events.k8s.io`, on the stored form.
pub(super) const VIEW: Rules = Rules {
    defaults,
    on_create: |_| {},
    decode: super::accept_all,
    validate: strict,
    warnings: super::no_warnings,
};

fn defaults(object: &mut Value) {
    let Some(fields) = object.as_object_mut() else { return };
    fields.entry("source").or_insert_with(|| json!({}));
    fields.entry("involvedObject").or_insert_with(|| json!({}));
    for field in ["eventTime", "firstTimestamp", "lastTimestamp"] {
        fields.entry(field).or_insert(Value::Null);
    }
    for field in ["reportingComponent", "reportingInstance"] {
        fields.entry(field).or_insert_with(|| json!(""));
    }
}

fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object[field].as_str().unwrap_or_default()
}

/// Immutable fields of events. An event with an `eventTime` is of the new style and has more required fields.
fn common(event: &Value, controller: &str) -> Vec<FieldError> {
    let namespace = text(&event["metadata"], "namespace");
    let involved = text(&event["involvedObject"], "namespace");
    let modern = !event["eventTime"].is_null();
    let fits = match (involved, modern) {
        ("", true) => matches!(namespace, "default" | "kube-system"),
        ("", false) => matches!(namespace, "" | "default"),
        (involved, false) => involved == namespace,
        (_, true) => true,
    };
    let mut errors = Vec::new();
    if !fits {
        let why = "does not match event.namespace";
        errors.push(FieldError::invalid("involvedObject.namespace", &json!(involved), why));
    }
    if !modern {
        return errors;
    }
    let component = text(event, "reportingComponent");
    if component.is_empty() {
        errors.push(FieldError::required(controller, ""));
    }
    let wrong = qualified_name(component).into_iter();
    errors.extend(wrong.map(|why| FieldError::invalid(controller, &json!(component), why)));
    for (field, limit) in [("reportingInstance", 128), ("action", 128), ("reason", 128), ("message", 1024)] {
        if text(event, field).is_empty() && field != "message" {
            errors.push(FieldError::required(field, ""));
        }
        if text(event, field).len() > limit {
            errors.push(FieldError::invalid(
                field,
                &json!(""),
                format!("can have at most {limit} characters"),
            ));
        }
    }
    errors
}

fn strict(event: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = common(event, "reportingController");
    let Some(old) = old else {
        errors.extend(series(event));
        if event["eventTime"].is_null() {
            errors.push(FieldError::required("eventTime", ""));
        }
        if !matches!(text(event, "type"), "Normal" | "Warning") {
            let why = format!("has invalid value: {}", text(event, "type"));
            errors.push(FieldError::invalid("type", &json!(""), why));
        }
        for field in ["firstTimestamp", "lastTimestamp", "count", "source"] {
            let unset =
                matches!(&event[field], Value::Null) || event[field] == json!({}) || event[field] == 0;
            if !unset {
                errors.push(FieldError::invalid(field, &json!(""), "needs to be unset"));
            }
        }
        return errors;
    };
    errors.extend(validate_object_meta_update(&event["metadata"], &old["metadata"], "metadata"));
    if event["series"] != old["series"] {
        errors.extend(series(event));
    }
    // The reason is checked twice, as in the real server.
    for field in [
        "involvedObject",
        "reason",
        "message",
        "source",
        "firstTimestamp",
        "lastTimestamp",
        "count",
        "reason",
        "type",
        "eventTime",
        "action",
        "related",
        "reportingComponent",
        "reportingInstance",
    ] {
        if event[field] != old[field] {
            let shown = if field == "reportingComponent" { "reportingController" } else { field };
            errors.push(FieldError::invalid(shown, &event[field], "field is immutable"));
        }
    }
    errors
}

fn series(event: &Value) -> Vec<FieldError> {
    let series = &event["series"];
    let mut errors = Vec::new();
    if series.is_object() {
        if series["count"].as_i64().unwrap_or_default() < 2 {
            errors.push(FieldError::invalid("series.count", &json!(""), "should be at least 2"));
        }
        if series["lastObservedTime"].is_null() {
            errors.push(FieldError::required("series.lastObservedTime", ""));
        }
    }
    errors
}
