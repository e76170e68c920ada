//! Limits of a server: what callers can make it hold at a time, fair between callers.
//!
//! ```text
//!  listener ──► Connections ──► authentication ──► Limits::admit ──► authorisation ──► read ──► handler ──► Permit::answer
//!               slots, with     (of the server)    a slot of the                       bytes                bytes, until
//!               eviction                           caller's lane                                            they are sent
//! ```
//!
//! - [`Connections`]: slots for connections. When they run out, an unauthenticated or idle connection is evicted, so that
//!   idle clients cannot lock others out.
//! - [`Limits`]: requests, long-running requests, bodies and bytes in flight, each with a bound per caller below a bound for all.
//!   Callers that wait get their turns round robin.
//! - [`read`]: the body of a request, bounded in size, time and the bytes of all bodies.
//! - [`Values`]: estimate of what a document takes once it is parsed.
//! - [`Permit::answer`]: the body of a response, which holds its bytes, but not for a client that does not read it.
//!
//! `FairSemaphore` is the one mechanism of all lanes. A request that does not fit waits shortly, and is then refused with
//! [`Refused`], which servers answer with 429 and `Retry-After`.

mod admission;
mod answer;
mod body;
mod connections;
mod fair;
mod values;

pub use admission::{Bound, Kind, Limits, Options, Permit, Refused};
pub use body::{BodyError, BodyLimits, read};
pub use connections::{ActiveRequest, Connection, Connections};
pub use fair::{Capacity, FairSemaphore, Grant};
pub use values::Values;

/// Key of all callers without an identity: they share one lane.
pub const ANONYMOUS: &str = "system:anonymous";
