//! The lowest layer of the process runtime: shims and the programs that they own.

mod ends;
mod logs;
mod places;
mod stops;
mod support;
mod survives;

use std::process::ExitCode;

use support::Test;

/// The tests of all modules.
pub(crate) const TESTS: &[&[Test]] =
    &[ends::TESTS, logs::TESTS, places::TESTS, stops::TESTS, survives::TESTS];

/// Exit code of the hidden command that these tests start the binary with.
pub(crate) fn hidden() -> Option<ExitCode> {
    (std::env::args().nth(1).as_deref() == Some(survives::LAUNCH)).then(survives::launch)
}
