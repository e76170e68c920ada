//! Whether the platform lives, whether it is ready, and what it counts.

use std::fmt;

use axum::{
    extract::State,
    http::{Extensions, HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;

use crate::{
    Server,
    access::{authenticate, authorise_metrics},
    answer::{Code, Failure, Format},
};

/// Yes.
#[derive(Serialize)]
struct Well {
    status: &'static str,
}

impl fmt::Display for Well {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.status)
    }
}

/// Whether the server lives.
pub(crate) async fn healthz(headers: HeaderMap) -> Response {
    Format::of(&headers).write(StatusCode::OK, &Well { status: "ok" })
}

/// Whether the platform is ready, and what it waits for if not.
pub(crate) async fn readyz(State(server): State<Server>, headers: HeaderMap) -> Response {
    let format = Format::of(&headers);
    let awaited = (server.awaited)();
    if awaited.is_empty() {
        return format.write(StatusCode::OK, &Well { status: "ok" });
    }
    let message = format!("The platform waits for: {}.", awaited.join(", "));
    Failure::new(Code::Unavailable, message).answer(format)
}

/// The metrics. They tell of all namespaces, and so are not for strangers.
pub(crate) async fn metrics(
    State(server): State<Server>,
    extensions: Extensions,
    headers: HeaderMap,
) -> Response {
    let admitted = async {
        let caller = authenticate(&extensions)?;
        authorise_metrics(server.access.as_ref(), caller).await
    };
    if let Err(failure) = admitted.await {
        return failure.answer(Format::of(&headers));
    }
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, kind)], (server.metrics)()).into_response()
}
