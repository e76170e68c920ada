//! Decoder of objects in request bodies: types, unknown and duplicate fields, name and namespace of the path.

use orchestra_cel::FieldError;
use serde_json::{Map, Value, json};

use super::typed;
use crate::{
    http::query::FieldValidation,
    json::{self, DecodeError, Decoded},
    kinds::{Checks, Kind},
    managed_fields::{Conflict, FieldsError, group_version_kind},
    metadata::{MetaOf, decode_object_meta},
    patch::{PatchError, Patched},
    protobuf::{self, Malformed},
    schema::embedded,
    status::{Cause, Details, Status},
};

/// Decoded object of a request.
#[derive(Debug)]
pub(crate) struct Incoming {
    /// Object without unknown fields.
    pub object: Value,
    /// Warnings about unknown and duplicate fields.
    pub warnings: Vec<String>,
}

/// Decodes the object in the body of a POST or PUT.
pub(crate) fn object(
    kind: &Kind,
    content_type: &str,
    body: &[u8],
    validation: FieldValidation,
) -> Result<Incoming, Status> {
    let decoded = match content_type {
        "" | "application/json" => json::decode(body).map_err(|error| unreadable(kind, &error))?,
        "application/yaml" => json::decode_yaml(body).map_err(|error| unreadable(kind, &error))?,
        protobuf::MEDIA_TYPE if !kind.custom => match protobuf::decode(body, &kind.api_version(), &kind.kind)
        {
            Ok(value) => Decoded { value, duplicates: Vec::new() },
            Err(Malformed::UnknownKind) => return Err(unknown_format(false)),
            Err(error) => return Err(unrecognized(kind, &error.to_string())),
        },
        _ => return Err(unknown_format(!kind.custom)),
    };
    let mut object = typed_as(kind, decoded.value)?;
    let mut unknown =
        known_fields(kind, &mut object).map_err(|why| Status::bad_request(cannot(kind, &why)))?;
    collect(kind, &mut unknown, decoded.duplicates);
    match validation {
        FieldValidation::Ignore => unknown.clear(),
        FieldValidation::Warn => {}
        FieldValidation::Strict if unknown.is_empty() => {}
        FieldValidation::Strict => {
            let why = format!("strict decoding error: {}", unknown.join(", "));
            return Err(Status::bad_request(cannot(kind, &why)));
        }
    }
    Ok(Incoming { object, warnings: unknown })
}

/// Refusal of a body in another format.
fn unknown_format(protobuf: bool) -> Status {
    let protobuf = if protobuf { ", application/vnd.kubernetes.protobuf" } else { "" };
    Status::new(
        415,
        "UnsupportedMediaType",
        format!(
            "the body of the request was in an unknown format - accepted media types include: \
             application/json, application/yaml{protobuf}"
        ),
    )
}

/// Duplicate fields come before unknown ones for custom kinds, after them for built-in kinds.
fn collect(kind: &Kind, unknown: &mut Vec<String>, duplicates: Vec<String>) {
    let at = if kind.custom { 0 } else { unknown.len() };
    unknown.splice(at..at, duplicates);
}

fn cannot(kind: &Kind, why: &str) -> String {
    format!("{} in version {:?} cannot be handled as a {}: {why}", kind.kind, kind.version, kind.kind)
}

fn unreadable(kind: &Kind, error: &DecodeError) -> Status {
    unrecognized(kind, &format!("couldn't get version/kind; json parse error: {error}"))
}

fn unrecognized(kind: &Kind, why: &str) -> Status {
    Status::bad_request(format!("the object provided is unrecognized (must be of type {}): {why}", kind.kind))
}

/// Checks apiVersion and kind of a body.
fn typed_as(kind: &Kind, value: Value) -> Result<Value, Status> {
    let mut fields = match value {
        Value::Object(fields) => fields,
        Value::Null => Map::new(),
        other => return Err(unrecognized(kind, &json::no_object(&other))),
    };
    for field in ["apiVersion", "kind"] {
        if let Some(value) = fields.get(field).filter(|value| !value.is_string() && !value.is_null()) {
            let why = format!(
                "couldn't get version/kind; json parse error: {field}: expected string, got {}",
                json::kind_of(value)
            );
            return Err(unrecognized(kind, &why));
        }
    }
    let text = |field: &str| fields.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (given_kind, version) = (text("kind"), text("apiVersion"));
    let api_version = kind.api_version();
    if kind.custom {
        if given_kind.is_empty() {
            return Err(unrecognized(kind, "Object 'Kind' is missing"));
        }
        if version != api_version {
            return Err(Status::bad_request(format!(
                "the API version in the data ({version}) does not match the expected API version ({api_version})"
            )));
        }
        if given_kind != kind.kind {
            let name = fields.get("metadata").and_then(|m| m["name"].as_str()).unwrap_or_default();
            let error = FieldError::invalid("kind", &json!(given_kind), format!("must be {}", kind.kind));
            return Err(Status::invalid(&kind.group, &given_kind, name, &[error]));
        }
    } else if (!given_kind.is_empty() && given_kind != kind.kind)
        || (!version.is_empty() && version != api_version)
    {
        let short = version.rsplit('/').next().unwrap_or_default();
        return Err(Status::bad_request(format!(
            "{given_kind} in version {short:?} cannot be handled as a {}: expected kind {:?} of version {api_version:?}",
            kind.kind, kind.kind
        )));
    }
    fields.insert("apiVersion".to_owned(), json!(api_version));
    fields.insert("kind".to_owned(), json!(kind.kind));
    fields.entry("metadata").or_insert_with(|| json!({}));
    Ok(Value::Object(fields))
}

/// Checks types and drops unknown fields; returns them as `unknown field "spec.x"`.
fn known_fields(kind: &Kind, object: &mut Value) -> Result<Vec<String>, String> {
    let of = if kind.custom { MetaOf::Custom } else { MetaOf::BuiltIn };
    let metadata = decode_object_meta(object["metadata"].take(), of, "metadata")?;
    let mut unknown = metadata.unknown;
    let checker = match &kind.checks {
        Checks::Custom(custom) => &custom.checker,
        Checks::Builtin(rules, checker) => {
            typed::check(&kind.schema, object, "")?;
            unknown.extend((rules.decode)(object)?);
            checker
        }
    };
    unknown.extend(checker.prune(object));
    let embedded = embedded::coerce_embedded(checker.schema(), object).map_err(|error| error.to_string())?;
    unknown.extend(embedded);
    if !kind.custom {
        unknown.sort();
    }
    if let Value::Object(fields) = object {
        fields.insert("metadata".to_owned(), metadata.value);
    }
    Ok(unknown.into_iter().map(|path| format!("unknown field {path:?}")).collect())
}

/// Checks the result of a JSON or merge patch.
pub(crate) fn patched(
    kind: &Kind,
    patched: Patched,
    validation: FieldValidation,
) -> Result<Incoming, Status> {
    let document = patched.value.clone();
    let mut object = typed_patch(kind, patched.value)?;
    let mut unknown = patched.notes;
    let found = known_fields(kind, &mut object)
        .map_err(|why| patch_refused(&PatchError::undecodable(&document, &why)))?;
    unknown.extend(found);
    match validation {
        FieldValidation::Ignore => unknown.clear(),
        FieldValidation::Strict if !unknown.is_empty() => {
            return Err(patch_refused(&PatchError::strict(&document, &unknown)));
        }
        FieldValidation::Warn | FieldValidation::Strict => {}
    }
    Ok(Incoming { object, warnings: unknown })
}

/// Checks that a patch kept apiVersion and kind.
fn typed_patch(kind: &Kind, patched: Value) -> Result<Value, Status> {
    let given_kind = patched["kind"].as_str().unwrap_or_default();
    if given_kind.is_empty() {
        return Err(patch_refused(&PatchError::undecodable(&patched, "Object 'Kind' is missing")));
    }
    let mut errors = Vec::new();
    let api_version = kind.api_version();
    if patched["apiVersion"] != api_version.as_str() {
        errors.push(FieldError::invalid(
            "apiVersion",
            &patched["apiVersion"],
            format!("must be {api_version}"),
        ));
    }
    if given_kind != kind.kind {
        errors.push(FieldError::invalid("kind", &patched["kind"], format!("must be {}", kind.kind)));
    }
    if errors.is_empty() {
        return Ok(patched);
    }
    let foreign = given_kind == kind.kind;
    let name = patched["metadata"]["name"].as_str().unwrap_or_default();
    let mut status = Status::invalid(&kind.group, given_kind, name, &errors);
    // An object of an unknown kind has no known fields.
    let fields = patched.as_object().into_iter().flat_map(serde_json::Map::keys);
    let unknown =
        fields.filter(|field| foreign && !matches!(field.as_str(), "apiVersion" | "kind" | "metadata"));
    status.warnings.extend(unknown.map(|field| format!("unknown field {field:?}")));
    Err(status)
}

/// Refusal of a patch.
pub(crate) fn patch_refused(error: &PatchError) -> Status {
    let status = Status::new(error.code, error.reason, error.message.clone());
    match error.causes.as_deref() {
        None => status,
        Some([]) => status.with_details(Details::default()),
        Some(causes) => status.with_causes(causes.iter().map(Cause::from)),
    }
}

/// Decodes the body of a server-side apply.
pub(crate) fn applied(body: &[u8], validation: FieldValidation) -> Result<Incoming, Status> {
    let decoded = json::decode_yaml(body)
        .map_err(|error| Status::bad_request(format!("error decoding YAML: {error}")))?;
    let mut warnings = decoded.duplicates;
    match validation {
        FieldValidation::Ignore => warnings.clear(),
        FieldValidation::Strict if !warnings.is_empty() => {
            return Err(Status::bad_request(format!("error strict decoding YAML: {}", warnings.join(", "))));
        }
        FieldValidation::Warn | FieldValidation::Strict => {}
    }
    let mut object = decoded.value;
    let Some(fields) = object.as_object_mut() else {
        if object.is_null() {
            return Err(Status::bad_request("invalid object type: /, Kind="));
        }
        return Err(Status::bad_request(format!(
            "error decoding YAML: expected an object, got {}",
            json::kind_of(&object)
        )));
    };
    fields.entry("metadata").or_insert_with(|| json!({}));
    Ok(Incoming { object, warnings })
}

/// Checks an applied object against the types of its kind: unknown fields are dropped, wrong types of a built-in kind
/// are refused.
pub(crate) fn type_applied(kind: &Kind, object: &mut Value) -> Result<(), Status> {
    let rules = match &kind.checks {
        Checks::Custom(custom) => {
            custom.checker.prune(object);
            return Ok(());
        }
        Checks::Builtin(rules, _) => rules,
    };
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
    let (namespace, name) = (text("namespace"), text("name"));
    let full = group_version_kind(&kind.api_version(), &kind.kind);
    let refused = |why: &str| {
        Status::internal(format!(
            "failed to convert new object ({namespace}/{name}; {full}) to proper version: unable to convert \
             unstructured object to {full}: error decoding from json: {why}"
        ))
    };
    let metadata = decode_object_meta(object["metadata"].take(), MetaOf::BuiltIn, "metadata")
        .map_err(|why| refused(&why))?;
    typed::check(&kind.schema, object, "").map_err(|why| refused(&why))?;
    let unknown = (rules.decode)(object).map_err(|why| refused(&why))?;
    if let Some(path) = unknown.first() {
        return Err(Status::internal(format!(
            "failed to create typed patch object ({namespace}/{name}; {full}): .{path}: field not declared in schema"
        )));
    }
    if let Value::Object(fields) = object {
        fields.insert("metadata".to_owned(), metadata.value);
    }
    Ok(())
}

/// Checks the name of an object against the path.
pub(crate) fn fit_name(object: &Value, name: &str) -> Result<(), Status> {
    let given = object["metadata"]["name"].as_str().unwrap_or_default();
    if given.is_empty() {
        return Err(Status::bad_request(format!(
            "the name of the object ({name} based on URL) was undeterminable: name must be provided"
        )));
    }
    if given == name {
        return Ok(());
    }
    Err(Status::bad_request(format!(
        "the name of the object ({given}) does not match the name on the URL ({name})"
    )))
}

/// Checks the namespace of an object against the path; it may be absent.
pub(crate) fn same_namespace(object: &Value, namespace: &str) -> Result<(), Status> {
    let given = object["metadata"]["namespace"].as_str().unwrap_or_default();
    if given.is_empty() || given == namespace {
        return Ok(());
    }
    Err(Status::bad_request(
        "the namespace of the provided object does not match the namespace sent on the request",
    ))
}

/// Sets the namespace of the path in an object.
pub(crate) fn fit_namespace(kind: &Kind, object: &mut Value, namespace: &str) -> Result<(), Status> {
    if kind.namespaced {
        same_namespace(object, namespace)?;
    }
    if !namespace.is_empty()
        && let Some(Value::Object(metadata)) = object.get_mut("metadata")
    {
        metadata.insert("namespace".to_owned(), json!(namespace));
    }
    Ok(())
}

/// Refusal of a write by field ownership.
pub(crate) fn fields_refused(error: &FieldsError) -> Status {
    match error {
        FieldsError::Conflicts(conflicts) => {
            let causes = conflicts.causes().into_iter().map(|cause| Cause {
                field: Some(cause.field),
                message: cause.message,
                reason: Conflict::REASON,
            });
            Status::new(409, "Conflict", conflicts.message()).with_causes(causes)
        }
        FieldsError::BadRequest(why) => Status::bad_request(why.clone()),
        FieldsError::Internal(why) => Status::internal(why.clone()),
    }
}
