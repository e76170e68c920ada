//! Integration tests: rules, common mistakes, properties of random documents, conformance data.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "tests read data, print seeds and panic on failure"
)]

mod conformance;
mod hints;
mod mistakes;
mod properties;
mod rules;
