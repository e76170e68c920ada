//! End-to-end tests of the product.
//!
//! [`kubectl`] runs command scripts with the real kubectl and compares its output with recordings from a real
//! kube-apiserver. [`parity`] replays request scripts on an API server and compares the responses with recordings from
//! a real kube-apiserver. [`matrix`] asks a server for the rights of many identities. [`platform`] installs CRDs and roles
//! on any server, and [`tutorial`] runs the tutorial there.

pub mod kubectl;
pub mod matrix;
pub mod parity;
pub mod platform;
pub mod tutorial;
