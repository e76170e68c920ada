//! Audit log: who has asked for what, and with which result, as events of `audit.k8s.io/v1` at the level `Metadata`.
//!
//! ```text
//!  request ─► Recording ─► Event, one line ─► queue ─► thread ─► file, rotated
//!             caller, target, decision        bounded  batches
//! ```
//!
//! A [`Recording`] follows a request. What is recorded is decided by [`scope`](Scope), texts of callers are
//! cleaned in `text`, and the line enters the queue of the [`AuditLog`] before the request is answered. Bodies are never
//! recorded.

mod event;
mod file;
mod log;
mod recording;
mod scope;
mod text;

pub use self::{
    file::FileOptions,
    log::{AuditCounts, AuditLog},
    recording::Recording,
    scope::Scope,
};
pub(crate) use recording::{Created, Reason};
