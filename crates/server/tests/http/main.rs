//! Requests to the server, over the in-process API with running controllers.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

mod errors;
mod limits;
mod logs_and_origin;
mod platform;
mod review;
mod workload;
