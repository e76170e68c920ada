//! The runtime `kubernetes` and the engine `template` on a real API server, named by `KUBECONFIG`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking and prints what it observed"
)]

mod kubernetes;
mod template;
