//! Decisions about Workloads, from outside: values in, values out. A world of values stands in for the API, for
//! provisioners and for runtimes, so that thousands of cases take a second.

mod conditions;
mod defects;
mod fixpoint;
mod judging;
mod random;
mod revisions;
mod security;
mod sharing;
mod suspension;
mod table;
mod world;
