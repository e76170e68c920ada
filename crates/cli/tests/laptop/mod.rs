//! A whole platform on a laptop: what `orchestra up` runs are real programs of this machine.

#![cfg(target_os = "linux")]

mod contract;
mod depending;
mod examples;
mod kills;
mod mistakes;
mod running;
mod session;
mod surviving;
