//! Rendering of plans as objects of runtimes. Pure, so it can be previewed and tested without them.

pub mod kubernetes;
