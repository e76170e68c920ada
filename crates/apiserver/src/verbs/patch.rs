//! Patch: JSON patch, merge patch, strategic merge patch and server-side apply.

use bytes::Bytes;
use serde_json::Value;

use super::{
    Call, create,
    update::{UpdateOutcome, change},
};
use crate::{
    http::{answer::Answer, query::FieldValidation},
    managed_fields,
    objects::decode,
    patch::{self, Checks},
    status::{Details, Status},
    stored_object::StoredObject,
};

/// Retries of a patch after a conflicting write.
pub(super) const MAX_ATTEMPTS: usize = 32;

const JSON: &str = "application/json-patch+json";
const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
/// Media type of a server-side apply.
pub(crate) const APPLY: &str = "application/apply-patch+yaml";

/// Patches an object by the body of a PATCH.
pub(crate) async fn patch(call: &Call<'_>, body: Bytes) -> Result<Answer, Status> {
    match call.content_type() {
        JSON => modify(call, &body, Format::Json).await,
        MERGE => modify(call, &body, Format::Merge).await,
        STRATEGIC if !call.kind().custom => modify(call, &body, Format::Strategic).await,
        APPLY => apply(call, &body).await,
        _ => Err(unknown_format(call.kind().custom)),
    }
}

/// Refusal of a patch in another format. A real server refuses it at an earlier place for built-in kinds.
fn unknown_format(custom: bool) -> Status {
    let strategic = if custom { String::new() } else { format!("{STRATEGIC}, ") };
    let message = format!(
        "the body of the request was in an unknown format - accepted media types include: {JSON}, {MERGE}, \
         {strategic}{APPLY}"
    );
    let status = Status::new(415, "UnsupportedMediaType", message);
    if custom { status } else { status.with_details(Details::default()) }
}

/// Format of a patch that changes an existing object.
#[derive(Clone, Copy, Debug)]
pub(super) enum Format {
    /// RFC 6902.
    Json,
    /// RFC 7386.
    Merge,
    /// Merge patch by the schema.
    Strategic,
}

impl Format {
    /// Format of a patch of a scale.
    pub(super) fn of_scale(media_type: &str) -> Result<Self, Status> {
        match media_type {
            JSON => Ok(Self::Json),
            MERGE => Ok(Self::Merge),
            _ => Err(unknown_format(true)),
        }
    }
}

async fn modify(call: &Call<'_>, body: &[u8], format: Format) -> Result<Answer, Status> {
    call.query.check_write("PatchOptions", false)?;
    let kind = call.kind();
    let manager = call.manager();
    for _ in 0..MAX_ATTEMPTS {
        let old =
            call.api.ledger().get(&call.key()).ok_or_else(|| Status::not_found(kind, &call.target.name))?;
        let before = StoredObject { revision: old.revision, bytes: &old.value }.object(kind);
        let validation = call.query.field_validation();
        let checks = if validation == FieldValidation::Ignore { Checks::Off } else { Checks::On };
        let patched = match format {
            Format::Json => patch::json_patch(&before, body, checks),
            Format::Merge => patch::merge_patch(before, body, checks),
            Format::Strategic => patch::strategic_merge_patch(kind, before, body, checks),
        };
        let incoming =
            decode::patched(kind, patched.map_err(|error| decode::patch_refused(&error))?, validation)?;
        let mut new = incoming.object;
        decode::fit_name(&new, &call.target.name)?;
        decode::fit_namespace(kind, &mut new, &call.target.namespace)?;
        let changed = change(call, &old, new, Some(&manager)).await;
        if let UpdateOutcome::Done(answer) = changed.map_err(|status| status.warn(&incoming.warnings))? {
            return Ok(answer.warn(incoming.warnings));
        }
    }
    Err(Status::modified(kind, &call.target.name))
}

async fn apply(call: &Call<'_>, body: &[u8]) -> Result<Answer, Status> {
    call.query.check_write("PatchOptions", true)?;
    let kind = call.kind();
    let incoming = decode::applied(body, call.query.field_validation())?;
    let wanted = incoming.object;
    decode::same_namespace(&wanted, &call.target.namespace)?;
    let api_version = kind.api_version();
    let manager = call.manager();
    let actor = call.actor(&api_version, &manager);
    let reset = kind.reset_fields(&call.target.subresource);
    let force = call.query.flag("force");
    for _ in 0..MAX_ATTEMPTS {
        let old = call.api.ledger().get(&call.key());
        let before =
            old.as_ref().map(|old| StoredObject { revision: old.revision, bytes: &old.value }.object(kind));
        if let (None, Some(uid)) = (&before, wanted["metadata"]["uid"].as_str()) {
            let why = format!(
                "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
            );
            return Err(Status::conflict(kind, &call.target.name, why));
        }
        if before.is_none() && !call.target.subresource.is_empty() {
            return Err(Status::not_found(kind, &call.target.name));
        }
        let mut merged = managed_fields::apply(&kind.schema, reset, before.as_ref(), &wanted, &actor, force)
            .map_err(|error| decode::fields_refused(&error))?;
        // A new object gets its name from the apply.
        if old.is_none() || wanted["metadata"].get("name").is_some() {
            decode::fit_name(&wanted, &call.target.name)?;
        }
        decode::type_applied(kind, &mut merged)?;
        let Some(old) = old else {
            call.permit.also(call.api, "create")?;
            if let Some(Value::Object(metadata)) = merged.get_mut("metadata") {
                metadata.remove("resourceVersion");
            }
            match create::store_new(call, merged, None).await {
                // A concurrent write: apply to its result.
                Err(status) if status.reason == "AlreadyExists" => continue,
                Err(status) => return Err(status.warn(&incoming.warnings)),
                Ok(answer) => return Ok(answer.warn(incoming.warnings)),
            }
        };
        if let UpdateOutcome::Done(answer) = change(call, &old, merged, None).await? {
            return Ok(answer.warn(incoming.warnings));
        }
    }
    Err(Status::modified(kind, &call.target.name))
}
