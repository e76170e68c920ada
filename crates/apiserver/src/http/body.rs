//! Request bodies, bounded in size, time and bytes in flight.

use std::time::Duration;

use axum::{body::Body, http::request::Parts};
use bytes::Bytes;
use orchestra_limits::{BodyError, BodyLimits, Permit};

use crate::status::Status;

/// Maximum size of a body.
pub(crate) const MAX_BODY_BYTES: usize = 3 * 1024 * 1024;
const LIMITS: BodyLimits =
    BodyLimits { bytes: MAX_BODY_BYTES, idle: Duration::from_secs(20), total: Duration::from_mins(1) };
/// Bodies above this size reserve memory for what they are decoded to, too.
const LARGE_BODY_BYTES: usize = 64 * 1024;
/// Memory of a decoded body, in multiples of its size.
const DECODED_FACTOR: usize = 16;

/// Reads the body of a request. Its memory belongs to the permit in the extensions.
pub(crate) async fn read(parts: &Parts, body: Body) -> Result<Bytes, Status> {
    let permit = parts.extensions.get().cloned().unwrap_or_else(Permit::unlimited);
    let bytes = orchestra_limits::read(body, LIMITS, &permit).await.map_err(refused)?;
    if bytes.len() > LARGE_BODY_BYTES {
        permit.reserve(bytes.len() * (1 + DECODED_FACTOR)).await?;
    }
    Ok(bytes)
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
            read(&parts, Body::from(vec![b'x'; length])).await.map_err(|status| status.code)
        };
        assert_eq!(code(MAX_BODY_BYTES).await.map(|body| body.len()), Ok(MAX_BODY_BYTES));
        assert_eq!(code(MAX_BODY_BYTES + 1).await, Err(413));
    }
}
