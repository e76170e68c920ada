//! Every decision, as pure functions.
