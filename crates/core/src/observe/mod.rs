//! From what is seen of something that runs to what users are told: pure, so that every cause can be shown in a table.

pub mod kubernetes;
pub mod owned;
