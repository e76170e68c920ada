//! Process runtime and its servers, with real processes.
//!
//! The test binary stands in for orchestra: called with a hidden command, it is a shim.
//! Tests of servers need postgres with psql, and redis; a few need root: `cargo test -p orchestra-drivers --features process --test process
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
    let root = shim::ROOT_TESTS.iter().copied().flatten().map(|test| trial("shim", test));
    let servers = servers::TESTS.iter().copied().flatten().map(|test| trial("servers", test));
    let ignored = root.chain(servers).map(|trial| trial.with_ignored_flag(true));
    libtest_mimic::run(&Arguments::from_args(), shim.chain(ignored).collect()).exit_code()
}
