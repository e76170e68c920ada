//! Subresource `scale` of custom kinds: the number of replicas as a `Scale` of `autoscaling/v1`.

use axum::http::StatusCode;
use bytes::Bytes;
use serde_json::{Value, json};

use super::{
    Call, get,
    patch::{Format, MAX_ATTEMPTS},
    update::{UpdateOutcome, change, same_uid, version_of},
};
use crate::{
    http::{
        answer::{Answer, Content},
        query::FieldValidation,
    },
    kinds::builtin,
    objects::decode,
    patch::{self, Checks},
    schema::ScalePaths,
    status::{Cause, Status},
    stored_object::StoredObject,
};

/// Reads the scale of an object.
pub(crate) async fn read(call: &Call<'_>, paths: &ScalePaths) -> Result<Answer, Status> {
    let answer = get::get(call).await?;
    scaled(call, paths, answer)
}

/// Sets the number of replicas by the `Scale` in the body of a PUT.
pub(crate) async fn update(call: &Call<'_>, paths: &ScalePaths, body: Bytes) -> Result<Answer, Status> {
    call.query.check_write("UpdateOptions", false)?;
    let validation = call.query.field_validation();
    let incoming = decode::object(&builtin::SCALE, call.content_type(), &body, validation)?;
    let wanted = incoming.object;
    match write(call, paths, &|_| Ok(wanted.clone())).await {
        Ok(answer) => Ok(answer.warn(incoming.warnings)),
        Err(status) => Err(status.warn(&incoming.warnings)),
    }
}

/// Sets the number of replicas by a JSON patch or merge patch of the `Scale`.
pub(crate) async fn patch(call: &Call<'_>, paths: &ScalePaths, body: Bytes) -> Result<Answer, Status> {
    let format = Format::of_scale(call.content_type())?;
    call.query.check_write("PatchOptions", false)?;
    let validation = call.query.field_validation();
    let checks = if validation == FieldValidation::Ignore { Checks::Off } else { Checks::On };
    write(call, paths, &|before| {
        let patched = match format {
            Format::Json => patch::json_patch(&before, &body, checks),
            _ => patch::merge_patch(before, &body, checks),
        };
        let patched = patched.map_err(|error| decode::patch_refused(&error))?;
        Ok(decode::patched(&builtin::SCALE, patched, validation)?.object)
    })
    .await
}

/// Writes the number of replicas of a changed `Scale` into the object.
async fn write(
    call: &Call<'_>,
    paths: &ScalePaths,
    changed: &(dyn Fn(Value) -> Result<Value, Status> + Sync),
) -> Result<Answer, Status> {
    let (kind, name) = (call.kind(), &call.target.name);
    let manager = call.manager();
    for _ in 0..MAX_ATTEMPTS {
        let old = call.api.ledger().get(&call.key()).ok_or_else(|| Status::not_found(kind, name))?;
        let mut object = StoredObject { revision: old.revision, bytes: &old.value }.object(kind);
        let is_set = paths.spec_replicas(&object).is_some();
        let mut scale = changed(scale_of(paths, &object))?;
        decode::fit_name(&scale, name)?;
        decode::fit_namespace(kind, &mut scale, &call.target.namespace)?;
        same_uid(call, &object, &scale)?;
        let wanted = scale["spec"].get("replicas").and_then(Value::as_i64);
        let Some(replicas) = wanted.or((is_set || call.parts.method == "PUT").then_some(0)) else {
            let path = &paths.spec_replicas;
            return Err(Status::bad_request(format!("the spec replicas field {path:?} cannot be empty")));
        };
        paths.set_spec_replicas(&mut object, replicas);
        let is_conditional = call.parts.method == "PUT" && !version_of(&scale).is_empty();
        if is_conditional {
            object["metadata"]["resourceVersion"] = scale["metadata"]["resourceVersion"].clone();
        }
        match change(call, &old, object, Some(&manager)).await? {
            UpdateOutcome::Done(answer) => return scaled(call, paths, answer),
            UpdateOutcome::Overtaken if is_conditional => break,
            UpdateOutcome::Overtaken => {}
        }
    }
    Err(Status::modified(kind, name))
}

/// Answer about an object, as its scale.
fn scaled(call: &Call<'_>, paths: &ScalePaths, answer: Answer) -> Result<Answer, Status> {
    let object = match answer.content {
        Content::Stored(revision, bytes) => StoredObject { revision, bytes: &bytes }.object(call.kind()),
        Content::Object(object) | Content::Plain(object) => object,
    };
    if paths.spec_replicas(&object).is_none() {
        let why = format!("the spec replicas field {:?} does not exist", paths.spec_replicas);
        let status = Status::new(500, "InternalError", format!("Internal error occurred: {why}"));
        return Err(status.with_causes([Cause { field: None, message: why, reason: "" }]));
    }
    let content = Content::Object(scale_of(paths, &object));
    Ok(Answer { code: StatusCode::OK, content, warnings: answer.warnings })
}

/// The scale of an object. Zero replicas are left out, as all zeros of this kind.
fn scale_of(paths: &ScalePaths, object: &Value) -> Value {
    let mut metadata = json!({});
    for field in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        if let Some(value) = object["metadata"].get(field) {
            metadata[field] = value.clone();
        }
    }
    let mut spec = json!({});
    if let Some(replicas @ 1..) = paths.spec_replicas(object) {
        spec["replicas"] = json!(replicas);
    }
    let mut status = json!({"replicas": paths.status_replicas(object)});
    if let Some(selector) = paths.label_selector(object) {
        status["selector"] = json!(selector);
    }
    json!({
        "kind": builtin::SCALE.kind, "apiVersion": builtin::SCALE.api_version(),
        "metadata": metadata, "spec": spec, "status": status,
    })
}
