//! Pure functions on objects: decoding, creation, change and deletion.

pub(crate) mod decode;
pub(crate) mod lifecycle;
pub(crate) mod typed;
