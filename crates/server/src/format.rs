//! Content negotiation: JSON for programs, text for people.

use std::fmt;

use axum::{
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;

const JSON: &str = "application/json";
const TEXT: &str = "text/plain; charset=utf-8";

/// Media type of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Json,
    Text,
}

impl Format {
    /// Text if the `Accept` header prefers it to JSON, else JSON.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
        let ranges: Vec<(&str, f32)> = accepted.flat_map(|value| value.split(',')).map(range).collect();
        let weight = |names: [&str; 3]| {
            let of = |name: &str| {
                ranges.iter().find(|(range, _)| range.eq_ignore_ascii_case(name)).map(|(_, weight)| *weight)
            };
            names.into_iter().find_map(of).unwrap_or(0.0)
        };
        let text = weight(["text/plain", "text/*", "*/*"]);
        let json = weight(["application/json", "application/*", "*/*"]);
        if text > json { Self::Text } else { Self::Json }
    }

    /// Response with a value.
    pub(crate) fn respond<T: Serialize + fmt::Display>(self, status: StatusCode, value: &T) -> Response {
        let (kind, body) = match self {
            Self::Json => (JSON, serde_json::to_string(value).unwrap_or_default()),
            Self::Text => (TEXT, value.to_string()),
        };
        (status, [(header::CONTENT_TYPE, kind)], format!("{}\n", body.trim_end())).into_response()
    }
}

/// Media range and its weight.
fn range(text: &str) -> (&str, f32) {
    let mut parts = text.split(';').map(str::trim);
    let name = parts.next().unwrap_or_default();
    let weight = parts.find_map(|part| part.strip_prefix("q=")).and_then(|weight| weight.parse().ok());
    (name, weight.unwrap_or(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_must_be_preferred_to_json() {
        for (accept, format) in [
            ("", Format::Json),
            ("*/*", Format::Json),
            ("text/plain", Format::Text),
            ("text/plain; charset=utf-8", Format::Text),
            ("TEXT/PLAIN", Format::Text),
            ("text/*", Format::Text),
            ("text/plain, application/json", Format::Json),
            ("application/json;q=0.5, text/plain", Format::Text),
            ("text/plain;q=0.2, */*;q=0.1", Format::Text),
            ("text/plain;q=0.1, application/json", Format::Json),
            ("text/html", Format::Json),
            ("nonsense;;q=x", Format::Json),
        ] {
            let headers = HeaderMap::from_iter([(header::ACCEPT, accept.parse().unwrap())]);
            assert_eq!(Format::of(&headers), format, "{accept:?}");
        }
        assert_eq!(Format::of(&HeaderMap::new()), Format::Json);
    }
}
