//! Update, and the common end of all changes to an object.

use bytes::Bytes;
use orchestra_cel::FieldError;
use serde_json::Value;

use super::{Call, create, failed};
use crate::{
    admission,
    http::answer::{Answer, Content},
    kinds::Kind,
    ledger::{Expected, WriteError},
    managed_fields,
    metadata::{self, NameRule},
    objects::{decode, lifecycle},
    status::Status,
    store::Object,
    stored_object::StoredObject,
};

/// Retries of a change after a conflicting write.
const MAX_ATTEMPTS: usize = 32;

/// Replaces an object by the body of a PUT.
pub(crate) async fn update(call: &Call<'_>, body: Bytes) -> Result<Answer, Status> {
    call.query.check_write("UpdateOptions", false)?;
    let kind = call.kind();
    let incoming = decode::object(kind, call.content_type(), &body, call.query.field_validation())?;
    let mut new = incoming.object;
    decode::fit_name(&new, &call.target.name)?;
    decode::fit_namespace(kind, &mut new, &call.target.namespace)?;
    let manager = call.manager();
    for _ in 0..MAX_ATTEMPTS {
        let Some(old) = call.api.ledger().get(&call.key()) else {
            if !kind.create_on_update {
                return Err(Status::not_found(kind, &call.target.name));
            }
            call.permit.also(call.api, "create")?;
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
        same_uid(call, &StoredObject { revision: old.revision, bytes: &old.value }.stored(), &new)?;
        let changed = change(call, &old, new.clone(), Some(&manager)).await;
        match changed.map_err(|status| status.warn(&incoming.warnings))? {
            UpdateOutcome::Done(answer) => return Ok(answer.warn(incoming.warnings)),
            UpdateOutcome::Overtaken if conditional => break,
            UpdateOutcome::Overtaken => {}
        }
    }
    Err(Status::modified(kind, &call.target.name))
}

/// Result of a change.
#[derive(Debug)]
pub(crate) enum UpdateOutcome {
    /// Done, or nothing to change.
    Done(Answer),
    /// A concurrent write changed the object.
    Overtaken,
}

/// Completes, checks and stores a changed object. Without a manager, its field ownership is already set.
pub(crate) async fn change(
    call: &Call<'_>,
    old: &Object,
    mut new: Value,
    manager: Option<&str>,
) -> Result<UpdateOutcome, Status> {
    let kind = call.kind();
    let name = &call.target.name;
    let part = call.target.subresource.as_str();
    let before = StoredObject { revision: old.revision, bytes: &old.value }.object(kind);
    let version = version_of(&new);
    if !version.is_empty() && version != before["metadata"]["resourceVersion"] {
        return Err(Status::modified(kind, name));
    }
    kind.complete(&mut new, manager.is_none());
    if let Some(manager) = manager {
        let api_version = kind.api_version();
        let actor = call.actor(&api_version, manager);
        new = managed_fields::update(&kind.schema, kind.reset_fields(part), Some(&before), new, &actor);
    }
    kind.clear_empty_lists(&mut new);
    lifecycle::before_update(kind, &before, &mut new, part);
    set_version(&mut new, &before);
    admission::grant(call, &new, Some(&before))?;
    let warnings = check(kind, name, &before, &new, part)?;
    if lifecycle::is_deleting(&new) && !lifecycle::has_finalizers(kind, &new) {
        return remove(call, old, new, warnings).await;
    }
    if managed_fields::equal_but_times(&before, &new) {
        return Ok(UpdateOutcome::Done(
            Answer::ok(Content::Stored(old.revision, old.value.clone())).warn(warnings),
        ));
    }
    if call.query.dry_run() {
        return Ok(UpdateOutcome::Done(Answer::ok(Content::Object(new)).warn(warnings)));
    }
    match call.write(call.key(), Expected::At(old.revision), Some(&kind.to_stored(new))).await {
        Ok((revision, bytes)) => {
            Ok(UpdateOutcome::Done(Answer::ok(Content::Stored(revision, bytes)).warn(warnings)))
        }
        Err(WriteError::Conflict(_)) => Ok(UpdateOutcome::Overtaken),
        Err(error) => Err(failed(&error)),
    }
}

/// Removes a terminating object without finalizers. The response has its last state.
async fn remove(
    call: &Call<'_>,
    old: &Object,
    new: Value,
    warnings: Vec<String>,
) -> Result<UpdateOutcome, Status> {
    let done = UpdateOutcome::Done(Answer::ok(Content::Object(new)).warn(warnings));
    if call.query.dry_run() {
        return Ok(done);
    }
    match call.write(call.key(), Expected::At(old.revision), None).await {
        Ok(_) => Ok(done),
        Err(WriteError::Conflict(_)) => Ok(UpdateOutcome::Overtaken),
        Err(error) => Err(failed(&error)),
    }
}

fn check(kind: &Kind, name: &str, before: &Value, new: &Value, part: &str) -> Result<Vec<String>, Status> {
    // The real server checks the metadata twice: for all kinds, then for this kind.
    let (metadata, old) = (&new["metadata"], &before["metadata"]);
    let mut errors =
        metadata::validate_object_meta(metadata, kind.namespaced, NameRule::PathSegment, "metadata");
    for _ in 0..2 {
        errors.extend(metadata::validate_object_meta_update(metadata, old, "metadata"));
    }
    let (errors, mut warnings) = kind.validate(new, Some(before), part, errors);
    warnings.extend(create::finalizer_warnings(metadata, old));
    if errors.is_empty() {
        Ok(warnings)
    } else {
        Err(Status::invalid(&kind.group, &kind.kind, name, &errors))
    }
}

/// Checks the uid of a new object, if it has one.
pub(super) fn same_uid(call: &Call<'_>, before: &Value, new: &Value) -> Result<(), Status> {
    let uid = |object: &Value| object["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
    let (is, wanted) = (uid(before), uid(new));
    if wanted.is_empty() || wanted == is {
        return Ok(());
    }
    let Call { target, .. } = call;
    let why = format!("Precondition failed: UID in precondition: {wanted}, UID in object meta: {is}");
    Err(Status::conflict(&target.kind, &target.name, why))
}

/// Resource version that a request expects; empty if it has none.
pub(crate) fn version_of(object: &Value) -> &str {
    let version = object["metadata"]["resourceVersion"].as_str().unwrap_or_default();
    if version == "0" { "" } else { version }
}

fn set_version(object: &mut Value, before: &Value) {
    if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
        metadata.insert("resourceVersion".to_owned(), before["metadata"]["resourceVersion"].clone());
    }
}
