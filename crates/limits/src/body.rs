//! Body of a request, bounded in size, time and bytes in flight.

use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http_body::Body as _;
use http_body_util::BodyExt as _;
use tokio::time::{Instant, timeout, timeout_at};

use crate::{Permit, Refused};

/// Limits of a body.
#[derive(Clone, Copy, Debug)]
pub struct BodyLimits {
    /// Maximum size.
    pub bytes: usize,
    /// Maximum time without progress.
    pub idle: Duration,
    /// Maximum time in all.
    pub total: Duration,
}

/// A body that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum BodyError {
    /// It is longer than the limit.
    #[error("the body is too long")]
    TooLarge,
    /// It does not arrive in time.
    #[error("the body did not arrive in time")]
    Timeout,
    /// There is no room for it.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The client left, or violates the protocol.
    #[error("the body could not be received")]
    Broken(#[source] axum::Error),
}

/// Part of a body that is too long that is discarded, in multiples of its limit.
const DISCARD_FACTOR: usize = 4;

/// Reads a body. Its bytes are reserved first, by its declared length, in the lane of bodies. One that is too long is
/// discarded, up to a bound: a client that is still sending reads the answer only if the connection stays open.
pub async fn read(mut body: Body, limits: BodyLimits, permit: &Permit) -> Result<Bytes, BodyError> {
    let read = read_within(&mut body, limits, permit).await;
    if matches!(read, Err(BodyError::TooLarge)) {
        // Errors and a client that is too slow end it, too.
        let _ = timeout(limits.idle, discard(body, limits.bytes * DISCARD_FACTOR)).await;
    }
    read
}

async fn discard(mut body: Body, mut left: usize) {
    while let Some(Ok(frame)) = body.frame().await {
        let length = frame.data_ref().map_or(0, Bytes::len);
        if length > left {
            return;
        }
        left -= length;
    }
}

async fn read_within(body: &mut Body, limits: BodyLimits, permit: &Permit) -> Result<Bytes, BodyError> {
    let hint = body.size_hint();
    let length = |size: u64| usize::try_from(size).unwrap_or(usize::MAX);
    if length(hint.lower()) > limits.bytes {
        return Err(BodyError::TooLarge);
    }
    if body.is_end_stream() {
        return Ok(Bytes::new());
    }
    permit.reserve_body(hint.upper().map_or(limits.bytes, length).min(limits.bytes)).await?;
    let read = collect(body, limits, length(hint.lower()));
    timeout(limits.total, read).await.unwrap_or(Err(BodyError::Timeout))
}

async fn collect(body: &mut Body, limits: BodyLimits, expected: usize) -> Result<Bytes, BodyError> {
    let mut first = Bytes::new();
    let mut collected = BytesMut::new();
    loop {
        let next = timeout_at(Instant::now() + limits.idle, body.frame()).await;
        let Some(frame) = next.map_err(|_| BodyError::Timeout)? else { break };
        let Ok(data) = frame.map_err(BodyError::Broken)?.into_data() else { continue };
        if first.len() + collected.len() + data.len() > limits.bytes {
            return Err(BodyError::TooLarge);
        }
        // Most bodies are one frame, which needs no copy.
        if first.is_empty() && collected.is_empty() {
            first = data;
        } else {
            if collected.is_empty() {
                collected.reserve(expected.max(first.len() + data.len()));
                collected.extend_from_slice(&std::mem::take(&mut first));
            }
            collected.extend_from_slice(&data);
        }
    }
    Ok(if collected.is_empty() { first } else { collected.freeze() })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use std::{
        convert::Infallible,
        pin::Pin,
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering},
        },
        task::{Context, Poll},
    };

    use futures_util::{StreamExt as _, future::join_all, stream};
    use http_body::{Frame, SizeHint};

    use super::*;
    use crate::{Bound, Kind, Limits, Options};

    const LIMITS: BodyLimits =
        BodyLimits { bytes: 100, idle: Duration::from_secs(2), total: Duration::from_secs(5) };

    fn pieces(pieces: usize, interval: Duration) -> Body {
        Body::from_stream(stream::iter(0..pieces).then(move |_| async move {
            tokio::time::sleep(interval).await;
            Ok::<_, Infallible>(Bytes::from_static(b"0123456789"))
        }))
    }

    async fn error(body: Body) -> BodyError {
        read(body, LIMITS, &Permit::unlimited()).await.unwrap_err()
    }

    #[tokio::test(start_paused = true)]
    async fn pieces_are_joined_up_to_the_limit() {
        for (count, expected) in [(0, 0), (1, 10), (2, 20), (10, 100)] {
            let read = read(pieces(count, Duration::ZERO), LIMITS, &Permit::unlimited()).await.unwrap();
            assert_eq!(read, b"0123456789".repeat(count), "{expected}");
        }
        assert!(matches!(error(pieces(11, Duration::ZERO)).await, BodyError::TooLarge));
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_stops_and_one_that_trickles_time_out() {
        let began = Instant::now();
        assert!(matches!(error(pieces(1, Duration::from_mins(1))).await, BodyError::Timeout));
        assert_eq!(began.elapsed(), LIMITS.idle);
        let began = Instant::now();
        assert!(matches!(error(pieces(9, Duration::from_secs(1))).await, BodyError::Timeout));
        assert_eq!(began.elapsed(), LIMITS.total);
    }

    /// Body with a declared length that counts how often it is read.
    struct Declared(u64, &'static AtomicUsize);

    impl http_body::Body for Declared {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            self.1.fetch_add(1, Ordering::Relaxed);
            Poll::Ready(None)
        }

        fn size_hint(&self) -> SizeHint {
            SizeHint::with_exact(self.0)
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_is_too_long_is_discarded_up_to_a_bound() {
        let sent = Arc::new(AtomicUsize::new(0));
        for (count, expected) in [(30, 30), (1000, 11 + 41)] {
            let counted = Arc::clone(&sent);
            let body = stream::iter(0..count).map(move |_| {
                counted.fetch_add(1, Ordering::Relaxed);
                Ok::<_, Infallible>(Bytes::from_static(b"0123456789"))
            });
            assert!(matches!(error(Body::from_stream(body)).await, BodyError::TooLarge));
            assert_eq!(sent.swap(0, Ordering::Relaxed), expected);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_without_room_is_not_read() {
        static READS: AtomicUsize = AtomicUsize::new(0);
        let bodies = Bound { total: 1024, per_caller: 1024 };
        let limits = Limits::new(Options { bodies, ..Options::default() });
        let first = limits.admit("a", Kind::Short).await.unwrap();
        first.reserve_body(1).await.unwrap();
        let second = limits.admit("a", Kind::Short).await.unwrap();
        let refused = read(Body::new(Declared(50, &READS)), LIMITS, &second).await.unwrap_err();
        assert!(matches!(refused, BodyError::Refused(Refused::Busy)), "{refused}");
        assert_eq!(READS.load(Ordering::Relaxed), 0);
        drop(first);
        read(Body::new(Declared(50, &READS)), LIMITS, &second).await.unwrap();
        assert_eq!(READS.load(Ordering::Relaxed), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn requests_of_one_caller_that_need_more_than_their_bodies_wait_for_each_other_and_are_all_served()
    {
        const KIB: usize = 1024;
        let bodies = Bound { total: 12 * KIB, per_caller: 12 * KIB };
        let bytes = Bound { total: 48 * KIB, per_caller: 24 * KIB };
        let limits =
            Limits::new(Options { bodies, bytes, wait: Duration::from_secs(5), ..Options::default() });
        let body = || {
            let pieces = stream::iter(0..3).then(|_| async {
                tokio::time::sleep(Duration::from_millis(10)).await;
                Ok::<_, Infallible>(Bytes::from(vec![b' '; KIB]))
            });
            Body::from_stream(pieces)
        };
        let body_limits = BodyLimits { bytes: 3 * KIB, ..LIMITS };
        let preview = async || {
            let permit = limits.admit("a", Kind::Short).await?;
            let body = read(body(), body_limits, &permit).await?;
            permit.reserve(body.len() + 14 * KIB).await?;
            tokio::time::sleep(Duration::from_secs(1)).await;
            Ok::<_, BodyError>(body.len())
        };
        let previews = join_all([preview(), preview(), preview(), preview()]).await;
        assert!(previews.iter().all(|read| matches!(read, Ok(length) if *length == 3 * KIB)), "{previews:?}");
    }
}
