//! The server over the API in the process, with all controllers at work, as a caller sees it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

mod asking;
mod failures;
mod local;
mod platform;
mod review;
