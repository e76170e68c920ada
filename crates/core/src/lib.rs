//! All decisions of the orchestrator, as pure functions.
//!
//! From values to values: no clock, no network, no randomness. Controllers gather the inputs and execute the decision; the
//! command line and the server show the same decision.
//!
//! The steps of a decision about a Workload, one module each:
//!
//! 1. [`mod@validate`]: validation of the document.
//! 2. [`policy`]: defaults and limits of the platform.
//! 3. [`place`]: the placement and its explanation; `request` reads what the Workload requires.
//! 4. [`claims`]: claims for its dependencies.
//! 5. `project`: the plan, when no value is missing. [`endpoint`] chooses the exposures, [`revision`] hashes the plan,
//!    [`lint`](mod@lint) checks it.
//! 6. [`status`]: conditions, after the decision is executed.
//!
//! [`mod@plan`] takes these steps, or `teardown` when the Workload is deleted. [`mod@preview`] shows their result.
//! [`provision`] decides about instances of claims, [`run`] about plans. [`observe`] derives the status of what runs, and
//! [`denial`] explains denied writes. [`program_access`] decides whether programs of a namespace may run on this machine.

pub mod claim_state;
pub mod claims;
pub mod config;
pub mod decision;
pub mod denial;
pub mod driver;
pub mod endpoint;
pub mod explain;
pub mod inputs;
mod job;
pub mod leftover;
pub mod lint;
pub mod observe;
mod outputs;
pub mod place;
pub mod plan;
pub mod policy;
pub mod preview;
pub mod program_access;
mod project;
pub mod provision;
pub mod range;
pub mod render;
mod request;
pub mod revision;
pub mod run;
mod runtimes;
pub mod selector;
mod sentence;
pub mod status;
mod teardown;
pub mod template;
pub mod validate;
pub mod watch;
pub mod workload_state;

pub use decision::{Applied, Decision, Denied};
pub use inputs::{Inputs, NamespaceFacts, Observed};
pub use outputs::Gap;
pub use plan::{evaluate, plan};
