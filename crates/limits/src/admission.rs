//! Admission of requests: lanes for requests, long-running requests and bytes.

use std::{
    fmt,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use axum::{body::Body, response::Response};
use bytes::Bytes;
use http_body::{Body as _, Frame, SizeHint};

use crate::fair::{Capacity, FairSemaphore, Grant};

/// Unit of the lane of bytes: reservations are rounded up to it.
const UNIT: usize = 1024;
/// Answers up to this size are not reserved: the buffers of a connection hold them.
const SMALL_ANSWER_BYTES: usize = 16 * 1024;
/// Largest piece of an answer that is handed to a connection: what it holds of an answer is not in the lane of bytes.
const MAX_PIECE_BYTES: usize = 16 * 1024;

/// Bound of all callers together, and of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    /// Of all callers together.
    pub total: usize,
    /// Of one caller.
    pub per_caller: usize,
}

/// Limits of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Requests in progress.
    pub requests: Bound,
    /// Long-running requests in progress: watches, followed logs.
    pub long_requests: Bound,
    /// Calculations in progress: parsed bodies, previews.
    pub work: Bound,
    /// Bytes in flight: bodies, answers, and the memory that a request needs.
    pub bytes: Bound,
    /// Requests that wait for one of these.
    pub waiting: Bound,
    /// Time that a request waits before it is refused.
    pub wait: Duration,
}

impl Default for Options {
    /// Limits of a platform on one machine: far above what kubectl, controllers and benchmarks need.
    fn default() -> Self {
        const MIB: usize = 1024 * 1024;
        Self {
            requests: Bound { total: 512, per_caller: 128 },
            long_requests: Bound { total: 8192, per_caller: 4096 },
            work: Bound { total: 8, per_caller: 4 },
            bytes: Bound { total: 512 * MIB, per_caller: 256 * MIB },
            waiting: Bound { total: 4096, per_caller: 1024 },
            wait: Duration::from_secs(10),
        }
    }
}

/// Lane of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Answered as soon as possible.
    Short,
    /// Answered until the client leaves: a watch, a followed log.
    Long,
}

/// Refusal for lack of room; the client should retry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The request has waited for its turn in vain.
    #[error("too many requests are in progress; try again later")]
    Busy,
    /// Too many requests wait already.
    #[error("too many requests are waiting; try again later")]
    QueueFull,
}

impl Refused {
    /// Delay before a retry, for the header `Retry-After`.
    pub const RETRY_AFTER_SECONDS: u32 = 1;
}

/// Limits of a server. Clones share them.
#[derive(Clone, Debug)]
pub struct Limits(Arc<Lanes>);

#[derive(Debug)]
struct Lanes {
    requests: FairSemaphore,
    long_requests: FairSemaphore,
    work: FairSemaphore,
    bytes: FairSemaphore,
    wait: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self::new(Options::default())
    }
}

impl Limits {
    /// Limits with nothing in progress.
    pub fn new(options: Options) -> Self {
        let Options { requests, long_requests, work, bytes, waiting, wait } = options;
        let lane = |bound: Bound, unit: usize| {
            FairSemaphore::new(Capacity {
                total: bound.total / unit,
                per_key: bound.per_caller / unit,
                waiting: waiting.total,
                waiting_per_key: waiting.per_caller,
            })
        };
        Self(Arc::new(Lanes {
            requests: lane(requests, 1),
            long_requests: lane(long_requests, 1),
            work: lane(work, 1),
            bytes: lane(bytes, UNIT),
            wait,
        }))
    }

    /// Admits a request of a caller, or refuses it after a short wait. The key of a caller is its user name, or
    /// [`crate::ANONYMOUS`].
    pub async fn admit(&self, caller: &str, kind: Kind) -> Result<Permit, Refused> {
        let lane = match kind {
            Kind::Short => &self.0.requests,
            Kind::Long => &self.0.long_requests,
        };
        let slot = lane.acquire(caller, 1, self.0.wait).await?;
        let limited = Limited {
            lanes: Arc::clone(&self.0),
            caller: caller.into(),
            _slot: slot,
            reserved: Mutex::default(),
        };
        Ok(Permit(Some(Arc::new(limited))))
    }
}

/// Admission of one request. Its slot and its bytes are released with the last clone.
#[derive(Clone, Debug)]
pub struct Permit(Option<Arc<Limited>>);

struct Limited {
    lanes: Arc<Lanes>,
    caller: Box<str>,
    _slot: Grant,
    reserved: Mutex<Reserved>,
}

#[derive(Default)]
struct Reserved {
    units: usize,
    grants: Vec<Grant>,
}

impl Limited {
    /// Reserved units.
    fn held(&self) -> usize {
        self.reserved.lock().unwrap_or_else(PoisonError::into_inner).units
    }
}

impl fmt::Debug for Limited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Limited").field("caller", &self.caller).finish_non_exhaustive()
    }
}

impl Permit {
    /// Permit without limits, for clients in the same process: they are part of the platform and never wait for others.
    pub fn unlimited() -> Self {
        Self(None)
    }

    /// Reserves bytes for this request. One that needs more than a caller may hold reserves that bound: it waits until
    /// the caller has nothing else in flight.
    pub async fn reserve(&self, bytes: usize) -> Result<(), Refused> {
        let Some(limited) = &self.0 else { return Ok(()) };
        let lane = &limited.lanes.bytes;
        let units = bytes.div_ceil(UNIT).min(lane.per_key().saturating_sub(limited.held()));
        if units == 0 {
            return Ok(());
        }
        let grant = lane.acquire(&limited.caller, units, limited.lanes.wait).await?;
        let mut reserved = limited.reserved.lock().unwrap_or_else(PoisonError::into_inner);
        reserved.units += units;
        reserved.grants.push(grant);
        Ok(())
    }

    /// Reserves as many bytes as are missing for this amount in all: what a request needed before its answer is free by then.
    pub async fn reserve_in_all(&self, bytes: usize) -> Result<(), Refused> {
        let held = self.0.as_ref().map_or(0, |limited| limited.held() * UNIT);
        self.reserve(bytes.saturating_sub(held)).await
    }

    /// Runs a calculation on a thread for blocking work: one that takes long does not delay other requests, or the
    /// controllers of the process. It keeps its slot and its bytes until it ends, also if the client leaves.
    pub async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Refused> {
        let slot = match &self.0 {
            Some(limited) => Some(limited.lanes.work.acquire(&limited.caller, 1, limited.lanes.wait).await?),
            None => None,
        };
        let held = (slot, self.clone());
        let done = tokio::task::spawn_blocking(move || {
            let result = work();
            drop(held);
            result
        });
        done.await.map_err(|error| match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime shuts down.
            Err(_) => Refused::Busy,
        })
    }

    /// Response that holds this permit until it is sent. A large one is reserved first.
    pub async fn answer(self, response: Response) -> Result<Response, Refused> {
        if self.0.is_none() {
            return Ok(response);
        }
        match response.body().size_hint().exact().and_then(|size| usize::try_from(size).ok()) {
            Some(size) if size <= SMALL_ANSWER_BYTES => return Ok(response),
            Some(size) => self.reserve_in_all(size).await?,
            None => {}
        }
        Ok(response.map(|body| Body::new(Answer { body, rest: Bytes::new(), _permit: self })))
    }
}

/// Body of a response, in pieces, which holds a permit.
struct Answer {
    body: Body,
    /// Rest of a frame.
    rest: Bytes,
    _permit: Permit,
}

impl http_body::Body for Answer {
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

#[cfg(test)]
mod tests;
