//! Bodies of responses that hold a permit until they are sent.

use std::{
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use axum::body::Body;
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep_until},
};

use crate::Permit;

/// Largest piece of an answer that is handed to a connection: what it holds of an answer is not in the lane of bytes.
pub(crate) const MAX_PIECE_BYTES: usize = 16 * 1024;
/// Time for which an answer waits for a client that does not read it. Clients read answers of known size at once, as a
/// whole: none waits for a person.
const UNREAD_TIMEOUT: Duration = Duration::from_mins(1);
/// Slowest pace at which an answer can be read: that of a bad line. A client that reads a piece now and then would
/// otherwise hold a large answer for hours.
const MIN_BYTES_PER_SECOND: u64 = 16 * 1024;

/// Body in pieces, which holds a permit.
pub(crate) struct Pieces {
    body: Body,
    /// Rest of a frame.
    rest: Bytes,
    _permit: Permit,
}

impl Pieces {
    pub(crate) fn new(body: Body, permit: Permit) -> Self {
        Self { body, rest: Bytes::new(), _permit: permit }
    }
}

impl http_body::Body for Pieces {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.rest.is_empty() {
            match Pin::new(&mut self.body).poll_frame(cx) {
                Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                    Ok(data) if data.len() > MAX_PIECE_BYTES => self.rest = data,
                    Ok(data) => return Poll::Ready(Some(Ok(Frame::data(data)))),
                    Err(frame) => return Poll::Ready(Some(Ok(frame))),
                },
                other => return other,
            }
        }
        let length = self.rest.len().min(MAX_PIECE_BYTES);
        // A copy: a slice would keep the whole answer alive in the buffers of the connection.
        let piece = Bytes::copy_from_slice(&self.rest.split_to(length));
        if self.rest.is_empty() {
            self.rest = Bytes::new();
        }
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let rest = self.rest.len() as u64;
        let hint = self.body.size_hint();
        let mut whole = SizeHint::new();
        whole.set_lower(hint.lower() + rest);
        if let Some(upper) = hint.upper() {
            whole.set_upper(upper + rest);
        }
        whole
    }
}

/// Body that is dropped, with its permit, if the client does not read it in time. A connection does not poll the body of a
/// client that does not read, so a task watches it; the client gets an error should it read again.
pub(crate) struct Expiring {
    unread: Unread,
    watch: JoinHandle<()>,
}

#[derive(Clone)]
struct Unread(Arc<Mutex<UnreadPieces>>);

struct UnreadPieces {
    /// `None` once they have expired.
    pieces: Option<Pieces>,
    /// Bytes that are not read yet.
    left: u64,
    /// Last time that the connection asked for a piece.
    asked: Instant,
}

/// A client that did not read its answer.
#[derive(Debug, thiserror::Error)]
#[error("the client did not read the answer in time")]
struct ReadTimeout;

impl Expiring {
    pub(crate) fn new(pieces: Pieces, size: u64) -> Self {
        let asked = Instant::now();
        let unread = Unread(Arc::new(Mutex::new(UnreadPieces { pieces: Some(pieces), left: size, asked })));
        let latest = asked + UNREAD_TIMEOUT + Duration::from_secs(size / MIN_BYTES_PER_SECOND);
        let watch = tokio::spawn(unread.clone().expire(latest));
        Self { unread, watch }
    }
}

impl Unread {
    fn lock(&self) -> MutexGuard<'_, UnreadPieces> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Drops the pieces once the client has not asked for one for too long, or at the latest time.
    async fn expire(self, latest: Instant) {
        loop {
            let deadline = latest.min(self.lock().asked + UNREAD_TIMEOUT);
            if deadline <= Instant::now() {
                break;
            }
            sleep_until(deadline).await;
        }
        self.end();
    }

    fn end(&self) {
        let pieces = self.lock().pieces.take();
        drop(pieces);
    }
}

impl Drop for Expiring {
    fn drop(&mut self) {
        self.unread.end();
        self.watch.abort();
    }
}

impl http_body::Body for Expiring {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let mut unread = self.unread.lock();
        let Some(pieces) = &mut unread.pieces else {
            return Poll::Ready(Some(Err(axum::Error::new(ReadTimeout))));
        };
        let polled = Pin::new(pieces).poll_frame(cx);
        unread.asked = Instant::now();
        if let Poll::Ready(Some(Ok(frame))) = &polled {
            unread.left -= frame.data_ref().map_or(0, |data| data.len() as u64).min(unread.left);
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.unread.lock().pieces.as_ref().is_some_and(Pieces::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.unread.lock().left)
    }
}
