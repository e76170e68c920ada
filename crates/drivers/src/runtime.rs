//! What runs plans.

use futures_util::{future::BoxFuture, stream::BoxStream};
use orchestra_api::{
    condition::Reason,
    exposure::Exposure,
    plan::{InventoryItem, Phase, WorkloadPlanSpec},
};

use crate::{DriverError, Secrets};

/// Runs the plans of one class.
///
/// The controller calls in this order, and after a crash again from the start: `lacks`, `inventory` (which is then
/// written down), `apply`, `observe`; on deletion `remove`, with what was written down. Everything is idempotent.
pub trait Runtime: Send + Sync + 'static {
    /// The class of the plans it runs.
    fn class(&self) -> &str;

    /// What a plan needs and this runtime cannot do, each with the field; such a plan is refused before anything
    /// happens.
    fn lacks(&self, plan: &WorkloadPlanSpec) -> Vec<String>;

    /// Everything that will be made for a plan.
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

/// How far a removal is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Removed {
    /// Nothing is left.
    Gone,
    /// Something is still stopping; what, in a sentence. A change will be reported.
    Stopping(String),
}
