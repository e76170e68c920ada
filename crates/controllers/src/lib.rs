//! Controllers of Score Orchestrator, and the engine they share.
//!
//! ```text
//!  API ──list, watch──► reflector ──► cache ──changes──► watches ──► worker (queue, backoff) ──► reconcile ──► API
//!                                       ▲                                                            │
//!                                       └───────────────── answers to our own writes ────────────────┘
//! ```
//!
//! All controllers have one shape: fetch from the [`context`], decide with `orchestra_core`, execute with the [`writer`],
//! report. Each has a module: [`workload`], [`claim`], [`plan`], [`policy`]. [`manager`] starts and stops them together,
//! `watches` maps changes to the objects to reconcile, and [`engine`] has what is common to controllers anywhere.

pub mod claim;
pub mod config_watcher;
pub mod context;
mod denial;
pub mod engine;
pub mod error;
pub mod events;
pub mod leader;
pub mod manager;
pub mod metrics;
mod object_metrics;
pub mod plan;
pub mod policy;
pub mod secrets;
mod watches;
pub mod workload;
pub mod writer;

pub use error::Error;
pub use manager::{Controllers, Options, Standby};
