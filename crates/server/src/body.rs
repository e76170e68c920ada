//! Workload in the body of a request.
//!
//! Only the envelope is validated here. The preview reports faults of the Score document, as everywhere.

use axum::{
    body::Bytes,
    extract::rejection::BytesRejection,
    http::{HeaderMap, header},
};
use orchestra_api::{API_VERSION, Workload};
use orchestra_score::{Source, SourceId, yaml};
use serde_json::{Map, Value as Json, json};

use crate::error::{Error, WorkloadError};

/// Top-level fields of an object.
const FIELDS: &[&str] = &["apiVersion", "kind", "metadata", "spec", "status"];

/// Workload of this name in the body.
pub(crate) fn read(
    body: Result<Bytes, BytesRejection>,
    headers: &HeaderMap,
    namespace: &str,
    name: &str,
) -> Result<Workload, Error> {
    let body = body.map_err(Error::of_body)?;
    let mut object = parse(&body, headers).map_err(Error::InvalidWorkload)?;
    check_kind(&object).map_err(Error::InvalidWorkload)?;
    complete(&mut object, namespace, name)?;
    serde_json::from_value(Json::Object(object)).map_err(|error| Error::InvalidWorkload(error.into()))
}

fn parse(body: &Bytes, headers: &HeaderMap) -> Result<Map<String, Json>, WorkloadError> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    let value = if kind.eq_ignore_ascii_case("application/json") {
        serde_json::from_slice(body)?
    } else {
        parse_yaml(std::str::from_utf8(body).map_err(WorkloadError::Encoding)?)?
    };
    match value {
        Json::Object(object) => Ok(object),
        _ => Err(WorkloadError::NotAnObject),
    }
}

fn parse_yaml(text: &str) -> Result<Json, WorkloadError> {
    let source = Source::new("body", text);
    let (node, findings) = yaml::parse(&source, SourceId(0));
    let found = findings.into_sorted();
    match (node, found.iter().find(|finding| finding.is_error())) {
        (Some(node), None) => Ok(node.to_json()),
        (_, Some(error)) => {
            let line = error.span.map_or(1, |span| source.line(span.start as usize));
            Err(WorkloadError::Yaml { line, message: error.message.clone() })
        }
        (None, None) => Err(WorkloadError::Empty),
    }
}

fn check_kind(object: &Map<String, Json>) -> Result<(), WorkloadError> {
    if object.get("apiVersion") != Some(&json!(API_VERSION)) || object.get("kind") != Some(&json!("Workload"))
    {
        return Err(WorkloadError::OtherKind);
    }
    match object.keys().find(|field| !FIELDS.contains(&field.as_str())) {
        Some(field) => Err(WorkloadError::UnknownField(field.clone())),
        None => Ok(()),
    }
}

/// Completes the metadata from the path, and checks that both agree.
fn complete(object: &mut Map<String, Json>, namespace: &str, name: &str) -> Result<(), Error> {
    object.remove("status");
    // The validator reports that the spec is empty.
    let spec = object.entry("spec").or_insert_with(|| json!({}));
    if spec.is_null() {
        *spec = json!({});
    }
    let metadata = object.entry("metadata").or_insert_with(|| json!({}));
    let Json::Object(metadata) = metadata else {
        return Err(Error::InvalidWorkload(WorkloadError::Metadata));
    };
    for (field, expected) in [("name", name), ("namespace", namespace)] {
        let given = metadata.entry(field).or_insert_with(|| json!(expected));
        if *given != json!(expected) {
            let (given, expected) = (given.to_string(), expected.to_owned());
            return Err(Error::OtherWorkload { field, given, expected });
        }
    }
    Ok(())
}
