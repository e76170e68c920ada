//! Validation of our kinds and of Score documents by API servers.

#![allow(
    clippy::disallowed_methods,
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
