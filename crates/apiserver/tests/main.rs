//! Store and watches below the API, including a store whose process is killed, and limits of requests.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking and prints its seed"
)]

mod audit;
mod durability;
mod encryption;
mod failures;
mod limits;
mod model;
mod watchers;
