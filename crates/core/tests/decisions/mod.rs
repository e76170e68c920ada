//! Tests of decisions about Workloads. A simulated platform replaces the API, provisioners and runtimes, so thousands of cases
//! take a second.

mod conditions;
mod defects;
mod deferrals;
mod evaluation;
mod fixpoint;
mod fixture;
mod random;
mod revisions;
mod security;
mod sharing;
mod suspension;
mod table;
mod unreadable_policies;
