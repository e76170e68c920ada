//! Checks of the product as a whole, against the outside world.
//!
//! [`kubectl`] runs command scripts with the real kubectl and compares what it prints with what it printed on a real
//! kube-apiserver. [`parity`] plays request scripts against an API server and compares its answers with those
//! that a real kube-apiserver once gave. [`platform`] installs the kinds and roles on any server, and [`tutorial`] walks
//! through the tutorial there.

pub mod kubectl;
pub mod parity;
pub mod platform;
pub mod tutorial;
