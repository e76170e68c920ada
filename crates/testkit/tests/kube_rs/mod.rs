//! kube-rs, unmodified, on the embedded API: each test once in the process and once over TLS, on a file.

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
