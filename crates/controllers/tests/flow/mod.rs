//! The way of Workloads through all controllers, on the API in the process, with drivers that do what they are told.

mod budget;
mod change;
mod config;
mod counting;
mod endpoint;
mod external;
mod foreign;
mod idle;
mod leading;
mod malformed;
mod neighbours;
mod observing;
mod placement;
mod policy;
mod secrecy;
mod sharing;
mod silence;
mod tutorial;

pub(crate) use crate::common::platform;
