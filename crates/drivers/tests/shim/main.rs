//! The process runtime's lowest layer, with real processes.
//!
//! The test program plays the product: called with a hidden command it is a shim, as the orchestra binary would be.

// The lints know tests by an attribute that tests of an own program do not have.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

mod ends;
mod logs;
mod places;
mod stops;
mod support;
mod survives;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

fn main() -> ExitCode {
    if let Some(code) = orchestra_drivers::process::hidden(std::env::args_os()) {
        return code;
    }
    if std::env::args().nth(1).as_deref() == Some(survives::LAUNCH) {
        return survives::launch();
    }
    let tests = [ends::TESTS, logs::TESTS, places::TESTS, stops::TESTS, survives::TESTS];
    let trials = tests.into_iter().flatten().map(|(name, test)| {
        Trial::test(*name, move || {
            test();
            Ok(())
        })
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit_code()
}
