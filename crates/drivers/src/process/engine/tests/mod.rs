//! Outputs and messages of the engine, as Workloads see them.

mod databases;
mod fixture;
mod routes;
mod secrets;
mod volumes;
