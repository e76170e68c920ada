//! What the suites over all controllers share.

#![allow(dead_code, unused_imports, reason = "each suite is a binary of its own, and uses what it needs")]

pub(crate) mod platform;
pub(crate) mod process;

pub(crate) use platform::{CANARY, DOCUMENT, Platform};
pub(crate) use process::Process;
