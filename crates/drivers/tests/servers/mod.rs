//! Databases and caches, with real servers.

mod crashes;
mod engine;
mod environments;
mod postgres;
mod redis;
mod support;

use std::process::ExitCode;

use support::Test;

/// Tests of all modules.
pub(crate) const TESTS: &[&[Test]] =
    &[crashes::TESTS, engine::TESTS, environments::TESTS, postgres::TESTS, redis::TESTS];

/// Runs the hidden command with which these tests start the binary.
pub(crate) fn hidden() -> Option<ExitCode> {
    (std::env::args().nth(1).as_deref() == Some(crashes::PLATFORM)).then(crashes::platform)
}
