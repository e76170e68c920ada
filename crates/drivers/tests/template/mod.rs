//! The engine `template` against a real API server.
//!
//! It needs a cluster of which `KUBECONFIG` says where it is, and changes only namespaces of its own, and config maps of
//! its own in the platform's. Nobody has to play nodes: what the cluster says of servers is written by the tests.

mod files;
mod lives;
mod support;
