//! Shims and the programs that they own: the lowest layer of the process runtime.

mod adoption;
mod exits;
mod logs;
mod mounts;
mod privileges;
mod stop;
mod support;

use std::process::ExitCode;

use support::Test;

/// Tests of all modules.
pub(crate) const TESTS: &[&[Test]] =
    &[exits::TESTS, logs::TESTS, mounts::TESTS, privileges::TESTS, stop::TESTS, adoption::TESTS];

/// Tests that need root.
pub(crate) const ROOT_TESTS: &[&[Test]] = &[mounts::ROOT_TESTS, privileges::ROOT_TESTS];

/// Runs the hidden command with which these tests start the binary.
pub(crate) fn hidden() -> Option<ExitCode> {
    (std::env::args().nth(1).as_deref() == Some(adoption::LAUNCH)).then(adoption::launch)
}
