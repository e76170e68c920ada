//! The Workload in the body of a request.
//!
//! Only its envelope is judged here. What is wrong with the Score document in it is said by the preview, in the words
//! of every other way to have it checked.

use axum::{
    body::Bytes,
    extract::rejection::BytesRejection,
    http::{HeaderMap, StatusCode, header},
};
use orchestra_api::{API_VERSION, Workload};
use orchestra_score::{Source, SourceId, yaml};
use serde_json::{Map, Value as Json, json};

use crate::answer::{Code, Failure};

/// The fields that objects have.
const FIELDS: &[&str] = &["apiVersion", "kind", "metadata", "spec", "status"];

/// Reads the Workload of this name.
pub(crate) fn read(
    body: Result<Bytes, BytesRejection>,
    headers: &HeaderMap,
    namespace: &str,
    name: &str,
) -> Result<Workload, Failure> {
    let body = body.map_err(|rejection| match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => {
            Failure::new(Code::PayloadTooLarge, "The body is longer than 3 MiB; split the workload.")
        }
        _ => Failure::new(Code::BadRequest, "The body cannot be read to its end."),
    })?;
    let Json::Object(mut object) = parse(&body, headers)? else {
        return Err(bad("the body is no object"));
    };
    check(&mut object, namespace, name)?;
    serde_json::from_value(Json::Object(object)).map_err(|error| bad(&error.to_string()))
}

fn bad(what: &str) -> Failure {
    let message = format!(
        "The body is not a Workload: {what}. Send one as JSON or YAML, with `apiVersion: {API_VERSION}` and `kind: Workload`."
    );
    Failure::new(Code::BadRequest, message)
}

fn parse(body: &Bytes, headers: &HeaderMap) -> Result<Json, Failure> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if kind.eq_ignore_ascii_case("application/json") {
        return serde_json::from_slice(body).map_err(|error| bad(&error.to_string()));
    }
    let text = std::str::from_utf8(body).map_err(|_| bad("the body is not UTF-8"))?;
    let source = Source::new("body", text);
    let (node, findings) = yaml::parse(&source, SourceId(0));
    let found = findings.into_sorted();
    let error = found.iter().find(|finding| finding.is_error());
    match (node, error) {
        (Some(node), None) => Ok(node.to_json()),
        (_, error) => {
            let what = error.map_or_else(
                || "it is empty".to_owned(),
                |error| {
                    let line = error.span.map(|span| format!("line {}: ", source.line(span.start as usize)));
                    format!("{}{}", line.unwrap_or_default(), error.message)
                },
            );
            Err(bad(&what))
        }
    }
}

/// Checks the envelope, and completes it from the address.
fn check(object: &mut Map<String, Json>, namespace: &str, name: &str) -> Result<(), Failure> {
    if object.get("apiVersion") != Some(&json!(API_VERSION)) || object.get("kind") != Some(&json!("Workload"))
    {
        return Err(bad("its apiVersion or kind is another"));
    }
    if let Some(field) = object.keys().find(|field| !FIELDS.contains(&field.as_str())) {
        return Err(bad(&format!("it has a field `{field}`, which objects do not have")));
    }
    object.remove("status");
    // A Workload without a spec has nothing in it, which is for the validator to say.
    let spec = object.entry("spec").or_insert_with(|| json!({}));
    if spec.is_null() {
        *spec = json!({});
    }
    let metadata = object.entry("metadata").or_insert_with(|| json!({}));
    let Json::Object(metadata) = metadata else { return Err(bad("its metadata is no object")) };
    for (field, expected) in [("name", name), ("namespace", namespace)] {
        let given = metadata.entry(field).or_insert_with(|| json!(expected));
        if *given != json!(expected) {
            let message = format!("The body has the {field} {given}, and the address has {expected:?}.");
            return Err(Failure::new(Code::BadRequest, message));
        }
    }
    Ok(())
}
