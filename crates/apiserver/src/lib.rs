//! A small Kubernetes-style API over a durable store: the platform of a laptop, a CI job and every test.
//!
//! This crate knows none of our own kinds. So far it holds the ground on which the API stands: the
//! [store](store), which keeps objects safe, and the [ledger](ledger), which orders changes and tells watchers.

pub mod ledger;
pub mod store;
