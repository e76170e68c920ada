//! Checks of the product as a whole, against the outside world.
//!
//! [`kubectl`] runs command scripts with the real kubectl and compares what it prints with what it printed on a real
//! kube-apiserver. [`parity`] plays request scripts against an API server and compares its answers with those
//! that a real kube-apiserver once gave.

pub mod kubectl;
pub mod parity;
