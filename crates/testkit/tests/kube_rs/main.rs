//! kube-rs, unmodified, on the embedded API: each test once in the process and once over TLS, on a file.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

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
