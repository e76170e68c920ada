//! Runtime `kubernetes` and engine `template` on a real API server, which `KUBECONFIG` names.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking and prints what it observed"
)]

mod kubernetes;
mod template;
