//! Refusals: the `Status` objects of the API, with the reasons, codes and words of the real server.

use std::collections::HashSet;

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde_json::{Map, Value, json};

use crate::{
    field_error::FieldError,
    http::{answer, negotiate::Format},
    json,
    kinds::Kind,
};

/// An answer that is not an object: mostly a refusal.
#[derive(Clone, Debug, PartialEq)]
pub struct Status {
    /// The HTTP code.
    pub code: u16,
    /// A word for programs; empty if the real server gives none.
    pub reason: &'static str,
    /// A sentence for people.
    pub message: String,
    /// What it is about.
    pub details: Map<String, Value>,
    /// What the client should know beside the refusal.
    pub warnings: Vec<String>,
    /// Lists again from here after an expired continue token.
    pub continue_token: Option<String>,
}

impl Status {
    /// A refusal without details.
    pub fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            reason,
            message: message.into(),
            details: Map::new(),
            warnings: Vec::new(),
            continue_token: None,
        }
    }

    /// 400
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// 401: nobody we know.
    pub fn unauthorized() -> Self {
        Self::new(401, "Unauthorized", "Unauthorized")
    }

    /// 403: `configmaps "x" is forbidden: why`.
    pub fn forbidden(kind: &Kind, name: &str, why: impl std::fmt::Display) -> Self {
        Self::new(403, "Forbidden", format!("{} {name:?} is forbidden: {why}", kind.qualified_plural()))
            .about(kind, name)
    }

    /// 404: the resource is served, this object is not there.
    pub fn not_found(kind: &Kind, name: &str) -> Self {
        Self::new(404, "NotFound", format!("{} {name:?} not found", kind.qualified_plural()))
            .about(kind, name)
    }

    /// 404: the resource is served, but not this part of it.
    pub fn no_such_resource() -> Self {
        Self::new(404, "NotFound", "the server could not find the requested resource")
            .with("details", json!({}))
    }

    /// 405
    pub fn method_not_allowed() -> Self {
        Self::new(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")
            .with("details", json!({}))
    }

    /// 409: the name is taken.
    pub fn already_exists(kind: &Kind, name: &str) -> Self {
        Self::new(409, "AlreadyExists", format!("{} {name:?} already exists", kind.qualified_plural()))
            .about(kind, name)
    }

    /// 409: the object is not as the request expects.
    pub fn conflict(kind: &Kind, name: &str, why: impl std::fmt::Display) -> Self {
        Self::new(
            409,
            "Conflict",
            format!("Operation cannot be fulfilled on {} {name:?}: {why}", kind.qualified_plural()),
        )
        .about(kind, name)
    }

    /// 409: the object is not the one that is to be deleted. The real server names the kind here, not the plural.
    pub fn precondition(kind: &Kind, name: &str, why: impl std::fmt::Display) -> Self {
        let qualified =
            if kind.group.is_empty() { kind.kind.clone() } else { format!("{}.{}", kind.kind, kind.group) };
        Self::new(409, "Conflict", format!("Operation cannot be fulfilled on {qualified} {name:?}: {why}"))
            .about(kind, name)
            .with("kind", json!(kind.kind))
    }

    /// 409: somebody else was faster.
    pub fn modified(kind: &Kind, name: &str) -> Self {
        Self::conflict(
            kind,
            name,
            "the object has been modified; please apply your changes to the latest version and try again",
        )
    }

    /// 422 with one cause for each mistake.
    pub fn invalid(group: &str, kind: &str, name: &str, errors: &[FieldError]) -> Self {
        // Whichever group an event is written in, it is kept in the core group.
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
        let mut status = Self::new(422, "Invalid", format!("{qualified} {name:?} is invalid: {list}"));
        if !name.is_empty() {
            status = status.with("name", json!(name));
        }
        if !group.is_empty() {
            status = status.with("group", json!(group));
        }
        status.with("kind", json!(kind)).with("causes", causes(errors))
    }

    /// 410: the version is no longer kept.
    pub fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }

    /// 500
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(500, "", message)
    }

    /// Adds warnings.
    #[must_use]
    pub fn warn(mut self, warnings: &[String]) -> Self {
        self.warnings.extend_from_slice(warnings);
        self
    }

    /// Adds a detail.
    #[must_use]
    pub fn with(mut self, name: &str, value: Value) -> Self {
        if name != "details" {
            self.details.insert(name.to_owned(), value);
        } else if self.details.is_empty() {
            // An empty `details` is there, without content.
            self.details.insert(String::new(), Value::Null);
        }
        self
    }

    fn about(self, kind: &Kind, name: &str) -> Self {
        let mut status = if name.is_empty() { self } else { self.with("name", json!(name)) };
        if !kind.group.is_empty() {
            status = status.with("group", json!(kind.group));
        }
        status.with("kind", json!(kind.plural))
    }

    /// The object.
    pub fn to_value(&self) -> Value {
        let mut status: Value =
            self.fields().into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        if let Some(Value::Object(details)) = status.get_mut("details") {
            details.remove("");
        }
        status
    }

    /// The fields, in the order in which the real server writes them.
    fn fields(&self) -> Vec<(&'static str, Value)> {
        let metadata = match &self.continue_token {
            Some(token) => json!({"continue": token}),
            None => json!({}),
        };
        let mut fields = vec![
            ("kind", json!("Status")),
            ("apiVersion", json!("v1")),
            ("metadata", metadata),
            ("status", json!("Failure")),
            ("message", json!(self.message)),
        ];
        if !self.reason.is_empty() {
            fields.push(("reason", json!(self.reason)));
        }
        if !self.details.is_empty() {
            fields.push(("details", Value::Object(self.details.clone())));
        }
        fields.push(("code", json!(self.code)));
        fields
    }

    /// The refusal as a response in the form that the client wants.
    pub fn respond(&self, format: Format) -> Response {
        let bytes = if format.yaml {
            json::encode_yaml(&self.to_value()).into_bytes()
        } else if format.pretty {
            let mut lines = Vec::new();
            for (name, value) in self.fields() {
                let text = String::from_utf8_lossy(&written(name, &value, true)).replace('\n', "\n  ");
                lines.push(format!("  {name:?}: {text}"));
            }
            format!("{{\n{}\n}}", lines.join(",\n")).into_bytes()
        } else {
            let mut out = vec![b'{'];
            for (at, (name, value)) in self.fields().iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                out.extend(format!("{name:?}:").into_bytes());
                out.extend(written(name, value, false));
            }
            out.extend(b"}\n");
            out
        };
        let code = StatusCode::from_u16(self.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = answer::respond(code, bytes, format, &self.warnings);
        if let Some(Value::Number(seconds)) = self.details.get("retryAfterSeconds")
            && let Ok(seconds) = HeaderValue::from_str(&seconds.to_string())
        {
            response.headers_mut().insert(header::RETRY_AFTER, seconds);
        }
        response
    }
}

/// A field of a `Status` as JSON; details come in the order of the real server.
fn written(name: &str, value: &Value, pretty: bool) -> Vec<u8> {
    const ORDER: [&str; 6] = ["name", "group", "kind", "uid", "causes", "retryAfterSeconds"];
    let encode = if pretty { json::encode_pretty } else { json::encode };
    let (Value::Object(details), "details") = (value, name) else { return encode(value) };
    let known = ORDER.iter().filter_map(|name| details.get_key_value(*name));
    let fields: Vec<String> = known
        .map(|(name, value)| {
            let text = String::from_utf8_lossy(&encode(value)).into_owned();
            if pretty {
                format!("  {name:?}: {}", text.replace('\n', "\n  "))
            } else {
                format!("{name:?}:{text}")
            }
        })
        .collect();
    let text = match (fields.is_empty(), pretty) {
        (true, _) => "{}".to_owned(),
        (false, true) => format!("{{\n{}\n}}", fields.join(",\n")),
        (false, false) => format!("{{{}}}", fields.join(",")),
    };
    text.into_bytes()
}

/// One cause for each mistake.
pub(crate) fn causes(errors: &[FieldError]) -> Value {
    errors
        .iter()
        .map(
            |error| json!({"reason": error.mistake.reason(), "message": error.message, "field": error.field}),
        )
        .collect()
}

impl IntoResponse for Status {
    fn into_response(self) -> Response {
        self.respond(Format::PLAIN)
    }
}
