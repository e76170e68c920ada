//! Runtime `kubernetes` on a real API server.
//!
//! Needs a cluster in `KUBECONFIG`; each test changes only its own namespace. No nodes are needed, except by `running`:
//! the tests write the status that controllers of a cluster would write.

mod applying;
mod controlled;
mod observing;
mod running;
mod support;
