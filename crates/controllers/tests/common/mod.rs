//! Fixtures of the suites over all controllers.

#![allow(
    dead_code,
    unused_imports,
    reason = "compiled into several test binaries, none of which uses all of it"
)]

pub(crate) mod platform;
pub(crate) mod process;

pub(crate) use platform::{CANARY, CONFIG, Platform};
pub(crate) use process::Process;
