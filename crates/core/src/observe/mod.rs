//! Status of what runs, derived from observed objects. Pure, so a table can test every cause.

pub mod kubernetes;
pub mod owned_fields;
