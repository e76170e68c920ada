//! Integration tests of the binary: on one machine, as a server and against a cluster.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking and prints its seed"
)]

mod build_facts;
mod cluster;
mod documentation;
mod laptop;
mod limits;
mod platform;
mod process;
mod serve;
