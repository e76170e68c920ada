//! What runs plans.

use std::io;

use futures_util::{
    future::BoxFuture,
    stream::{self, BoxStream, StreamExt as _},
};
use jiff::Timestamp;
use orchestra_api::{
    condition::Reason,
    exposure::Exposure,
    plan::{InventoryItem, Phase, WorkloadPlanSpec},
};

use crate::{DriverError, Secrets};

/// Runs the plans of one class.
///
/// The controller calls in this order, and after a crash again from the start: `lacks`, `inventory` (which is then
/// written down, unless the plan is new and tells it by itself), `apply`, `observe`; on deletion `remove`, with what was
/// written down. Everything is idempotent.
pub trait Runtime: Send + Sync + 'static {
    /// The class of the plans it runs.
    fn class(&self) -> &str;

    /// What a plan needs and this runtime cannot do, each with the field; such a plan is refused before anything
    /// happens.
    fn lacks(&self, plan: &WorkloadPlanSpec) -> Vec<String>;

    /// Everything that will be made for a plan: always the same for the same plan, since of a new one it is not written
    /// down.
    fn inventory(&self, target: &Target) -> Vec<InventoryItem>;

    /// Makes what runs be what the plan says. Needs not wait until it runs.
    fn apply<'a>(
        &'a self,
        target: &'a Target,
        secrets: &'a dyn Secrets,
    ) -> BoxFuture<'a, Result<(), DriverError>>;

    /// Looks how what was made fares.
    fn observe<'a>(&'a self, target: &'a Target) -> BoxFuture<'a, Result<Observation, DriverError>>;

    /// Takes down what is listed, and nothing else: all that was written down, or what only an earlier revision needed.
    fn remove<'a>(
        &'a self,
        target: &'a Target,
        inventory: &'a [InventoryItem],
    ) -> BoxFuture<'a, Result<Removed, DriverError>>;

    /// What the containers of a Workload wrote. A runtime that keeps nothing of it has nothing to tell.
    fn logs(&self, namespace: &str, name: &str, wish: LogWish) -> BoxStream<'static, io::Result<LogLine>> {
        let _ = (namespace, name, wish);
        stream::empty().boxed()
    }

    /// The namespaces and names of plans about which there is something new to observe.
    fn changes(&self) -> BoxStream<'static, (String, String)>;
}

/// A plan that is to be run.
#[derive(Clone, Debug)]
pub struct Target {
    /// The namespace of the plan.
    pub namespace: String,
    /// The name of the plan, which is that of the Workload.
    pub name: String,
    /// The plan.
    pub plan: WorkloadPlanSpec,
}

/// How what was made fares.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observation {
    /// The revision that runs, or is being started; absent if nothing is there.
    pub revision: Option<String>,
    /// How far it is.
    pub phase: Phase,
    /// Why, in a word.
    pub reason: Option<Reason>,
    /// Why, in a neutral sentence.
    pub message: Option<String>,
    /// Where it can be reached.
    pub exposures: Vec<Exposure>,
    /// Where exactly it runs.
    pub placed_on: Option<String>,
}

/// What is wanted of the logs of a Workload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogWish {
    /// Only that of this container.
    pub container: Option<String>,
    /// Only what was written from then on.
    pub since: Option<Timestamp>,
    /// Only so many of the last lines.
    pub tail: Option<usize>,
    /// Whether to wait for more.
    pub follow: bool,
}

/// A line that a container wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// The container.
    pub container: String,
    /// When.
    pub time: Timestamp,
    /// What, without the end of the line.
    pub text: String,
}

/// How far a removal is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Removed {
    /// Nothing is left.
    Gone,
    /// Something is still stopping; what, in a sentence. A change will be reported.
    Stopping(String),
}
