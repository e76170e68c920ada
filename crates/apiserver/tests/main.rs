//! Store and watches below the API, including a store whose process is killed.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking and prints its seed"
)]

mod durability;
mod failures;
mod model;
mod watchers;
