//! Databases and caches, with real servers. They need postgres with psql, and redis, and so are run only when they are asked
//! for: `cargo test -p orchestra-drivers --features process --test servers -- --include-ignored`.
//!
//! The test program plays the product: called with a hidden command it is a shim, as the orchestra binary would be.

// The lints know tests by an attribute that tests of an own program do not have.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

mod crashes;
mod engine;
mod machines;
mod postgres;
mod redis;
mod support;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

fn main() -> ExitCode {
    if let Some(code) = orchestra_drivers::process::hidden(std::env::args_os()) {
        return code;
    }
    if std::env::args().nth(1).as_deref() == Some(crashes::PLATFORM) {
        return crashes::platform();
    }
    let tests = [crashes::TESTS, engine::TESTS, machines::TESTS, postgres::TESTS, redis::TESTS];
    let trials = tests.into_iter().flatten().map(|(name, test)| {
        let trial = Trial::test(*name, move || {
            test();
            Ok(())
        });
        trial.with_ignored_flag(true)
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit_code()
}
