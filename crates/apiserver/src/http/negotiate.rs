//! Content negotiation.

use axum::http::{HeaderMap, header};

use crate::status::{Details, Status};

/// Negotiated format of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Format {
    /// Shape of an object in an answer.
    pub shape: Shape,
    /// YAML instead of JSON.
    pub yaml: bool,
    /// Indented.
    pub pretty: bool,
}

impl Format {
    /// Default for a client without an `Accept` header.
    pub(crate) const PLAIN: Self = Self { shape: Shape::Object, yaml: false, pretty: false };
}

/// Shape of an object in an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Whole object.
    Object,
    /// A row of columns.
    Table,
    /// Its metadata.
    Metadata,
    /// The metadata of the objects of a list.
    MetadataList,
}

/// Format that the `Accept` header requests.
pub(crate) fn negotiate(headers: &HeaderMap, pretty: Option<bool>) -> Result<Format, Status> {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let pretty = pretty.unwrap_or_else(|| {
        let agent = headers.get(header::USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or_default();
        ["curl", "Wget", "Mozilla/5.0"].iter().any(|browser| agent.starts_with(browser))
    });
    if accept.trim().is_empty() {
        return Ok(Format { shape: Shape::Object, yaml: false, pretty });
    }
    let mut clauses: Vec<(f32, &str)> = accept.split(',').map(|clause| (quality(clause), clause)).collect();
    clauses.sort_by(|a, b| b.0.total_cmp(&a.0));
    clauses.iter().find_map(|(_, clause)| served(clause, pretty)).ok_or_else(not_acceptable)
}

/// Format that the `Accept` header requests for a built-in kind. The real server negotiates twice: first it checks that
/// it supports any of the media types.
pub(crate) fn negotiate_builtin(
    headers: &HeaderMap,
    pretty: Option<bool>,
    collection: bool,
) -> Result<Format, Status> {
    const SPOKEN: [&str; 4] =
        ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf", "*/*"];
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let media = |clause: &str| clause.split(';').next().unwrap_or_default().trim().to_owned();
    if accept.trim().is_empty() || accept.split(',').any(|clause| SPOKEN.contains(&media(clause).as_str())) {
        return negotiate(headers, pretty);
    }
    let streams = if collection {
        ", application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"
    } else {
        ""
    };
    let message = format!(
        "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, \
         application/vnd.kubernetes.protobuf{streams}"
    );
    Err(Status::new(406, "NotAcceptable", message).with_details(Details::default()))
}

/// True if a client accepts a media type with these parameters, in any order: aggregated discovery.
pub(crate) fn accepts(headers: &HeaderMap, parameters: &[(&str, &str)]) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    accept.split(',').any(|clause| {
        let mut parts = clause.split(';').map(str::trim);
        let media = parts.next().unwrap_or_default();
        let given: Vec<(&str, &str)> = parts.filter_map(|part| part.split_once('=')).collect();
        matches!(media, "application/json" | "*/*") && parameters.iter().all(|wanted| given.contains(wanted))
    })
}

fn quality(clause: &str) -> f32 {
    clause.split(';').find_map(|part| part.trim().strip_prefix("q=")?.parse().ok()).unwrap_or(1.0)
}

fn served(clause: &str, pretty: bool) -> Option<Format> {
    let mut parts = clause.split(';').map(str::trim);
    let yaml = match parts.next()? {
        "application/json" | "*/*" | "application/*" => false,
        "application/yaml" => true,
        _ => return None,
    };
    let (mut shape, mut group, mut version, mut pretty) = ("", "", "", pretty);
    for (name, value) in parts.filter_map(|part| part.split_once('=')) {
        match name {
            "as" => shape = value,
            "g" => group = value,
            "v" => version = value,
            "pretty" => pretty = value == "1",
            _ => {}
        }
    }
    let known = group == "meta.k8s.io" && matches!(version, "v1" | "v1beta1");
    let shape = match shape {
        "" => Shape::Object,
        "Table" if known => Shape::Table,
        "PartialObjectMetadata" if known => Shape::Metadata,
        "PartialObjectMetadataList" if known => Shape::MetadataList,
        _ => return None,
    };
    Some(Format { shape, yaml, pretty })
}

/// Error text of the real server. It also names protobuf, which this server does not support; that does no harm, since
/// all clients accept JSON.
pub(crate) fn not_acceptable() -> Status {
    Status::new(
        406,
        "NotAcceptable",
        "only the following media types are accepted: application/json, application/yaml, \
         application/vnd.kubernetes.protobuf",
    )
}
