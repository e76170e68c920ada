//! Runtime of plans.

use std::io;

use futures_util::{
    future::BoxFuture,
    stream::{self, BoxStream, StreamExt as _},
};
use jiff::Timestamp;
use orchestra_api::{
    WorkloadPlan,
    plan::{InventoryItem, WorkloadPlanSpec},
};
use orchestra_core::run::Capabilities;

use crate::{DriverError, NamespacedName, Observation, Removed, Secrets, Target};

/// Runtime of the plans of one class.
///
/// The controller calls in this order, and after a crash again from the start: `lacks`, `inventory` (which it then records),
/// `apply`, `observe`; on deletion `remove`, with what was recorded. Everything is idempotent.
pub trait Runtime: Send + Sync + 'static {
    /// Class of the plans that it runs.
    fn class(&self) -> &str;

    /// Fields of a plan that this runtime does not support, each in a sentence; such a plan is refused before anything happens.
    fn lacks(&self, plan: &WorkloadPlanSpec) -> Vec<String>;

    /// Reason why nothing new of a plan may run for lack of a permission, in a sentence; it is refused before anything happens, and
    /// asked again after [`changes`](Self::changes).
    fn refusal(&self, plan: &WorkloadPlan) -> Option<String> {
        let _ = plan;
        None
    }

    /// Inventory of everything that is created for a plan. A pure function of the plan.
    fn inventory(&self, target: &Target) -> Vec<InventoryItem>;

    /// Makes what runs match the plan. Need not wait until it is ready.
    fn apply<'a>(
        &'a self,
        target: &'a Target,
        secrets: &'a dyn Secrets,
    ) -> BoxFuture<'a, Result<(), DriverError>>;

    /// Observes the status.
    fn observe<'a>(&'a self, target: &'a Target) -> BoxFuture<'a, Result<Observation, DriverError>>;

    /// Removes the listed items and nothing else: the whole inventory, or what only an earlier revision needed.
    fn remove<'a>(
        &'a self,
        target: &'a Target,
        inventory: &'a [InventoryItem],
    ) -> BoxFuture<'a, Result<Removed, DriverError>>;

    /// Log lines of the containers of a Workload. A runtime that keeps no logs returns none.
    fn logs(&self, namespace: &str, name: &str, query: LogQuery) -> BoxStream<'static, io::Result<LogLine>> {
        let _ = (namespace, name, query);
        stream::empty().boxed()
    }

    /// Namespaces and names of plans whose status has changed.
    fn changes(&self) -> BoxStream<'static, NamespacedName>;
}

/// Answer of a runtime about a plan.
pub fn capabilities(runtime: &dyn Runtime, plan: &WorkloadPlan) -> Capabilities {
    Capabilities {
        lacks: runtime.lacks(&plan.spec),
        refusal: runtime.refusal(plan),
        inventory: runtime.inventory(&Target::of(plan)),
    }
}

/// Log query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogQuery {
    /// Only this container.
    pub container: Option<String>,
    /// Only lines from this time on.
    pub since: Option<Timestamp>,
    /// Only so many of the last lines.
    pub tail: Option<usize>,
    /// True to follow new lines.
    pub follow: bool,
}

/// Log line of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// Container.
    pub container: String,
    /// Time of the line.
    pub time: Timestamp,
    /// Text, without the line end.
    pub text: String,
}
