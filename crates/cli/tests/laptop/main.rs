//! A whole platform on a laptop: what `orchestra up` runs are real programs of this machine.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod contract;
mod depending;
mod examples;
mod kills;
mod laptop;
mod mistakes;
mod running;
mod surviving;
