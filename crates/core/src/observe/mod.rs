//! Status of what runs, derived from observed state, one module for each runtime. Pure, so a table can test every cause.

pub mod kubernetes;
pub mod owned_fields;
pub mod process;
