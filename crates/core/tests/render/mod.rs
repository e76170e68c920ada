//! Plans as objects of a cluster: kept plans with the objects that were made of them, and what holds for all.
//!
//! An upgrade must not change what is made of a plan, or everything that runs is rolled. Where a change is meant,
//! `UPDATE_RENDERED=1 cargo test -p orchestra-core --test render` writes the kept objects anew.

mod kept;
mod names;
mod properties;
mod refusals;
mod rules;
