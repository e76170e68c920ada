//! Rendering of plans as objects or programs of runtimes. Pure, so it can be previewed and tested without them.

pub mod kubernetes;
pub mod process;
