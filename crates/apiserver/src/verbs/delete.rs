//! Delete and deletecollection.

use axum::response::Response;
use bytes::Bytes;
use orchestra_cel::FieldError;
use serde_json::{Value, json};

use super::{Call, failed, list};
use crate::{
    admission,
    http::{
        answer::{Answer, Content},
        negotiate::Format,
        query,
    },
    json as codec,
    ledger::{Expected, WriteError},
    objects::lifecycle::{self, Deletion, Propagation},
    protobuf,
    status::Status,
    stored_object::StoredObject,
};

const MAX_ATTEMPTS: usize = 32;

/// Deletes an object.
pub(crate) async fn delete(call: &Call<'_>, body: Bytes) -> Result<Answer, Status> {
    let options = Options::read(call, &body)?;
    remove(call, &call.target.name, &options).await
}

/// Deletes the objects of a collection that match the selectors.
pub(crate) async fn delete_collection(
    call: &Call<'_>,
    body: Bytes,
    format: Format,
) -> Result<Response, Status> {
    let options = Options::read(call, &body)?;
    let selected = list::select(call).await?;
    // Before anything is deleted: the answer has the objects.
    list::reserve(call, format, &selected).await?;
    let mut deleted = Vec::new();
    for (key, object) in &selected.objects {
        match remove(call, &key.name, &options).await {
            Ok(_) => deleted.push((key.clone(), object.clone())),
            Err(status) if status.code == 404 => {}
            Err(status) => return Err(status),
        }
    }
    list::respond(call, format, &list::Page { objects: deleted, ..selected })
}

/// Options of a deletion.
#[derive(Debug, Default)]
struct Options {
    uid: Option<String>,
    version: Option<String>,
    propagation: Option<Propagation>,
    dry_run: bool,
}

impl Options {
    fn read(call: &Call<'_>, body: &[u8]) -> Result<Self, Status> {
        // Options in the query count only without a body, as on a real server.
        let given = if body.is_empty() { options_of_query(call)? } else { options_of_body(call, body)? };
        if !given.is_object() && !given.is_null() {
            return Err(Status::bad_request(codec::no_object(&given)));
        }
        if !given["dryRun"].is_array() && !given["dryRun"].is_null() {
            return Err(Status::bad_request(format!(
                "dryRun: expected array, got {}",
                codec::kind_of(&given["dryRun"])
            )));
        }
        let (kind, version) = (&given["kind"], given["apiVersion"].as_str().unwrap_or("meta.k8s.io/v1"));
        if kind.as_str().is_some_and(|kind| kind != "DeleteOptions") {
            return Err(Status::bad_request(format!(
                "expected kind DeleteOptions, got {kind} of version {version:?}"
            )));
        }
        let text = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        let policy = text(&given["propagationPolicy"]).unwrap_or_default();
        let mut errors = Vec::new();
        let propagation = match (policy.as_str(), given["orphanDependents"].as_bool()) {
            ("", None) => None,
            ("", Some(orphans)) => Some(if orphans { Propagation::Orphan } else { Propagation::Background }),
            (_, Some(_)) => {
                let why = "orphanDependents and deletionPropagation cannot be both set";
                errors.push(FieldError::invalid("propagationPolicy", &json!(policy), why));
                None
            }
            ("Background", None) => Some(Propagation::Background),
            ("Foreground", None) => Some(Propagation::Foreground),
            ("Orphan", None) => Some(Propagation::Orphan),
            (_, None) => {
                let known = ["Foreground", "Background", "Orphan", "nil"];
                errors.push(FieldError::not_supported("propagationPolicy", &json!(policy), known));
                None
            }
        };
        let dry = given["dryRun"].as_array().map(Vec::as_slice).unwrap_or_default();
        if dry.iter().any(|value| value != "All") {
            errors.push(FieldError::not_supported("dryRun", &json!(dry), ["All"]));
        }
        query::refuse("DeleteOptions", &errors)?;
        Ok(Self {
            uid: text(&given["preconditions"]["uid"]),
            version: text(&given["preconditions"]["resourceVersion"]),
            propagation,
            dry_run: !dry.is_empty(),
        })
    }
}

/// Options in the query of a deletion.
fn options_of_query(call: &Call<'_>) -> Result<Value, Status> {
    call.query.number("gracePeriodSeconds")?;
    Ok(json!({
        "propagationPolicy": call.query.get("propagationPolicy"),
        "orphanDependents": call.query.optional_flag("orphanDependents"),
        "dryRun": call.query.all("dryRun").collect::<Vec<_>>(),
    }))
}

/// Decodes the options in the body of a deletion.
fn options_of_body(call: &Call<'_>, body: &[u8]) -> Result<Value, Status> {
    let malformed =
        |why: String| Status::bad_request(format!("couldn't get version/kind; json parse error: {why}"));
    match call.content_type() {
        protobuf::MEDIA_TYPE => protobuf::decode(body, "meta.k8s.io/v1", "DeleteOptions")
            .map_err(|error| Status::bad_request(error.to_string())),
        "application/yaml" => codec::decode_yaml(body)
            .map(|decoded| decoded.value)
            .map_err(|error| malformed(error.to_string())),
        _ => codec::decode(body).map(|decoded| decoded.value).map_err(|error| malformed(error.to_string())),
    }
}

async fn remove(call: &Call<'_>, name: &str, options: &Options) -> Result<Answer, Status> {
    let kind = call.kind();
    let key = call.key_of(name);
    for _ in 0..MAX_ATTEMPTS {
        let old = call.api.ledger().get(&key).ok_or_else(|| Status::not_found(kind, name))?;
        let object = StoredObject { revision: old.revision, bytes: &old.value }.object(kind);
        options.check_preconditions(call, name, &object)?;
        admission::delete(call, &object)?;
        let uid = object["metadata"]["uid"].clone();
        let (next, answer) = match lifecycle::delete(kind, &object, options.propagation, &call.now) {
            Deletion::Pending => {
                return Ok(Answer::ok(Content::Stored(old.revision, old.value)));
            }
            Deletion::Now => (None, deleted_status(call, name, &uid)),
            Deletion::Marked(marked) => (Some(kind.to_stored(marked)), json!(null)),
        };
        if options.dry_run {
            return Ok(Answer::ok(match next {
                Some(marked) => Content::Object(marked),
                None => Content::Plain(answer),
            }));
        }
        match call.write(key.clone(), Expected::ToMark(old.revision), next.as_ref()).await {
            Ok((revision, bytes)) if next.is_some() => {
                return Ok(Answer::ok(Content::Stored(revision, bytes)));
            }
            Ok((revision, _)) if kind.returns_deleted => {
                return Ok(Answer::ok(Content::Stored(revision, old.value)));
            }
            Ok(_) => return Ok(Answer::ok(Content::Plain(answer))),
            Err(WriteError::Conflict(_)) => {}
            Err(error) => return Err(failed(&error)),
        }
    }
    Err(Status::modified(kind, name))
}

impl Options {
    fn check_preconditions(&self, call: &Call<'_>, name: &str, object: &Value) -> Result<(), Status> {
        let metadata = &object["metadata"];
        let refuse = |why: String| Err(Status::precondition(call.kind(), name, why));
        if let Some(uid) = &self.uid
            && metadata["uid"] != uid.as_str()
        {
            let is = metadata["uid"].as_str().unwrap_or_default();
            if call.kind().checks_preconditions_first() {
                let why =
                    format!("Precondition failed: UID in precondition: {uid}, UID in object meta: {is}");
                return Err(Status::conflict(call.kind(), name, why));
            }
            return refuse(format!(
                "the UID in the precondition ({uid}) does not match the UID in record ({is}). The object might have \
                 been deleted and then recreated"
            ));
        }
        if let Some(version) = &self.version
            && metadata["resourceVersion"] != version.as_str()
        {
            let is = metadata["resourceVersion"].as_str().unwrap_or_default();
            return refuse(format!(
                "the ResourceVersion in the precondition ({version}) does not match the ResourceVersion in record \
                 ({is}). The object might have been modified"
            ));
        }
        Ok(())
    }
}

/// Response after the deletion of an object.
fn deleted_status(call: &Call<'_>, name: &str, uid: &Value) -> Value {
    let kind = call.kind();
    let mut details = json!({"name": name, "kind": kind.plural, "uid": uid});
    if let Value::Object(details) = &mut details
        && !kind.group.is_empty()
    {
        details.insert("group".to_owned(), json!(kind.group));
    }
    json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details,
    })
}
