//! The controllers of Score Orchestrator, and the engine they share.
//!
//! A controller compares what is wanted with what there is, and acts on the difference, over and over:
//!
//! ```text
//!  API ──list, watch──► feed ──► cache ──changes──► worker (queue, backoff) ──► reconcile ──► API
//!                                  ▲                                               │
//!                                  └──────────── answers to our own writes ────────┘
//! ```
//!
//! - A [`cache`] is what is known of one kind. It reads its own writes, so that nobody acts twice on old news.
//! - A [`feed`] keeps a cache up to date, whatever happens to the connection or stands in the objects ([`legible`]).
//! - A [`queue`] and a [`backoff`] decide what is next; a [`work`]er does it, a bounded number at a time.
//! - A [`lease`] says which of several processes may act; a [`record`]er tells users what happened.
//! - [`metrics`] count all of it, and [`stop`] ends it in order.
//!
//! All controllers have one shape: fetch from the [`world`], decide with `orchestra_core`, [`write`](mod@write), report.
//! [`run`] puts them together, and knows who is woken by what.

pub mod backoff;
pub mod cache;
pub mod claim;
mod deadline;
mod denial;
pub mod feed;
pub mod key;
mod known;
pub mod lead;
pub mod lease;
pub mod legible;
pub mod metrics;
mod neighbourhood;
mod patience;
pub mod plan;
pub mod policy;
pub mod queue;
pub mod record;
pub mod run;
pub mod secrets;
pub mod settings;
pub mod stop;
mod tally;
pub mod work;
pub mod workload;
pub mod world;
pub mod write;

pub use run::{Controllers, Options};
