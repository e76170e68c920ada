//! Admission of requests: lanes for requests, long-running requests and bytes.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use axum::{body::Body, response::Response};
use http_body::Body as _;

use crate::{
    answer::{Expiring, Pieces},
    fair::{Capacity, FairSemaphore, Grant},
};

/// Unit of the lane of bytes: reservations are rounded up to it.
const UNIT: usize = 1024;
/// Answers up to this size are not reserved: the buffers of a connection hold them.
const SMALL_ANSWER_BYTES: usize = 16 * 1024;

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
    /// Bytes of bodies that are received, or wait for the bytes that their requests need. Apart from these: requests that
    /// all hold a body and wait for more would wait for each other.
    pub bodies: Bound,
    /// Bytes of requests in progress: the memory that they need, with their bodies, and answers.
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
            bodies: Bound { total: 128 * MIB, per_caller: 64 * MIB },
            bytes: Bound { total: 384 * MIB, per_caller: 192 * MIB },
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
    bodies: FairSemaphore,
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
        let Options { requests, long_requests, work, bodies, bytes, waiting, wait } = options;
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
            bodies: lane(bodies, UNIT),
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
            body: Mutex::default(),
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
    reserved: Mutex<Vec<Grant>>,
    /// Of the lane of bodies.
    body: Mutex<Option<Grant>>,
}

impl Limited {
    /// Reserved units.
    fn units(&self) -> usize {
        self.reserved().iter().map(Grant::amount).sum()
    }

    fn reserved(&self) -> MutexGuard<'_, Vec<Grant>> {
        self.reserved.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces what is held in the lane of bodies.
    fn set_body(&self, grant: Option<Grant>) {
        let previous =
            std::mem::replace(&mut *self.body.lock().unwrap_or_else(PoisonError::into_inner), grant);
        drop(previous);
    }

    /// Releases the units beyond this number.
    fn shrink(&self, mut units: usize) {
        let mut reserved = self.reserved();
        for grant in reserved.iter_mut() {
            grant.shrink(units);
            units -= grant.amount();
        }
        reserved.retain(|grant| grant.amount() > 0);
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

    /// True if the request has limits, so that its memory has to be estimated.
    pub fn has_limits(&self) -> bool {
        self.0.is_some()
    }

    /// Reserves bytes for this request, in all, with its body. One that needs more than a caller may hold reserves that
    /// bound: it waits until the caller has nothing else in flight.
    pub async fn reserve(&self, bytes: usize) -> Result<(), Refused> {
        let Some(limited) = &self.0 else { return Ok(()) };
        let lane = &limited.lanes.bytes;
        let units = bytes.div_ceil(UNIT).min(lane.per_key()).saturating_sub(limited.units());
        if units > 0 {
            let grant = lane.acquire(&limited.caller, units, limited.lanes.wait).await?;
            limited.reserved().push(grant);
        }
        limited.set_body(None);
        Ok(())
    }

    /// Reserves bytes for the body of this request, until more is reserved for the request.
    pub(crate) async fn reserve_body(&self, bytes: usize) -> Result<(), Refused> {
        let Some(limited) = &self.0 else { return Ok(()) };
        let lane = &limited.lanes.bodies;
        let units = bytes.div_ceil(UNIT).min(lane.per_key());
        let grant = lane.acquire(&limited.caller, units, limited.lanes.wait).await?;
        limited.set_body(Some(grant));
        Ok(())
    }

    /// Releases what is reserved beyond this number of bytes.
    pub fn shrink(&self, bytes: usize) {
        if let Some(limited) = &self.0 {
            limited.shrink(bytes.div_ceil(UNIT));
        }
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

    /// Response that holds this permit until it is sent, and no more bytes than it has. A large one is reserved first, and
    /// ends if the client does not read it. A stream is as slow as its client.
    pub async fn answer(self, response: Response) -> Result<Response, Refused> {
        if let Some(size) = size_of(&response).filter(|size| *size > SMALL_ANSWER_BYTES) {
            self.shrink(size);
            self.reserve(size).await?;
        }
        Ok(self.answer_unreserved(response))
    }

    /// The same for a response that has to be sent, also if there is no room for it: that of a write.
    pub fn answer_unreserved(self, response: Response) -> Response {
        let Some(limited) = &self.0 else { return response };
        let Some(size) = size_of(&response) else {
            return response.map(|body| Body::new(Pieces::new(body, self)));
        };
        if size <= SMALL_ANSWER_BYTES {
            return response;
        }
        self.shrink(size);
        limited.set_body(None);
        response.map(|body| Body::new(Expiring::new(Pieces::new(body, self), size as u64)))
    }
}

/// Size of the body of a response; `None` for a stream.
fn size_of(response: &Response) -> Option<usize> {
    response.body().size_hint().exact().map(|size| usize::try_from(size).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests;
