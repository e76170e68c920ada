//! Encoding of answers: objects in the negotiated form, with warnings.

use std::collections::HashSet;

use axum::{
    body::Body,
    http::{HeaderValue, StatusCode, header},
    response::Response,
};
use bytes::Bytes;
use serde_json::{Value, json};

use super::negotiate::{Format, Shape};
use crate::{
    json,
    kinds::Kind,
    status::Status,
    store::Revision,
    stored_object::StoredObject,
    table::{self, Include},
};

/// Answer of a verb.
#[derive(Debug)]
pub(crate) struct Answer {
    /// 200 or 201.
    pub code: StatusCode,
    /// The object.
    pub content: Content,
    /// Warnings for the client.
    pub warnings: Vec<String>,
}

/// The object of an answer.
#[derive(Debug)]
pub(crate) enum Content {
    /// Stored object.
    Stored(Revision, Bytes),
    /// An object of the kind.
    Object(Value),
    /// Content without other shapes: a `Status`.
    Plain(Value),
}

impl Answer {
    /// 200
    pub(crate) fn ok(content: Content) -> Self {
        Self { code: StatusCode::OK, content, warnings: Vec::new() }
    }

    /// Prepends warnings.
    #[must_use]
    pub(crate) fn warn(mut self, warnings: Vec<String>) -> Self {
        self.warnings.splice(0..0, warnings);
        self
    }

    /// Response in a format.
    pub(crate) fn respond(
        self,
        kind: &Kind,
        format: Format,
        include: Include,
        now: i64,
    ) -> Result<Response, Status> {
        let bytes = match self.content {
            Content::Plain(value) => encode(&value, format),
            Content::Stored(revision, bytes) => {
                let record = StoredObject { revision, bytes: &bytes };
                if format.shape == Shape::Object && !format.yaml && !format.pretty && record.is_current(kind)
                {
                    let mut out = Vec::with_capacity(bytes.len() + 64);
                    record.write_as(kind, &mut out);
                    out.push(b'\n');
                    out
                } else {
                    shaped(kind, record.object(kind), format, include, now)?
                }
            }
            Content::Object(object) => shaped(kind, object, format, include, now)?,
        };
        Ok(respond(self.code, bytes, format, &self.warnings))
    }
}

fn shaped(kind: &Kind, object: Value, format: Format, include: Include, now: i64) -> Result<Vec<u8>, Status> {
    Ok(encode(&reshape(kind, object, format.shape, include, now)?, format))
}

/// An object in a shape.
pub(crate) fn reshape(
    kind: &Kind,
    object: Value,
    shape: Shape,
    include: Include,
    now: i64,
) -> Result<Value, Status> {
    Ok(match shape {
        Shape::Object => object,
        Shape::Metadata => metadata_only(&object),
        Shape::MetadataList => {
            if kind.custom {
                return Err(Status::internal("content is not a list"));
            }
            return Err(Status::new(
                406,
                "NotAcceptable",
                format!(
                    "you requested PartialObjectMetadataList, but the requested object is not a list (*core.{})",
                    kind.kind
                ),
            ));
        }
        Shape::Table => {
            let metadata = object["metadata"].clone();
            table::table(kind, &object, &metadata, include, now)
        }
    })
}

/// `PartialObjectMetadata` of an object.
pub(crate) fn metadata_only(object: &Value) -> Value {
    json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": object["metadata"]})
}

/// Encodes a value in a format.
pub(crate) fn encode(value: &Value, format: Format) -> Vec<u8> {
    if format.yaml {
        json::encode_yaml(value).into_bytes()
    } else if format.pretty {
        json::encode_pretty(value)
    } else {
        let mut bytes = json::encode(value);
        bytes.push(b'\n');
        bytes
    }
}

/// Response with a body in a format.
pub(crate) fn respond(code: StatusCode, bytes: Vec<u8>, format: Format, warnings: &[String]) -> Response {
    let mut response = Response::new(Body::from(bytes));
    *response.status_mut() = code;
    let media = if format.yaml { "application/yaml" } else { "application/json" };
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media));
    add_warnings(&mut response, warnings);
    response
}

/// Limit of a warning header.
const MAX_WARNINGS: usize = 100;

/// Adds warnings as headers, each once.
pub(crate) fn add_warnings(response: &mut Response, warnings: &[String]) {
    let mut known = HashSet::new();
    for warning in warnings.iter().filter(|warning| known.insert(*warning)).take(MAX_WARNINGS) {
        let mut text = String::with_capacity(warning.len() + 16);
        for c in warning.chars().map(|c| if c.is_control() { ' ' } else { c }) {
            if matches!(c, '"' | '\\') {
                text.push('\\');
            }
            text.push(c);
        }
        if let Ok(value) = HeaderValue::from_bytes(format!("299 - \"{text}\"").as_bytes()) {
            response.headers_mut().append(header::WARNING, value);
        }
    }
}
