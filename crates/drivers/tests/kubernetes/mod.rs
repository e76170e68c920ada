//! The runtime `kubernetes` against a real API server.
//!
//! It needs a cluster of which `KUBECONFIG` says where it is, and changes only a namespace of its own for each test.
//! Nobody has to play nodes: what the cluster's own controllers say of objects is written by the tests.

mod applying;
mod controlled;
mod observing;
mod running;
mod support;
