//! Body of a request, and the Workload in it.
//!
//! Only the envelope is validated here. The preview reports faults of the Score document, as everywhere.

use std::time::Duration;

use axum::{
    body::{Body, Bytes},
    http::{HeaderMap, header},
};
use orchestra_api::{API_VERSION, Workload};
use orchestra_limits::{BodyLimits, Permit};
use orchestra_score::{Source, SourceId, yaml};
use serde_json::{Map, Value as Json, json};

use crate::{
    error::{Error, WorkloadError},
    preview_cost,
};

/// Limits of a body; its size is limited as in the API.
const LIMITS: BodyLimits =
    BodyLimits { bytes: 3 * 1024 * 1024, idle: Duration::from_secs(10), total: Duration::from_mins(1) };

/// Top-level fields of an object.
const FIELDS: &[&str] = &["apiVersion", "kind", "metadata", "spec", "status"];

/// Reads a body. Its bytes belong to the permit.
pub(crate) async fn read(body: Body, permit: &Permit) -> Result<Bytes, Error> {
    Ok(orchestra_limits::read(body, LIMITS, permit).await?)
}

/// Workload of this name in the body, with room for its preview.
pub(crate) async fn read_workload(
    body: Body,
    permit: &Permit,
    headers: &HeaderMap,
    namespace: &str,
    name: &str,
) -> Result<Workload, Error> {
    let body = read(body, permit).await?;
    let is_json = is_json(headers);
    let values = preview_cost::values(&body, is_json);
    if values > preview_cost::MAX_VALUES {
        return Err(Error::TooManyValues(preview_cost::MAX_VALUES));
    }
    permit.reserve(preview_cost::bytes(body.len(), values)).await?;
    let (namespace, name) = (namespace.to_owned(), name.to_owned());
    permit.work(move || decode(&body, is_json, &namespace, &name)).await?
}

fn decode(body: &Bytes, is_json: bool, namespace: &str, name: &str) -> Result<Workload, Error> {
    let mut object = parse(body, is_json).map_err(Error::InvalidWorkload)?;
    check_kind(&object).map_err(Error::InvalidWorkload)?;
    complete(&mut object, namespace, name)?;
    serde_json::from_value(Json::Object(object)).map_err(|error| Error::InvalidWorkload(error.into()))
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    kind.eq_ignore_ascii_case("application/json")
}

fn parse(body: &Bytes, is_json: bool) -> Result<Map<String, Json>, WorkloadError> {
    let value = if is_json {
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
