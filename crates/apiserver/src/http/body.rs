//! Request bodies, bounded in size and time.

use std::{error::Error, time::Duration};

use axum::body::Body;
use bytes::Bytes;
use http_body_util::LengthLimitError;

use crate::status::Status;

/// Maximum size of a body.
pub(crate) const MAX_BODY_BYTES: usize = 3 * 1024 * 1024;
/// Timeout of a body.
const BODY_TIMEOUT: Duration = Duration::from_mins(1);

/// Reads the body of a request.
pub(crate) async fn read(body: Body) -> Result<Bytes, Status> {
    match tokio::time::timeout(BODY_TIMEOUT, axum::body::to_bytes(body, MAX_BODY_BYTES)).await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(error)) if is_too_large(&error) => Err(Status::new(
            413,
            "RequestEntityTooLarge",
            format!("Request entity too large: limit is {MAX_BODY_BYTES}"),
        )),
        Ok(Err(error)) => Err(Status::bad_request(format!("unable to read the body: {error}"))),
        Err(_) => {
            Err(Status::new(504, "Timeout", "Timeout: request did not complete within the allotted timeout"))
        }
    }
}

fn is_too_large(error: &axum::Error) -> bool {
    error.source().is_some_and(<dyn Error>::is::<LengthLimitError>)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_body_above_the_limit_is_too_large() {
        let code =
            async |length: usize| read(Body::from(vec![b'x'; length])).await.map_err(|status| status.code);
        assert_eq!(code(MAX_BODY_BYTES).await.map(|body| body.len()), Ok(MAX_BODY_BYTES));
        assert_eq!(code(MAX_BODY_BYTES + 1).await, Err(413));
    }
}
