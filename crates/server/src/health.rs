//! Liveness, readiness and metrics.

use std::fmt;

use axum::{
    extract::State,
    http::{Extensions, HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use orchestra_limits::Kind;
use serde::Serialize;

use crate::{
    Server,
    access::{authenticate, authorize_metrics},
    error::Error,
    format::Format,
    workload::answer,
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
        let permit = server.limits.admit(&caller.user, Kind::Short).await?;
        authorize_metrics(server.access.as_ref(), caller).await?;
        Ok(permit)
    };
    let format = Format::of(&headers);
    let permit = match admitted.await {
        Ok(permit) => permit,
        Err(error) => return Error::respond(&error, format),
    };
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    let response = ([(header::CONTENT_TYPE, kind)], (server.metrics)()).into_response();
    answer(permit.answer(response).await, format)
}
