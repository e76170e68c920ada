//! Unmodified kube-rs on the embedded API: each test once in-process and once over TLS with a durable store.

#[macro_use]
mod both;

mod apply;
mod controller;
mod crud;
mod definitions;
mod discovery;
mod entry;
mod events;
mod faults;
mod finalizers;
mod garden;
mod leases;
mod lists;
mod status;
mod waiting;
mod watchers;
