//! What servers say to objects of our kinds, and to Score documents.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test reads its data and fails loudly"
)]

mod conformance;
mod documents;
mod samples;
mod server;
