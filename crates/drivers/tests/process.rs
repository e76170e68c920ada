//! The process runtime and its servers, with real processes.
//!
//! The test binary plays the product: called with a hidden command it is a shim, as the orchestra binary would be.
//! Tests of servers need postgres with psql, and redis: `cargo test -p orchestra-drivers --features process --test process
//! -- --include-ignored` runs them too.

// A custom harness has no `#[test]` attribute by which clippy would recognise tests.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

mod servers;
mod shim;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

fn main() -> ExitCode {
    let hidden = orchestra_drivers::process::hidden(std::env::args_os());
    if let Some(code) = hidden.or_else(shim::hidden).or_else(servers::hidden) {
        return code;
    }
    let trial = |module: &str, (name, test): &(&str, fn())| {
        let test = *test;
        Trial::test(format!("{module}::{name}"), move || {
            test();
            Ok(())
        })
    };
    let shim = shim::TESTS.iter().copied().flatten().map(|test| trial("shim", test));
    let servers =
        servers::TESTS.iter().copied().flatten().map(|test| trial("servers", test).with_ignored_flag(true));
    libtest_mimic::run(&Arguments::from_args(), shim.chain(servers).collect()).exit_code()
}
