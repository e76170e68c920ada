//! Endpoint that records the origin of a Workload on the machine of its author: the folder of its Score file and variables
//! of the shell. The command line sends it, and it never becomes part of the object.

use axum::{
    body::Body,
    extract::State,
    http::{Extensions, HeaderMap, StatusCode},
    response::{IntoResponse, Response},
};
use orchestra_drivers::WorkloadOrigin;
use orchestra_limits::Kind;

use crate::{
    Server,
    access::authenticate,
    body,
    error::Error,
    format::Format,
    workload::{Admitted, At, admit},
};

/// Handler: records the origin of a Workload, which need not exist yet.
pub(crate) async fn record(
    State(server): State<Server>,
    at: At,
    extensions: Extensions,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let recorded = async {
        authenticate(&extensions)?;
        // Roles of a cluster do not grant this access, and its users need to know that origins are not used.
        let origins = server.origins.as_ref().ok_or(Error::NoOrigins)?;
        let Admitted { namespace, name, permit, .. } =
            admit(&server, at, &extensions, Kind::Short, "update", "origin").await?;
        let body = body::read(body, &permit).await?;
        let origin: WorkloadOrigin = serde_json::from_slice(&body).map_err(Error::InvalidOrigin)?;
        if !origin.folder.is_absolute() {
            return Err(Error::RelativeFolder);
        }
        origins.record(&namespace, &name, origin).map_err(Error::RecordOrigin)
    };
    match recorded.await {
        Ok(()) => StatusCode::NO_CONTENT.into_response(),
        Err(error) => error.respond(Format::of(&headers)),
    }
}
