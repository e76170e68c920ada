//! Replacing an object, and the common end of all changes to one.

use bytes::Bytes;
use serde_json::Value;

use super::{Call, create, failed};
use crate::{
    field_error::FieldError,
    fields,
    http::answer::{Answer, Content},
    kinds::Kind,
    ledger::{Expected, WriteError},
    names::{self, NameRule},
    objects::{decode, lifecycle},
    record::Record,
    status::Status,
    store::Object,
};

/// How often a change is tried anew when others are faster.
const TRIES: usize = 32;

/// Replaces an object by the body of a PUT.
pub(crate) async fn update(call: &Call<'_>, body: Bytes) -> Result<Answer, Status> {
    call.query.check_write("UpdateOptions", false)?;
    let kind = call.kind();
    let incoming = decode::object(kind, call.content_type(), &body, call.query.field_validation())?;
    let mut new = incoming.object;
    decode::fit_name(&new, &call.target.name)?;
    decode::fit_namespace(kind, &mut new, &call.target.namespace)?;
    let manager = call.manager();
    for _ in 0..TRIES {
        let Some(old) = call.api.ledger().get(&call.key()) else {
            if !kind.create_on_update {
                return Err(Status::not_found(kind, &call.target.name));
            }
            set_version(&mut new, &Value::Null);
            match create::store_new(call, new.clone(), Some(&manager)).await {
                Err(status) if status.reason == "AlreadyExists" => continue,
                Err(status) => return Err(status.warn(&incoming.warnings)),
                Ok(answer) => return Ok(answer.warn(incoming.warnings)),
            }
        };
        let conditional = !version_of(&new).is_empty();
        if !conditional && !kind.unconditional_update {
            let error = FieldError::invalid(
                "metadata.resourceVersion",
                &Value::from(0),
                "must be specified for an update",
            );
            return Err(Status::invalid(&kind.group, &kind.plural, &call.target.name, &[error]));
        }
        same_uid(call, &Record { revision: old.revision, bytes: &old.value }.stored(), &new)?;
        let changed = change(call, &old, new.clone(), Some(&manager)).await;
        match changed.map_err(|status| status.warn(&incoming.warnings))? {
            Change::Done(answer) => return Ok(answer.warn(incoming.warnings)),
            Change::Overtaken if conditional => break,
            Change::Overtaken => {}
        }
    }
    Err(Status::modified(kind, &call.target.name))
}

/// What became of a change.
#[derive(Debug)]
pub(crate) enum Change {
    /// It is made, or was none.
    Done(Answer),
    /// Somebody else changed the object meanwhile.
    Overtaken,
}

/// Completes, checks and stores a changed object. Without a manager, its field ownership is already set.
pub(crate) async fn change(
    call: &Call<'_>,
    old: &Object,
    mut new: Value,
    manager: Option<&str>,
) -> Result<Change, Status> {
    let kind = call.kind();
    let name = &call.target.name;
    let part = call.target.subresource.as_str();
    let before = Record { revision: old.revision, bytes: &old.value }.object(kind);
    let version = version_of(&new);
    if !version.is_empty() && version != before["metadata"]["resourceVersion"] {
        return Err(Status::modified(kind, name));
    }
    kind.complete(&mut new, manager.is_none());
    if let Some(manager) = manager {
        let api_version = kind.api_version();
        let actor = call.actor(&api_version, manager);
        new = fields::update(&kind.schema, kind.reset_fields(part), Some(&before), new, &actor);
    }
    lifecycle::before_update(kind, &before, &mut new, part);
    set_version(&mut new, &before);
    let warnings = check(kind, name, &before, &new, part)?;
    if lifecycle::is_deleting(&new) && !lifecycle::is_held(kind, &new) {
        return remove(call, old, new, warnings).await;
    }
    if fields::equal_but_times(&before, &new) {
        return Ok(Change::Done(Answer::ok(Content::Stored(old.revision, old.value.clone())).warn(warnings)));
    }
    if call.query.dry_run() {
        return Ok(Change::Done(Answer::ok(Content::Object(new)).warn(warnings)));
    }
    match call.write(call.key(), Expected::At(old.revision), Some(&kind.to_stored(new))).await {
        Ok((revision, bytes)) => {
            Ok(Change::Done(Answer::ok(Content::Stored(revision, bytes)).warn(warnings)))
        }
        Err(WriteError::Conflict(_)) => Ok(Change::Overtaken),
        Err(error) => Err(failed(&error)),
    }
}

/// The last finalizer of a deleting object is gone, and so is the object. The answer shows it as it would have been.
async fn remove(call: &Call<'_>, old: &Object, new: Value, warnings: Vec<String>) -> Result<Change, Status> {
    let done = Change::Done(Answer::ok(Content::Object(new)).warn(warnings));
    if call.query.dry_run() {
        return Ok(done);
    }
    match call.write(call.key(), Expected::At(old.revision), None).await {
        Ok(_) => Ok(done),
        Err(WriteError::Conflict(_)) => Ok(Change::Overtaken),
        Err(error) => Err(failed(&error)),
    }
}

fn check(kind: &Kind, name: &str, before: &Value, new: &Value, part: &str) -> Result<Vec<String>, Status> {
    // The real server checks the metadata for all kinds, and then once more for this one.
    let (metadata, old) = (&new["metadata"], &before["metadata"]);
    let mut errors =
        names::validate_object_meta(metadata, kind.namespaced, NameRule::PathSegment, "metadata");
    for _ in 0..2 {
        errors.extend(names::validate_object_meta_update(metadata, old, "metadata"));
    }
    let (errors, mut warnings) = kind.validate(new, Some(before), part, errors);
    warnings.extend(create::finalizer_warnings(metadata, old));
    if errors.is_empty() {
        Ok(warnings)
    } else {
        Err(Status::invalid(&kind.group, &kind.kind, name, &errors))
    }
}

fn same_uid(call: &Call<'_>, before: &Value, new: &Value) -> Result<(), Status> {
    let uid = |object: &Value| object["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
    let (is, wanted) = (uid(before), uid(new));
    if wanted.is_empty() || wanted == is {
        return Ok(());
    }
    let Call { target, .. } = call;
    let group = if target.kind.custom { format!("{}/", target.kind.group) } else { String::new() };
    let namespace =
        if target.namespace.is_empty() { String::new() } else { format!("{}/", target.namespace) };
    let why = format!(
        "StorageError: invalid object, Code: 4, Key: /registry/{group}{}/{namespace}{}, ResourceVersion: 0, \
         AdditionalErrorMsg: Precondition failed: UID in precondition: {wanted}, UID in object meta: {is}",
        target.kind.plural, target.name
    );
    Err(Status::conflict(&target.kind, &target.name, why))
}

/// The version that a request expects; empty if it does not say.
pub(crate) fn version_of(object: &Value) -> &str {
    let version = object["metadata"]["resourceVersion"].as_str().unwrap_or_default();
    if version == "0" { "" } else { version }
}

fn set_version(object: &mut Value, before: &Value) {
    if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
        metadata.insert("resourceVersion".to_owned(), before["metadata"]["resourceVersion"].clone());
    }
}
