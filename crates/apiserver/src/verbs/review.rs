//! Reviews: questions about users and their access, answered in the object that asks and not stored.

use axum::http::StatusCode;
use bytes::Bytes;
use orchestra_cel::FieldError;
use serde_json::{Map, Value, json};

use super::Call;
use crate::{
    access::{
        self, Caller,
        attributes::{Attributes, Target},
        caller::AUTHENTICATED,
        token::ISSUER,
    },
    http::answer::{Answer, Content},
    kinds::Review,
    managed_fields,
    objects::decode,
    status::Status,
};

/// Answers the review in the body of a POST.
pub(crate) fn create(call: &Call<'_>, review: Review, body: &Bytes) -> Result<Answer, Status> {
    call.query.check_write("CreateOptions", false)?;
    let kind = call.kind();
    let incoming = decode::object(kind, call.content_type(), body, call.query.field_validation())?;
    let mut object = incoming.object;
    decode::fit_namespace(kind, &mut object, &call.target.namespace)?;
    if let Value::Object(fields) = &mut object {
        fields.entry("spec").or_insert_with(|| json!({}));
    }
    let answered = match review {
        Review::Token => token(call, object),
        Review::SelfSubject => Ok(self_subject(call)),
        Review::SelfRules => self_rules(call, &object),
        Review::Access | Review::LocalAccess | Review::SelfAccess => access(call, review, object),
    };
    match answered {
        Ok(object) => Ok(Answer {
            code: StatusCode::CREATED,
            content: Content::Object(object),
            warnings: incoming.warnings,
        }),
        Err(status) => Err(status.warn(&incoming.warnings)),
    }
}

/// Records the sender as the owner of the fields, as for a stored object.
fn own(call: &Call<'_>, object: Value) -> Value {
    let (api_version, manager) = (call.kind().api_version(), call.manager());
    managed_fields::update(&call.kind().schema, &[], None, object, &call.actor(&api_version, &manager))
}

fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object[field].as_str().unwrap_or_default()
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Object without empty fields.
fn filled(fields: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    let is_empty = |value: &Value| {
        value == "" || value == false || value == &json!([]) || value == &json!({}) || value.is_null()
    };
    let filled: Map<String, Value> = fields
        .into_iter()
        .filter(|(_, value)| !is_empty(value))
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
    Value::Object(filled)
}

fn user_info(caller: &Caller) -> Value {
    filled([
        ("username", json!(caller.name)),
        ("uid", json!(caller.uid)),
        ("groups", json!(caller.groups)),
        ("extra", json!(caller.extra)),
    ])
}

fn token(call: &Call<'_>, object: Value) -> Result<Value, Status> {
    let token = text(&object["spec"], "token").to_owned();
    if token.is_empty() {
        return Err(Status::bad_request("token is required for TokenReview in authentication"));
    }
    let mut audiences = texts(&object["spec"]["audiences"]);
    if audiences.is_empty() {
        audiences.push(ISSUER.to_owned());
    }
    let mut object = own(call, object);
    object["status"] = match access::verify_token(call.api, &token, &audiences) {
        Ok((claims, audiences)) => json!({
            "authenticated": true,
            "user": user_info(&claims.caller().with_group(AUTHENTICATED)),
            "audiences": audiences,
        }),
        Err(error) => json!({"user": {}, "error": error.to_string()}),
    };
    Ok(object)
}

fn self_subject(call: &Call<'_>) -> Value {
    let kind = call.kind();
    json!({
        "apiVersion": kind.api_version(), "kind": kind.kind,
        "metadata": {"creationTimestamp": call.now},
        "status": {"userInfo": user_info(call.permit.caller())},
    })
}

fn self_rules(call: &Call<'_>, object: &Value) -> Result<Value, Status> {
    let namespace = text(&object["spec"], "namespace");
    if namespace.is_empty() {
        return Err(Status::bad_request("no namespace on request"));
    }
    let (rules, error) = call.api.policy().rules_of(call.permit.caller(), namespace);
    let (mut resources, mut paths) = (Vec::new(), Vec::new());
    for rule in rules {
        if !rule.resources.is_empty() {
            resources.push(filled([
                ("verbs", json!(rule.verbs)),
                ("apiGroups", json!(rule.api_groups)),
                ("resources", json!(rule.resources)),
                ("resourceNames", json!(rule.resource_names)),
            ]));
        }
        if !rule.non_resource_urls.is_empty() {
            paths.push(json!({"verbs": rule.verbs, "nonResourceURLs": rule.non_resource_urls}));
        }
    }
    let kind = call.kind();
    let mut status = json!({"resourceRules": resources, "nonResourceRules": paths, "incomplete": false});
    if !error.is_empty() {
        status["evaluationError"] = json!(error);
    }
    Ok(json!({
        "apiVersion": kind.api_version(), "kind": kind.kind, "metadata": {}, "spec": {}, "status": status,
    }))
}

fn access(call: &Call<'_>, review: Review, object: Value) -> Result<Value, Status> {
    let kind = call.kind();
    let object = own(call, object);
    let errors = access_errors(review, &object);
    if !errors.is_empty() {
        // The real server leaves the kind out.
        return Err(Status::invalid(&kind.group, "", "", &errors));
    }
    let spec = &object["spec"];
    let resource = &spec["resourceAttributes"];
    let (verb, target) = if resource.is_object() {
        let part = |field: &str| text(resource, field);
        let (group, plural, subresource) = (part("group"), part("resource"), part("subresource"));
        let target = Target::object(group, plural, subresource, part("namespace"), part("name"));
        (part("verb"), target)
    } else {
        let path = &spec["nonResourceAttributes"];
        (text(path, "verb"), Target::Path(text(path, "path").to_owned()))
    };
    let given;
    let caller = if review == Review::SelfAccess {
        call.permit.caller()
    } else {
        given = user(spec);
        &given
    };
    let wanted = Attributes::new(verb.to_owned(), target);
    let policy = call.api.policy();
    let decision = policy.authorize(caller, &wanted);
    let mut status = json!({"allowed": decision.is_allowed()});
    let reason = decision.reason();
    if !reason.is_empty() {
        status["reason"] = json!(reason);
    }
    let mut object = object.clone();
    object["status"] = status;
    Ok(object)
}

/// User that a review is about.
fn user(spec: &Value) -> Caller {
    let extra = spec["extra"].as_object().into_iter().flatten();
    Caller {
        name: text(spec, "user").to_owned(),
        groups: texts(&spec["groups"]),
        uid: text(spec, "uid").to_owned(),
        extra: extra.map(|(key, values)| (key.clone(), texts(values))).collect(),
    }
}

fn access_errors(review: Review, object: &Value) -> Vec<FieldError> {
    let spec = &object["spec"];
    let (resource, path) = (&spec["resourceAttributes"], &spec["nonResourceAttributes"]);
    let mut errors = Vec::new();
    match (resource.is_object(), path.is_object()) {
        (true, true) => {
            let why = "cannot be specified in combination with resourceAttributes";
            errors.push(FieldError::invalid("spec.nonResourceAttributes", path, why));
        }
        (false, false) => {
            let why = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
            errors.push(FieldError::invalid("spec.resourceAttributes", path, why));
        }
        _ => {}
    }
    if review != Review::SelfAccess && text(spec, "user").is_empty() && texts(&spec["groups"]).is_empty() {
        let why = "at least one of user or group must be specified";
        errors.push(FieldError::invalid("spec.user", &json!(""), why));
    }
    for selector in ["fieldSelector", "labelSelector"] {
        selector_errors(&mut errors, &resource[selector], &format!("spec.resourceAttributes.{selector}"));
    }
    let metadata = &object["metadata"];
    let local = review == Review::LocalAccess;
    let extra = metadata.as_object().into_iter().flatten().any(|(field, value)| {
        field != "managedFields" && !(local && field == "namespace") && !value.is_null()
    });
    if extra {
        let why = if local { "must be empty except for namespace" } else { "must be empty" };
        errors.push(FieldError::invalid("metadata", metadata, why));
    }
    if local && resource.is_object() && text(resource, "namespace") != text(metadata, "namespace") {
        let why = "must match metadata.namespace";
        errors.push(FieldError::invalid("spec.resourceAttributes.namespace", &resource["namespace"], why));
    }
    if local && path.is_object() {
        let why = "disallowed on this kind of request";
        errors.push(FieldError::invalid("spec.nonResourceAttributes", path, why));
    }
    errors
}

/// Roles do not depend on selectors, so that only their form is checked.
fn selector_errors(errors: &mut Vec<FieldError>, selector: &Value, path: &str) {
    if !selector.is_object() {
        return;
    }
    let raw = !text(selector, "rawSelector").is_empty();
    let requirements = selector["requirements"].as_array().is_some_and(|all| !all.is_empty());
    if raw && requirements {
        let why = "may not specified at the same time as requirements";
        errors.push(FieldError::invalid(format!("{path}.rawSelector"), &selector["rawSelector"], why));
    }
    if !raw && !requirements {
        let why = format!("when {path} is specified, requirements or rawSelector is required");
        errors.push(FieldError::required(format!("{path}.requirements"), &why));
    }
}
