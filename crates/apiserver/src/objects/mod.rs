//! The rules of an object's life, as pure functions: how it is read from a request, born, changed and deleted.

pub(crate) mod decode;
pub(crate) mod lifecycle;
pub(crate) mod typed;
