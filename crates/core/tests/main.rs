//! Decisions over whole inputs: tables, properties and conformance data.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a test reads its data, prints its seed and fails by panicking"
)]

mod decisions;
mod provisioners;
mod render;
