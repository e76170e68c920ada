//! Tests of rendering: recorded plans with their objects, and properties of all of them.
//!
//! An upgrade must not change the objects of a plan, or every Workload is rolled out again. After an intended change,
//! `UPDATE_RENDERED=1 cargo test -p orchestra-core --test it render::` writes the recorded objects.

mod kept;
mod names;
mod properties;
mod refusals;
mod rules;
