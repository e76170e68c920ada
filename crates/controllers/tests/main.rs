//! All controllers on the in-process API with scripted drivers.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking and prints its seed"
)]

mod common;
mod crash;
mod events;
mod flow;
mod lease;
mod plan_equals_apply;
mod reflector;
mod teardown;
