//! `Status` objects: errors of the API, with the codes and reasons of a real server.

use std::collections::HashSet;

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use orchestra_cel::FieldError;
use serde::Serialize;
use serde_json::Value;

use crate::{
    audit::Reason,
    http::{answer, negotiate::Format},
    json,
    kinds::Kind,
};

/// `Status` of the API: the error of a request.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Status {
    /// HTTP status code.
    pub code: u16,
    /// Machine-readable reason; empty if the real server gives none.
    pub reason: &'static str,
    /// Message for people.
    pub message: String,
    /// Target of the request; an empty one is sent, too. Boxed, since most results have a `Status` as their error.
    pub details: Option<Box<Details>>,
    /// Warnings in the response headers.
    pub warnings: Vec<String>,
    /// Token for a client whose continue token expired.
    pub continue_token: Option<String>,
}

/// `StatusDetails` of the API, with the fields in the order of the real server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Details {
    /// Name of the object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Group of the kind.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// Kind or plural, as the real server has it for this error.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// Invalid fields, conflicts and other causes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<Cause>,
    /// Delay before a retry, also sent as the header `Retry-After`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_seconds: Option<u32>,
}

/// `StatusCause` of the API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Cause {
    /// Path of the field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// Message for people.
    pub message: String,
    /// Machine-readable reason.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub reason: &'static str,
}

impl From<&FieldError> for Cause {
    fn from(error: &FieldError) -> Self {
        Self {
            field: Some(error.field.clone()),
            message: error.message.clone(),
            reason: error.cause.reason(),
        }
    }
}

/// JSON of a [`Status`], with the fields in the order of the real server.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct StatusObject<'a> {
    kind: &'static str,
    api_version: &'static str,
    metadata: ListMeta<'a>,
    status: &'static str,
    message: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    reason: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<&'a Details>,
    code: u16,
}

/// `ListMeta` of a `Status`.
#[derive(Serialize)]
struct ListMeta<'a> {
    #[serde(rename = "continue", skip_serializing_if = "Option::is_none")]
    continue_token: Option<&'a str>,
}

impl Status {
    /// Status without details.
    pub(crate) fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            reason,
            message: message.into(),
            details: None,
            warnings: Vec::new(),
            continue_token: None,
        }
    }

    /// 400
    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// 401: not authenticated.
    pub(crate) fn unauthorized() -> Self {
        Self::new(401, "Unauthorized", "Unauthorized")
    }

    /// 403: `configmaps "x" is forbidden: why`.
    pub(crate) fn forbidden(kind: &Kind, name: &str, why: impl std::fmt::Display) -> Self {
        Self::new(403, "Forbidden", format!("{} {name:?} is forbidden: {why}", kind.qualified_plural()))
            .about(kind, name)
    }

    /// 404: the object does not exist.
    pub(crate) fn not_found(kind: &Kind, name: &str) -> Self {
        Self::new(404, "NotFound", format!("{} {name:?} not found", kind.qualified_plural()))
            .about(kind, name)
    }

    /// 404: no such resource or subresource.
    pub(crate) fn no_such_resource() -> Self {
        Self::new(404, "NotFound", "the server could not find the requested resource")
            .with_details(Details::default())
    }

    /// 405
    pub(crate) fn method_not_allowed() -> Self {
        Self::new(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")
            .with_details(Details::default())
    }

    /// 409: an object of this name exists.
    pub(crate) fn already_exists(kind: &Kind, name: &str) -> Self {
        Self::new(409, "AlreadyExists", format!("{} {name:?} already exists", kind.qualified_plural()))
            .about(kind, name)
    }

    /// 409: the object does not meet a condition of the request.
    pub(crate) fn conflict(kind: &Kind, name: &str, why: impl std::fmt::Display) -> Self {
        Self::new(
            409,
            "Conflict",
            format!("Operation cannot be fulfilled on {} {name:?}: {why}", kind.qualified_plural()),
        )
        .about(kind, name)
    }

    /// 409: failed precondition of a deletion. The real server names the kind here, not the plural.
    pub(crate) fn precondition(kind: &Kind, name: &str, why: impl std::fmt::Display) -> Self {
        let qualified =
            if kind.group.is_empty() { kind.kind.clone() } else { format!("{}.{}", kind.kind, kind.group) };
        let details = Details {
            name: name.to_owned(),
            group: kind.group.clone(),
            kind: kind.kind.clone(),
            ..Details::default()
        };
        Self::new(409, "Conflict", format!("Operation cannot be fulfilled on {qualified} {name:?}: {why}"))
            .with_details(details)
    }

    /// 409: a concurrent write.
    pub(crate) fn modified(kind: &Kind, name: &str) -> Self {
        Self::conflict(
            kind,
            name,
            "the object has been modified; please apply your changes to the latest version and try again",
        )
    }

    /// 422 with one cause for each error.
    pub(crate) fn invalid(group: &str, kind: &str, name: &str, errors: &[FieldError]) -> Self {
        // Events of both groups are stored in the core group.
        let group = if group == "events.k8s.io" { "" } else { group };
        let list = match errors {
            [one] => one.to_string(),
            many => {
                let mut known = HashSet::new();
                let texts = many.iter().map(ToString::to_string);
                let seen: Vec<String> = texts.filter(|text| known.insert(text.clone())).collect();
                match seen.as_slice() {
                    [one] => one.clone(),
                    many => format!("[{}]", many.join(", ")),
                }
            }
        };
        let qualified = if group.is_empty() { kind.to_owned() } else { format!("{kind}.{group}") };
        Self::new(422, "Invalid", format!("{qualified} {name:?} is invalid: {list}")).with_details(Details {
            name: name.to_owned(),
            group: group.to_owned(),
            kind: kind.to_owned(),
            causes: errors.iter().map(Cause::from).collect(),
            retry_after_seconds: None,
        })
    }

    /// 410: the resource version is too old.
    pub(crate) fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }

    /// 500
    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(500, "", message)
    }

    /// Adds warnings.
    #[must_use]
    pub(crate) fn warn(mut self, warnings: &[String]) -> Self {
        self.warnings.extend_from_slice(warnings);
        self
    }

    /// Sets the details.
    #[must_use]
    pub(crate) fn with_details(mut self, details: Details) -> Self {
        self.details = Some(Box::new(details));
        self
    }

    /// Adds causes.
    #[must_use]
    pub(crate) fn with_causes(mut self, causes: impl IntoIterator<Item = Cause>) -> Self {
        self.details.get_or_insert_default().causes.extend(causes);
        self
    }

    /// Asks the client to retry after some seconds.
    #[must_use]
    pub(crate) fn retry_after(mut self, seconds: u32) -> Self {
        self.details.get_or_insert_default().retry_after_seconds = Some(seconds);
        self
    }

    /// Sets the details of an object, by the plural of its kind.
    fn about(self, kind: &Kind, name: &str) -> Self {
        self.with_details(Details {
            name: name.to_owned(),
            group: kind.group.clone(),
            kind: kind.plural.clone(),
            ..Details::default()
        })
    }

    /// The object.
    pub(crate) fn to_value(&self) -> Value {
        // Strings and numbers always convert.
        serde_json::to_value(self.object()).unwrap_or_default()
    }

    fn object(&self) -> StatusObject<'_> {
        StatusObject {
            kind: "Status",
            api_version: "v1",
            metadata: ListMeta { continue_token: self.continue_token.as_deref() },
            status: "Failure",
            message: &self.message,
            reason: self.reason,
            details: self.details.as_deref(),
            code: self.code,
        }
    }

    /// Response in the negotiated format.
    pub(crate) fn respond(&self, format: Format) -> Response {
        let bytes = if format.yaml {
            json::encode_yaml(&self.to_value()).into_bytes()
        } else if format.pretty {
            serde_json::to_vec_pretty(&self.object()).unwrap_or_default()
        } else {
            // Writing to memory cannot fail.
            let mut out = serde_json::to_vec(&self.object()).unwrap_or_default();
            out.push(b'\n');
            out
        };
        let code = StatusCode::from_u16(self.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = answer::respond(code, bytes, format, &self.warnings);
        response.extensions_mut().insert(Reason(self.reason));
        if let Some(seconds) = self.details.as_ref().and_then(|details| details.retry_after_seconds) {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

impl IntoResponse for Status {
    fn into_response(self) -> Response {
        self.respond(Format::PLAIN)
    }
}

#[cfg(test)]
mod tests {
    use axum::body::to_bytes;
    use serde_json::json;

    use super::*;
    use crate::verbs;

    async fn body(status: Status, format: Format) -> String {
        let bytes = to_bytes(status.respond(format).into_body(), usize::MAX).await.unwrap();
        String::from_utf8(bytes.to_vec()).unwrap()
    }

    #[tokio::test]
    async fn json_has_the_field_order_of_a_real_server() {
        let error = FieldError::invalid("spec.replicas", &json!(-1), "must be positive");
        let mut expired = Status::expired("too old");
        expired.continue_token = Some("next".to_owned());
        for (status, expected) in [
            (
                Status::no_such_resource(),
                r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"the server could not find the requested resource","reason":"NotFound","details":{},"code":404}"#,
            ),
            (
                Status::internal("broken"),
                r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"broken","code":500}"#,
            ),
            (
                expired,
                r#"{"kind":"Status","apiVersion":"v1","metadata":{"continue":"next"},"status":"Failure","message":"too old","reason":"Expired","code":410}"#,
            ),
            (
                Status::invalid("score.dev", "Workload", "web", &[error]),
                r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Workload.score.dev \"web\" is invalid: spec.replicas: Invalid value: -1: must be positive","reason":"Invalid","details":{"name":"web","group":"score.dev","kind":"Workload","causes":[{"field":"spec.replicas","message":"Invalid value: -1: must be positive","reason":"FieldValueInvalid"}]},"code":422}"#,
            ),
        ] {
            assert_eq!(body(status, Format::PLAIN).await, format!("{expected}\n"));
        }
    }

    #[tokio::test]
    async fn a_delay_before_a_retry_is_in_the_details_and_the_header() {
        let status = verbs::failed(&crate::ledger::WriteError::Busy);
        assert_eq!(status.clone().respond(Format::PLAIN).headers()[header::RETRY_AFTER], "1");
        let expected = r#"{
  "kind": "Status",
  "apiVersion": "v1",
  "metadata": {},
  "status": "Failure",
  "message": "too many writes are waiting; try again later",
  "reason": "TooManyRequests",
  "details": {
    "retryAfterSeconds": 1
  },
  "code": 429
}"#;
        assert_eq!(body(status, Format { pretty: true, ..Format::PLAIN }).await, expected);
    }
}
