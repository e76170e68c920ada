//! Engine below the controllers: caches, queues and workers of any kind. It decides nothing about objects.
//!
//! - [`cache`]: reflector-backed store of one kind, with read-your-writes.
//! - [`reflector`]: list and watch that keep a cache up to date, whatever happens to the connection or is in the objects
//!   ([`deserialize_guard`]).
//! - [`queue`] and [`backoff`]: what is next; [`worker`]: reconciles it, a bounded number at a time.
//! - [`lease`]: leader election; [`shutdown`]: graceful shutdown.
//! - `deadline`: timeout of driver calls; `debounce`: start of deferrals that core decides.

pub mod backoff;
pub mod cache;
pub(crate) mod deadline;
pub(crate) mod debounce;
pub mod deserialize_guard;
pub mod key;
pub mod lease;
pub mod queue;
pub mod reflector;
pub mod shutdown;
pub mod worker;
