//! `orchestra up` with real programs on this machine.

#![cfg(target_os = "linux")]

mod contract;
mod depending;
mod examples;
mod kills;
mod mistakes;
mod running;
mod session;
mod surviving;
mod users;
