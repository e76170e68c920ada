//! The definitions of the kinds.

pub mod score;
