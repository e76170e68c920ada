//! Create.

use axum::http::StatusCode;
use bytes::Bytes;
use serde_json::Value;

use super::{Call, failed, update::version_of};
use crate::{
    admission,
    audit::Created,
    http::answer::{Answer, Content},
    ledger::{Expected, WriteError},
    managed_fields, metadata,
    objects::{decode, lifecycle},
    status::Status,
};

/// Attempts to generate a free name.
const MAX_ATTEMPTS: usize = 8;

/// Creates the object in the body of a POST.
pub(crate) async fn create(call: &Call<'_>, body: Bytes) -> Result<Answer, Status> {
    call.query.check_write("CreateOptions", false)?;
    let incoming = decode::object(call.kind(), call.content_type(), &body, call.query.field_validation())?;
    let mut object = incoming.object;
    decode::fit_namespace(call.kind(), &mut object, &call.target.namespace)?;
    let manager = call.manager();
    match store_new(call, object, Some(&manager)).await {
        Ok(answer) => Ok(answer.warn(incoming.warnings)),
        Err(status) => Err(status.warn(&incoming.warnings)),
    }
}

/// Admits, completes, checks and stores a new object. Without a manager, its field ownership is already set.
pub(crate) async fn store_new(
    call: &Call<'_>,
    object: Value,
    manager: Option<&str>,
) -> Result<Answer, Status> {
    let kind = call.kind();
    admission::create(call, &object)?;
    admission::grant(call, &object, None)?;
    let generated = object["metadata"]["name"].as_str().unwrap_or_default().is_empty()
        && object["metadata"]["generateName"].is_string();
    let generates = object["metadata"]["generateName"].as_str().is_some_and(|base| !base.is_empty());
    if !generated {
        Created::note(call.parts, object["metadata"]["name"].as_str().unwrap_or_default());
    }
    let mut attempts_left = if generated { MAX_ATTEMPTS } else { 1 };
    loop {
        let mut object = object.clone();
        lifecycle::before_create(kind, &mut object, &call.target.namespace, &call.now);
        kind.complete(&mut object, manager.is_none());
        if let Some(manager) = manager {
            let api_version = kind.api_version();
            let reset = kind.reset_fields(&call.target.subresource);
            object =
                managed_fields::update(&kind.schema, reset, None, object, &call.actor(&api_version, manager));
        }
        kind.on_create(&mut object);
        let warnings = check(call, &object)?;
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let key = call.key_of(&name);
        if call.query.dry_run() {
            if call.api.ledger().get(&key).is_some() {
                return Err(taken(call, &name, generates));
            }
            return Ok(Answer { code: StatusCode::CREATED, content: Content::Object(object), warnings });
        }
        attempts_left -= 1;
        match call.write(key, Expected::Absent, Some(&kind.to_stored(object))).await {
            Ok((revision, bytes)) => {
                Created::note(call.parts, &name);
                let content = Content::Stored(revision, bytes);
                return Ok(Answer { code: StatusCode::CREATED, content, warnings });
            }
            Err(WriteError::Conflict(_)) if attempts_left == 0 => return Err(taken(call, &name, generates)),
            Err(WriteError::Conflict(_)) => {}
            Err(error) => return Err(failed(&error)),
        }
    }
}

/// Error for a name in use, perhaps by an object that is being deleted.
fn taken(call: &Call<'_>, name: &str, generates: bool) -> Status {
    let mut status = Status::already_exists(call.kind(), name);
    let existing = call.api.read(call.kind(), &call.target.namespace, name);
    if existing.is_some_and(|object| lifecycle::is_deleting(&object)) {
        status.message = format!("object is being deleted: {}", status.message);
    }
    if generates {
        status.message.push_str(", the server was not able to generate a unique name for the object");
        status = status.retry_after(1);
    }
    status
}

fn check(call: &Call<'_>, object: &Value) -> Result<Vec<String>, Status> {
    let kind = call.kind();
    let metadata = &object["metadata"];
    let errors = metadata::validate_object_meta(metadata, kind.namespaced, kind.name_rule, "metadata");
    let (errors, mut warnings) = kind.validate(object, None, "", errors);
    if !errors.is_empty() {
        let name = metadata["name"].as_str().unwrap_or_default();
        return Err(Status::invalid(&kind.group, &kind.kind, name, &errors));
    }
    if !version_of(object).is_empty() {
        return Err(Status::internal("resourceVersion should not be set on objects to be created"));
    }
    warnings.extend(finalizer_warnings(metadata, &serde_json::Value::Null));
    Ok(warnings)
}

/// Warnings about finalizers without a domain, whose names may collide.
pub(crate) fn finalizer_warnings(metadata: &Value, old: &Value) -> Vec<String> {
    let list = |metadata: &Value| metadata["finalizers"].as_array().cloned().unwrap_or_default();
    let known = list(old);
    let new = list(metadata).into_iter().filter(|finalizer| !known.contains(finalizer));
    new.filter_map(|finalizer| finalizer.as_str().map(str::to_owned))
        .filter(|name| !name.contains('/') && !matches!(name.as_str(), "orphan" | "foregroundDeletion"))
        .map(|name| {
            format!(
                "metadata.finalizers: {name:?}: prefer a domain-qualified finalizer name to avoid accidental conflicts \
                 with other finalizer writers"
            )
        })
        .collect()
}
