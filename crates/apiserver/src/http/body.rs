//! Request bodies, bounded in size, time and bytes in flight.

use std::time::Duration;

use axum::{
    body::Body,
    http::{header, request::Parts},
};
use bytes::Bytes;
use orchestra_limits::{BodyError, BodyLimits};

use super::memory;
use crate::status::Status;

/// Maximum size of a body.
pub(crate) const MAX_BODY_BYTES: usize = 3 * 1024 * 1024;
const LIMITS: BodyLimits =
    BodyLimits { bytes: MAX_BODY_BYTES, idle: Duration::from_secs(20), total: Duration::from_mins(1) };

/// Reads the body of a request, and reserves memory for what it is decoded to, beside that of the object that it changes.
pub(crate) async fn read(parts: &Parts, body: Body, object_bytes: usize) -> Result<Bytes, Status> {
    let permit = memory::permit(parts);
    let bytes = orchestra_limits::read(body, LIMITS, &permit).await.map_err(refused)?;
    if permit.has_limits() {
        let body_bytes = if bytes.is_empty() { 0 } else { memory::of_body(&bytes, media_type(parts))? };
        memory::reserve(parts, body_bytes + object_bytes).await?;
    }
    Ok(bytes)
}

/// Media type of the body, without parameters.
pub(crate) fn media_type(parts: &Parts) -> &str {
    let given = parts.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    given.and_then(|value| value.split(';').next()).map(str::trim).unwrap_or_default()
}

fn refused(error: BodyError) -> Status {
    match error {
        BodyError::TooLarge => Status::new(
            413,
            "RequestEntityTooLarge",
            format!("Request entity too large: limit is {MAX_BODY_BYTES}"),
        ),
        BodyError::Timeout => {
            Status::new(504, "Timeout", "Timeout: request did not complete within the allotted timeout")
        }
        BodyError::Refused(refused) => refused.into(),
        BodyError::Broken(error) => Status::bad_request(format!("unable to read the body: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use axum::http::Request;

    use super::*;

    #[tokio::test]
    async fn a_body_above_the_limit_is_too_large() {
        let (parts, ()) = Request::new(()).into_parts();
        let code = async |length: usize| {
            read(&parts, Body::from(vec![b'x'; length]), 0).await.map_err(|status| status.code)
        };
        assert_eq!(code(MAX_BODY_BYTES).await.map(|body| body.len()), Ok(MAX_BODY_BYTES));
        assert_eq!(code(MAX_BODY_BYTES + 1).await, Err(413));
    }
}
