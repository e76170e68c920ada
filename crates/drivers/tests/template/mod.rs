//! Engine `template` on a real API server.
//!
//! Needs a cluster in `KUBECONFIG`; the tests change only their own namespaces, and their own config maps in the system
//! namespace. No nodes are needed: the tests write the status that controllers of a cluster would write.

mod files;
mod lifecycle;
mod support;
