//! The in-process API under kube-rs, and the test environment itself.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking and prints its seed"
)]

mod access;
mod cascade;
mod default_accounts;
mod hard_cases;
mod kube_rs;
mod scale;
mod services;
mod typed_clients;
mod watch_continuity;
