//! Answers: JSON for programs, text for people; and failures in one envelope.

use std::fmt;

use axum::{
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::{Serialize, Serializer};
use serde_json::json;

const JSON: &str = "application/json";
const TEXT: &str = "text/plain; charset=utf-8";

/// How an answer is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Json,
    Text,
}

impl Format {
    /// What a request asks for: text if that is accepted and preferred to JSON, else JSON.
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

    /// A value, written so.
    pub(crate) fn write<T: Serialize + fmt::Display>(self, status: StatusCode, value: &T) -> Response {
        let (kind, body) = match self {
            Self::Json => (JSON, serde_json::to_string(value).unwrap_or_default()),
            Self::Text => (TEXT, value.to_string()),
        };
        (status, [(header::CONTENT_TYPE, kind)], format!("{}\n", body.trim_end())).into_response()
    }
}

/// A media range and its weight.
fn range(text: &str) -> (&str, f32) {
    let mut parts = text.split(';').map(str::trim);
    let name = parts.next().unwrap_or_default();
    let weight = parts.find_map(|part| part.strip_prefix("q=")).and_then(|weight| weight.parse().ok());
    (name, weight.unwrap_or(1.0))
}

/// What kind of failure it is. Programs look at this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// The request cannot be understood.
    BadRequest,
    /// It is not known who asks.
    Unauthorized,
    /// The caller may not have it.
    Forbidden,
    /// It does not exist.
    NotFound,
    /// The address does not take the method.
    MethodNotAllowed,
    /// The body is too long.
    PayloadTooLarge,
    /// It cannot be had now.
    Unavailable,
    /// The fault is here.
    InternalError,
}

impl Code {
    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::BadRequest => "BAD_REQUEST",
            Self::Unauthorized => "UNAUTHORIZED",
            Self::Forbidden => "FORBIDDEN",
            Self::NotFound => "NOT_FOUND",
            Self::MethodNotAllowed => "METHOD_NOT_ALLOWED",
            Self::PayloadTooLarge => "PAYLOAD_TOO_LARGE",
            Self::Unavailable => "UNAVAILABLE",
            Self::InternalError => "INTERNAL_ERROR",
        }
    }

    fn status(self) -> StatusCode {
        match self {
            Self::BadRequest => StatusCode::BAD_REQUEST,
            Self::Unauthorized => StatusCode::UNAUTHORIZED,
            Self::Forbidden => StatusCode::FORBIDDEN,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::PayloadTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            Self::InternalError => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What kind of failure it is.
    pub code: Code,
    /// What is wrong and what to do, in a sentence.
    pub message: String,
}

impl Failure {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    pub(crate) fn answer(&self, format: Format) -> Response {
        format.write(self.code.status(), self)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // People read the sentence; the code is for programs.
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

impl Serialize for Failure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        json!({"error": {"code": self.code.name(), "message": self.message}}).serialize(serializer)
    }
}

impl From<kube::Error> for Failure {
    /// What the API said is for the log: it is about what the platform may do, not about the caller.
    fn from(error: kube::Error) -> Self {
        tracing::warn!("failed to read from the API: {error}");
        match error {
            kube::Error::Api(status) if status.code < 500 && status.code != 429 => Self::new(
                Code::InternalError,
                "The API refuses what the platform asks; ask the platform team.",
            ),
            kube::Error::Api(_) | kube::Error::Service(_) | kube::Error::HyperError(_) => {
                Self::new(Code::Unavailable, "The API does not answer now; try again later.")
            }
            _ => Self::new(Code::InternalError, "The API gives no usable answer; ask the platform team."),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_for_those_who_prefer_it() {
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
