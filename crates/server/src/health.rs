//! Liveness, readiness and metrics.

use std::fmt;

use axum::{
    extract::State,
    http::{Extensions, HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;

use crate::{
    Server,
    access::{authenticate, authorize_metrics},
    error::Error,
    format::Format,
};

/// Response of a healthy server.
#[derive(Serialize)]
struct Health {
    status: &'static str,
}

impl fmt::Display for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.status)
    }
}

/// Handler: liveness.
pub(crate) async fn healthz(headers: HeaderMap) -> Response {
    Format::of(&headers).respond(StatusCode::OK, &Health { status: "ok" })
}

/// Handler: readiness, or what is still missing.
pub(crate) async fn readyz(State(server): State<Server>, headers: HeaderMap) -> Response {
    let format = Format::of(&headers);
    let awaited = (server.awaited)();
    if awaited.is_empty() {
        return format.respond(StatusCode::OK, &Health { status: "ok" });
    }
    Error::NotReady(awaited.join(", ")).respond(format)
}

/// Handler: metrics. They cover all namespaces and need a permission.
pub(crate) async fn metrics(
    State(server): State<Server>,
    extensions: Extensions,
    headers: HeaderMap,
) -> Response {
    let admitted = async {
        let caller = authenticate(&extensions)?;
        authorize_metrics(server.access.as_ref(), caller).await
    };
    if let Err(error) = admitted.await {
        return error.respond(Format::of(&headers));
    }
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, kind)], (server.metrics)()).into_response()
}
