//! Errors of requests. Their messages are for users; the cause goes to the log.

use std::{error::Error as _, io, sync::Arc};

use axum::{
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{AppendHeaders, IntoResponse, Response},
};
use orchestra_api::API_VERSION;
use orchestra_limits::{BodyError, Refused};
use serde::{Serialize, Serializer};
use serde_json::json;

use crate::{access::AccessError, format::Format, token_review::TokenReviewError};

/// Header of an error response with its [`Code`], also for clients that prefer text.
pub const ERROR_CODE: &str = "orchestra-error";

/// Defines the codes with their names and statuses, so that none is without a name that clients recognize.
macro_rules! codes {
    ($($(#[$doc:meta])* $code:ident, $name:literal, $status:ident;)*) => {
        /// Machine-readable kind of an error.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Code {
            $($(#[$doc])* $code,)*
        }

        impl Code {
            /// Code of this name; `None` for one of a newer server.
            pub fn of_name(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$code),)*
                    _ => None,
                }
            }

            /// Name in responses.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$code => $name,)*
                }
            }

            fn status(self) -> StatusCode {
                match self {
                    $(Self::$code => StatusCode::$status,)*
                }
            }
        }
    };
}

codes! {
    /// The request is malformed.
    BadRequest, "BAD_REQUEST", BAD_REQUEST;
    /// The caller is not authenticated.
    Unauthorized, "UNAUTHORIZED", UNAUTHORIZED;
    /// The caller lacks a permission.
    Forbidden, "FORBIDDEN", FORBIDDEN;
    /// The Workload or its namespace does not exist.
    NotFound, "NOT_FOUND", NOT_FOUND;
    /// The route does not exist.
    NoSuchPath, "NO_SUCH_PATH", NOT_FOUND;
    /// No runtime of the server uses workload origins.
    NoOrigins, "NO_ORIGINS", NOT_FOUND;
    /// An external runtime has the logs.
    NoLogs, "NO_LOGS", NOT_FOUND;
    /// The route does not support the method.
    MethodNotAllowed, "METHOD_NOT_ALLOWED", METHOD_NOT_ALLOWED;
    /// The body did not arrive in time.
    RequestTimeout, "REQUEST_TIMEOUT", REQUEST_TIMEOUT;
    /// The body is too long.
    PayloadTooLarge, "PAYLOAD_TOO_LARGE", PAYLOAD_TOO_LARGE;
    /// The caller, or all callers together, have too many requests in progress.
    TooManyRequests, "TOO_MANY_REQUESTS", TOO_MANY_REQUESTS;
    /// A dependency of the server is unavailable.
    Unavailable, "UNAVAILABLE", SERVICE_UNAVAILABLE;
    /// Fault of the server.
    InternalError, "INTERNAL_ERROR", INTERNAL_SERVER_ERROR;
}

/// Error of a request.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The request has no credentials.
    #[error(
        "Authentication required: send the credentials of the kubeconfig. A cluster accepts bearer tokens only, not client certificates: pass one with --token, such as the output of `kubectl create token ACCOUNT`."
    )]
    Unauthenticated,
    /// The cluster does not accept the token.
    #[error(
        "Authentication failed: the cluster rejected the bearer token, which may have expired; log in again, or create one with `kubectl create token ACCOUNT` and pass it with --token."
    )]
    InvalidToken,
    /// The token cannot be reviewed.
    #[error("The authentication could not be checked; try again later.")]
    TokenReview(#[source] Arc<TokenReviewError>),
    /// The access cannot be reviewed.
    #[error("The permission could not be checked; try again later.")]
    AccessReview(#[from] AccessError),
    /// The caller lacks a permission on a Workload.
    #[error(
        "Permission denied: user {user:?} cannot {verb} workloads/{subresource} in the namespace {namespace:?}; a role must allow it."
    )]
    Forbidden {
        /// Name of the user.
        user: String,
        /// Verb, such as `get`.
        verb: &'static str,
        /// Virtual subresource.
        subresource: &'static str,
        /// Namespace of the Workload.
        namespace: String,
    },
    /// The caller may not read the metrics.
    #[error(
        "Permission denied: user {user:?} cannot read the metrics; a role must allow `get` on the URL /metrics."
    )]
    MetricsForbidden {
        /// Name of the user.
        user: String,
    },
    /// The path has no namespace or name.
    #[error("The path of the URL is malformed.")]
    InvalidPath,
    /// The path contains an invalid name.
    #[error("{0:?} is not a valid object name: use a-z, 0-9, `-` and `.`.")]
    InvalidName(String),
    /// The query has unknown or invalid parameters.
    #[error("Unknown query parameters {query:?}; {supported}.")]
    InvalidQuery {
        /// Query of the URL.
        query: String,
        /// Supported parameters.
        supported: &'static str,
    },
    /// The path does not exist.
    #[error("There is no such path.")]
    NoSuchPath,
    /// The path does not support the method.
    #[error("The path does not support this method.")]
    MethodNotAllowed,
    /// The Workload does not exist.
    #[error(
        "There is no workload {name:?} in the namespace {namespace:?}; `orchestra get -A` lists all workloads."
    )]
    NoSuchWorkload {
        /// Namespace of the Workload.
        namespace: String,
        /// Name of the Workload.
        name: String,
    },
    /// The namespace does not exist.
    #[error("There is no namespace {0:?}; create it with `kubectl create namespace {0}`.")]
    NoSuchNamespace(String),
    /// The Workload has no container of this name.
    #[error("There is no container `{container}`; the containers are {containers}.")]
    NoSuchContainer {
        /// Requested container.
        container: String,
        /// Containers of the Workload.
        containers: String,
    },
    /// An external runtime has the logs.
    #[error(
        "The workload runs in the external runtime {runtime_class:?}, which keeps its own logs: read them there, or see the documentation of that runtime."
    )]
    ExternalRuntime {
        /// Runtime class of the Workload.
        runtime_class: String,
    },
    /// The body is too long.
    #[error("The body is longer than 3 MiB; shorten it, or split the workload.")]
    BodyTooLarge,
    /// The body has too many values for a preview.
    #[error("The body has more than {0} values; shorten it, or split the workload.")]
    TooManyValues(usize),
    /// The body did not arrive in time.
    #[error("The body did not arrive in time; try again.")]
    BodyTimeout,
    /// The body cannot be received.
    #[error("The body could not be received.")]
    Body(#[source] axum::Error),
    /// There is no room for the request.
    #[error("Too many requests are in progress; try again later.")]
    TooManyRequests(#[from] Refused),
    /// The body is not a Workload.
    #[error(
        "The body is not a Workload: {0}. Send one as JSON or YAML, with `apiVersion: {API_VERSION}` and `kind: Workload`."
    )]
    InvalidWorkload(#[source] WorkloadError),
    /// The body belongs to another path.
    #[error("The body has the {field} {given}, but the path has {expected:?}.")]
    OtherWorkload {
        /// `name` or `namespace`.
        field: &'static str,
        /// Value in the body, as JSON.
        given: String,
        /// Value in the path.
        expected: String,
    },
    /// No runtime of the server uses workload origins.
    #[error("This server has no runtime on the machine of the author.")]
    NoOrigins,
    /// The body is not a workload origin.
    #[error("The body must be JSON with a `folder`: {0}.")]
    InvalidOrigin(#[source] serde_json::Error),
    /// The folder of a workload origin is relative.
    #[error("The folder must be an absolute path.")]
    RelativeFolder,
    /// The workload origin cannot be stored.
    #[error("Failed to write to the data folder: {0}.")]
    RecordOrigin(#[source] io::Error),
    /// The platform is not ready.
    #[error("Not ready: waiting for {0}.")]
    NotReady(String),
    /// A request of the server to the API failed.
    #[error("{}", api_message(.0))]
    Api(#[from] kube::Error),
}

/// Fault of a body that should be a Workload.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadError {
    /// Not an object.
    #[error("the body is not an object")]
    NotAnObject,
    /// Not UTF-8.
    #[error("the body is not UTF-8")]
    Encoding(#[source] std::str::Utf8Error),
    /// Invalid JSON, or fields of the wrong type.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// Empty.
    #[error("the body is empty")]
    Empty,
    /// Invalid YAML.
    #[error("line {line}: {message}")]
    Yaml {
        /// Line of the error, from 1.
        line: usize,
        /// Message of the diagnostic.
        message: String,
    },
    /// Another kind.
    #[error("it has another apiVersion or kind")]
    OtherKind,
    /// A field that objects do not have.
    #[error("unknown field `{0}`")]
    UnknownField(String),
    /// Metadata of another type.
    #[error("its metadata is not an object")]
    Metadata,
}

impl Error {
    /// Code of the response.
    pub fn code(&self) -> Code {
        match self {
            Self::Unauthenticated | Self::InvalidToken => Code::Unauthorized,
            Self::Forbidden { .. } | Self::MetricsForbidden { .. } => Code::Forbidden,
            Self::InvalidPath
            | Self::InvalidName(_)
            | Self::InvalidQuery { .. }
            | Self::NoSuchContainer { .. }
            | Self::Body(_)
            | Self::InvalidWorkload(_)
            | Self::OtherWorkload { .. }
            | Self::InvalidOrigin(_)
            | Self::RelativeFolder => Code::BadRequest,
            Self::NoSuchWorkload { .. } | Self::NoSuchNamespace(_) => Code::NotFound,
            Self::NoSuchPath => Code::NoSuchPath,
            Self::NoOrigins => Code::NoOrigins,
            Self::ExternalRuntime { .. } => Code::NoLogs,
            Self::MethodNotAllowed => Code::MethodNotAllowed,
            Self::BodyTooLarge | Self::TooManyValues(_) => Code::PayloadTooLarge,
            Self::BodyTimeout => Code::RequestTimeout,
            Self::TooManyRequests(_) => Code::TooManyRequests,
            Self::TokenReview(error) if matches!(**error, TokenReviewError::Refused(_)) => {
                Code::TooManyRequests
            }
            Self::TokenReview(_) | Self::AccessReview(_) | Self::RecordOrigin(_) | Self::NotReady(_) => {
                Code::Unavailable
            }
            Self::Api(error) => api_code(error),
        }
    }

    /// Response with this error. Errors of the server are logged with their cause.
    pub(crate) fn respond(&self, format: Format) -> Response {
        let code = self.code();
        if let (Code::Unavailable | Code::InternalError, Some(cause)) = (code, self.source()) {
            let cause = causes(cause);
            tracing::warn!(code = code.name(), cause, "request failed: {self}");
        }
        let header = (HeaderName::from_static(ERROR_CODE), code.name());
        let mut response = (AppendHeaders([header]), format.respond(code.status(), self)).into_response();
        if code == Code::TooManyRequests {
            response
                .headers_mut()
                .insert(header::RETRY_AFTER, HeaderValue::from(Refused::RETRY_AFTER_SECONDS));
        }
        response
    }
}

impl From<BodyError> for Error {
    fn from(error: BodyError) -> Self {
        match error {
            BodyError::TooLarge => Self::BodyTooLarge,
            BodyError::Timeout => Self::BodyTimeout,
            BodyError::Refused(refused) => Self::TooManyRequests(refused),
            BodyError::Broken(error) => Self::Body(error),
        }
    }
}

impl Serialize for Error {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        json!({"error": {"code": self.code().name(), "message": self.to_string()}}).serialize(serializer)
    }
}

/// Response to a request with an invalid token.
pub fn reject_token(headers: &HeaderMap) -> Response {
    Error::InvalidToken.respond(Format::of(headers))
}

/// Error with its sources. Errors of kube contain the message of their source, which is not repeated.
fn causes(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(source) = next {
        let message = source.to_string();
        if !text.contains(&message) {
            text = format!("{text}: {message}");
        }
        next = source.source();
    }
    text
}

/// Code of a failed request to the API. A rejection concerns the permissions of the server, not those of the caller.
fn api_code(error: &kube::Error) -> Code {
    match error {
        kube::Error::Api(status) if status.code < 500 && status.code != 429 => Code::InternalError,
        kube::Error::Api(_) | kube::Error::Service(_) | kube::Error::HyperError(_) => Code::Unavailable,
        _ => Code::InternalError,
    }
}

fn api_message(error: &kube::Error) -> &'static str {
    match (api_code(error), error) {
        (Code::Unavailable, _) => "The API is unavailable; try again later.",
        (_, kube::Error::Api(_)) => "The API rejected a request of the server; its log has the cause.",
        _ => "The API gave an unexpected response; the log of the server has the cause.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_recognize_the_code_of_an_error_by_its_name() {
        for error in [
            Error::Unauthenticated,
            Error::InvalidPath,
            Error::BodyTooLarge,
            Error::BodyTimeout,
            Error::TooManyRequests(Refused::Busy),
            Error::NotReady(String::new()),
        ] {
            assert_eq!(Code::of_name(error.code().name()), Some(error.code()), "{error}");
        }
        assert_eq!(Code::of_name("OF_A_NEWER_SERVER"), None);
    }
}
