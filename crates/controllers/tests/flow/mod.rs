//! Workloads through all controllers, on the in-process API with scripted drivers.

mod budget;
mod change;
mod config;
mod counting;
mod denied;
mod endpoint;
mod external;
mod foreign;
mod idle;
mod leader;
mod malformed;
mod placement;
mod policy;
mod provision_context;
mod record;
mod secrecy;
mod sharing;
mod support;
mod tutorial;

pub(crate) use crate::common::platform;
