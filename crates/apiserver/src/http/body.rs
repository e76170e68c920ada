//! Reading a body: bounded in size and time.

use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;

use crate::status::Status;

/// The largest body that is read.
pub(crate) const LARGEST: usize = 3 * 1024 * 1024;
/// The longest time that a client may take to send it.
const LONGEST: Duration = Duration::from_mins(1);

/// Reads the body of a request.
pub(crate) async fn read(body: Body) -> Result<Bytes, Status> {
    match tokio::time::timeout(LONGEST, axum::body::to_bytes(body, LARGEST)).await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(error)) if is_too_large(&error) => Err(Status::new(
            413,
            "RequestEntityTooLarge",
            format!("Request entity too large: limit is {LARGEST}"),
        )),
        Ok(Err(error)) => Err(Status::bad_request(format!("unable to read the body: {error}"))),
        Err(_) => {
            Err(Status::new(504, "Timeout", "Timeout: request did not complete within the allotted timeout"))
        }
    }
}

fn is_too_large(error: &axum::Error) -> bool {
    std::error::Error::source(error)
        .is_some_and(|source| source.to_string().contains("length limit exceeded"))
}
