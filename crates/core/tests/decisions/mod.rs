//! Tests of decisions about Workloads. A simulated world replaces the API, provisioners and runtimes, so thousands of cases
//! take a second.

mod conditions;
mod defects;
mod deferrals;
mod evaluation;
mod fixpoint;
mod random;
mod revisions;
mod security;
mod sharing;
mod suspension;
mod table;
mod unreadable_policies;
mod world;
