//! From plans to what runtimes make of them: pure, so that what would be made can be shown and tested without them.

pub mod kubernetes;
