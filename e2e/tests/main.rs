//! End-to-end tests against recordings and a real API server.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking and prints its seed"
)]

mod external;
mod kubectl;
mod matrix;
mod parity;
