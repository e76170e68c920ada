//! Databases and caches, with real servers.

mod crashes;
mod engine;
mod machines;
mod postgres;
mod redis;
mod support;

use std::process::ExitCode;

use support::Test;

/// The tests of all modules.
pub(crate) const TESTS: &[&[Test]] =
    &[crashes::TESTS, engine::TESTS, machines::TESTS, postgres::TESTS, redis::TESTS];

/// Exit code of the hidden command that these tests start the binary with.
pub(crate) fn hidden() -> Option<ExitCode> {
    (std::env::args().nth(1).as_deref() == Some(crashes::PLATFORM)).then(crashes::platform)
}
