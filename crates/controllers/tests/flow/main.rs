//! The way of Workloads through all controllers, on the API in the process, with drivers that do what they are told.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

mod platform;
mod tutorial;
