//! From a body to an object of a kind: types, unknown and doubled fields, names that fit the path.

use serde_json::{Map, Value, json};

use super::typed;
use crate::{
    field_error::FieldError,
    fields::{Conflict, FieldsError, group_version_kind},
    http::query::FieldValidation,
    json::{self, DecodeError, Duplicates},
    kinds::{Checks, Kind},
    names::{MetaOf, decode_object_meta},
    patch::{PatchError, Patched},
    status::Status,
};

/// An object that a client sent.
#[derive(Debug)]
pub(crate) struct Incoming {
    /// The object, without fields that its kind does not have.
    pub object: Value,
    /// Those fields, if the client only wants to be told.
    pub warnings: Vec<String>,
}

/// Reads the object in the body of a POST or PUT.
pub(crate) fn object(
    kind: &Kind,
    content_type: &str,
    body: &[u8],
    validation: FieldValidation,
) -> Result<Incoming, Status> {
    let decoded = match content_type {
        "" | "application/json" => json::decode(body),
        "application/yaml" => json::decode_yaml(body),
        "application/vnd.kubernetes.protobuf" => {
            return Err(Status::new(
                415,
                "UnsupportedMediaType",
                "this server does not read protobuf - accepted media types include: application/json, application/yaml",
            ));
        }
        _ => {
            return Err(Status::new(
                415,
                "UnsupportedMediaType",
                "the body of the request was in an unknown format - accepted media types include: \
                 application/json, application/yaml, application/vnd.kubernetes.protobuf",
            ));
        }
    };
    let decoded = decoded.map_err(|error| unreadable(kind, &error, body))?;
    let mut object = typed_as(kind, decoded.value, body)?;
    let mut unknown =
        known_fields(kind, &mut object).map_err(|why| Status::bad_request(cannot(kind, &why)))?;
    collect(kind, &mut unknown, &decoded.duplicates);
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

/// Doubled fields come before unknown ones for kinds of CRDs, after them for built-in kinds.
fn collect(kind: &Kind, unknown: &mut Vec<String>, duplicates: &Duplicates) {
    let doubled = duplicates.errors();
    let at = if kind.custom { 0 } else { unknown.len() };
    unknown.splice(at..at, doubled);
}

fn cannot(kind: &Kind, why: &str) -> String {
    format!("{} in version {:?} cannot be handled as a {}: {why}", kind.kind, kind.version, kind.kind)
}

fn unreadable(kind: &Kind, error: &DecodeError, body: &[u8]) -> Status {
    let why = match error {
        DecodeError::Syntax(why) => format!("couldn't get version/kind; json parse error: {why}"),
        DecodeError::OutOfRange(_) => return Status::bad_request(cannot(kind, &error.to_string())),
        DecodeError::Yaml(why) => why.clone(),
    };
    unrecognized(kind, &why, body)
}

fn unrecognized(kind: &Kind, why: &str, body: &[u8]) -> Status {
    Status::bad_request(format!(
        "the object provided is unrecognized (must be of type {}): {why} ({})",
        kind.kind,
        json::summary(body)
    ))
}

/// Kinds that the real server knows beside the one it expects.
const CORE: [&str; 7] =
    ["ConfigMap", "Event", "Namespace", "Secret", "ServiceAccount", "Status", "DeleteOptions"];

/// Checks that a body says it is of this kind.
fn typed_as(kind: &Kind, value: Value, body: &[u8]) -> Result<Value, Status> {
    let mut fields = match value {
        Value::Object(fields) => fields,
        Value::Null => Map::new(),
        other => return Err(unrecognized(kind, &json::no_object(&other), body)),
    };
    for field in ["apiVersion", "kind"] {
        if let Some(value) = fields.get(field).filter(|value| !value.is_string() && !value.is_null()) {
            let why = format!(
                "couldn't get version/kind; json parse error: json: cannot unmarshal {} into Go struct field \
                 .{field} of type string",
                json::kind_of(value)
            );
            return Err(unrecognized(kind, &why, body));
        }
    }
    let text = |field: &str| fields.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (said, version) = (text("kind"), text("apiVersion"));
    let api_version = kind.api_version();
    if kind.custom {
        if said.is_empty() {
            let shown = String::from_utf8_lossy(body);
            return Err(unrecognized(
                kind,
                &format!("Object 'Kind' is missing in '{}'", shown.trim_end()),
                body,
            ));
        }
        if version != api_version {
            return Err(Status::bad_request(format!(
                "the API version in the data ({version}) does not match the expected API version ({api_version})"
            )));
        }
        if said != kind.kind {
            let name = fields.get("metadata").and_then(|m| m["name"].as_str()).unwrap_or_default();
            let error = FieldError::invalid("kind", &json!(said), format!("must be {}", kind.kind));
            return Err(Status::invalid(&kind.group, &said, name, &[error]));
        }
    } else if (!said.is_empty() && said != kind.kind) || (!version.is_empty() && version != api_version) {
        let short = version.rsplit('/').next().unwrap_or_default();
        if version == api_version && CORE.contains(&said.trim_end_matches("List")) {
            return Err(Status::bad_request(format!(
                "{said} in version {short:?} cannot be handled as a {}: converting (v1.{said}) to (core.{}): unknown \
                 conversion",
                kind.kind, kind.kind
            )));
        }
        return Err(Status::bad_request(format!(
            "{said} in version {short:?} cannot be handled as a {}: no kind {said:?} is registered for version \
             {version:?} in scheme \"pkg/runtime/scheme.go:111\"",
            kind.kind
        )));
    }
    fields.insert("apiVersion".to_owned(), json!(api_version));
    fields.insert("kind".to_owned(), json!(kind.kind));
    fields.entry("metadata").or_insert_with(|| json!({}));
    Ok(Value::Object(fields))
}

/// Checks types and drops fields that the kind does not have; names them as `unknown field "spec.x"`.
fn known_fields(kind: &Kind, object: &mut Value) -> Result<Vec<String>, String> {
    let of = if kind.custom { MetaOf::Custom } else { MetaOf::BuiltIn(&kind.kind) };
    let metadata = decode_object_meta(object["metadata"].take(), of, "metadata")?;
    let mut unknown = metadata.unknown;
    let checker = match &kind.checks {
        Checks::Custom(custom) => &custom.checker,
        Checks::Builtin(rules, checker) => {
            typed::check(&kind.schema, object, &kind.kind, "")?;
            unknown.extend((rules.decode)(object)?);
            checker
        }
    };
    unknown.extend(checker.prune(object));
    let embedded = checker.schema().coerce_embedded(object).map_err(|error| error.to_string())?;
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

/// Checks that a patch left an object what it is.
fn typed_patch(kind: &Kind, patched: Value) -> Result<Value, Status> {
    let said = patched["kind"].as_str().unwrap_or_default();
    if said.is_empty() {
        let shown = String::from_utf8_lossy(&json::encode(&patched)).into_owned();
        let why = format!("Object 'Kind' is missing in '{shown}'");
        return Err(patch_refused(&PatchError::undecodable(&patched, &why)));
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
    if said != kind.kind {
        errors.push(FieldError::invalid("kind", &patched["kind"], format!("must be {}", kind.kind)));
    }
    if errors.is_empty() {
        return Ok(patched);
    }
    let foreign = said == kind.kind;
    let name = patched["metadata"]["name"].as_str().unwrap_or_default();
    let mut status = Status::invalid(&kind.group, said, name, &errors);
    // What has no kind here has no fields either.
    let fields = patched.as_object().into_iter().flat_map(serde_json::Map::keys);
    let unknown =
        fields.filter(|field| foreign && !matches!(field.as_str(), "apiVersion" | "kind" | "metadata"));
    status.warnings.extend(unknown.map(|field| format!("unknown field {field:?}")));
    Err(status)
}

/// Why a patch is refused.
pub(crate) fn patch_refused(error: &PatchError) -> Status {
    let status = Status::new(error.code, error.reason, error.message.clone());
    match error.causes.as_deref() {
        None => status,
        Some([]) => status.with("details", json!({})),
        Some(causes) => status.with("causes", crate::status::causes(causes)),
    }
}

/// Reads the body of a server-side apply.
pub(crate) fn applied(body: &[u8], validation: FieldValidation) -> Result<Incoming, Status> {
    let decoded = json::decode_yaml(body).map_err(|error| {
        Status::bad_request(format!("error decoding YAML: error converting YAML to JSON: {error}"))
    })?;
    let mut warnings = decoded.duplicates.warnings().to_vec();
    match validation {
        FieldValidation::Ignore => warnings.clear(),
        FieldValidation::Strict if !warnings.is_empty() => {
            let doubled = decoded.duplicates.errors().join(", ");
            return Err(Status::bad_request(format!("error strict decoding YAML: {doubled}")));
        }
        FieldValidation::Warn | FieldValidation::Strict => {}
    }
    let mut object = decoded.value;
    let Some(fields) = object.as_object_mut() else {
        if object.is_null() {
            return Err(Status::bad_request("invalid object type: /, Kind="));
        }
        return Err(Status::bad_request(format!(
            "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {} into Go \
             value of type map[string]interface {{}}",
            json::kind_of(&object)
        )));
    };
    fields.entry("metadata").or_insert_with(|| json!({}));
    Ok(Incoming { object, warnings })
}

/// Gives an applied object the types of its kind: fields that the schema does not have go, and what a built-in kind
/// cannot hold is refused.
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
    let metadata = decode_object_meta(object["metadata"].take(), MetaOf::BuiltIn(&kind.kind), "metadata")
        .map_err(|why| refused(&why))?;
    typed::check(&kind.schema, object, &kind.kind, "").map_err(|why| refused(&why))?;
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

/// The name in an object is that of the path.
pub(crate) fn fit_name(object: &Value, name: &str) -> Result<(), Status> {
    let said = object["metadata"]["name"].as_str().unwrap_or_default();
    if said.is_empty() {
        return Err(Status::bad_request(format!(
            "the name of the object ({name} based on URL) was undeterminable: name must be provided"
        )));
    }
    if said == name {
        return Ok(());
    }
    Err(Status::bad_request(format!(
        "the name of the object ({said}) does not match the name on the URL ({name})"
    )))
}

/// The namespace in an object is that of the path, or absent.
pub(crate) fn same_namespace(object: &Value, namespace: &str) -> Result<(), Status> {
    let said = object["metadata"]["namespace"].as_str().unwrap_or_default();
    if said.is_empty() || said == namespace {
        return Ok(());
    }
    Err(Status::bad_request(
        "the namespace of the provided object does not match the namespace sent on the request",
    ))
}

/// The namespace of the path is that of the object.
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

/// Why field ownership refuses a write.
pub(crate) fn fields_refused(error: &FieldsError) -> Status {
    match error {
        FieldsError::Conflicts(conflicts) => {
            let causes: Vec<Value> = conflicts
                .causes()
                .into_iter()
                .map(|cause| json!({"reason": Conflict::REASON, "message": cause.message, "field": cause.field}))
                .collect();
            Status::new(409, "Conflict", conflicts.message()).with("causes", Value::Array(causes))
        }
        FieldsError::BadRequest(why) => Status::bad_request(why.clone()),
        FieldsError::Internal(why) => Status::internal(why.clone()),
    }
}
