//! Every decision of the orchestrator, as pure functions.
//!
//! What comes in is a value, what goes out is a value: no clock, no network, no randomness. Controllers gather the
//! inputs and carry out the decision; the command line and the server show it. So what is shown is what is done.
//!
//! The way of a Workload, a module for each step:
//!
//! 1. [`mod@validate`]: is the document one that can be used?
//! 2. [`policy`]: what the platform fills in and forbids.
//! 3. [`place`]: where it runs, and why there; `request` says what it asks for.
//! 4. [`claims`]: what it depends on, as claims.
//! 5. `project`: the plan, when nothing is missing. [`endpoint`] chooses what is published, [`revision`] names it,
//!    [`lint`](mod@lint) checks it.
//! 6. [`status`]: what is said of it, once the decision is carried out.
//!
//! [`observe`] says how what runs fares, and [`denial`] why it may not.
//! [`provision`] decides about what claims ask for, instance by instance.
//! [`mod@plan`] goes this way, or the way back when the Workload is deleted. [`mod@preview`] shows where it would lead.

pub mod claims;
pub mod config;
pub mod decision;
pub mod denial;
pub mod endpoint;
pub mod explain;
pub mod inputs;
pub mod lint;
pub mod observe;
mod outputs;
pub mod place;
pub mod plan;
pub mod policy;
pub mod preview;
mod project;
pub mod provision;
pub mod range;
pub mod render;
mod request;
pub mod revision;
pub mod selector;
mod sentence;
pub mod status;
mod teardown;
pub mod template;
pub mod validate;

pub use decision::{Applied, Decision, Denied};
pub use inputs::{Inputs, Namespace};
pub use outputs::Gap;
pub use plan::{judge, plan};
