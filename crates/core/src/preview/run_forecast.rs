//! Forecast of a plan that its runtime refuses.

use std::{fmt, sync::Arc, time::Duration};

use orchestra_api::{
    WorkloadPlan,
    plan::{Phase, WorkloadPlanStatus},
};

use crate::{
    Inputs,
    run::{self, Capabilities, Work},
};

type Answer = dyn Fn(&WorkloadPlan) -> Option<Capabilities> + Send + Sync;

/// Answer of a plan's own runtime about its spec, without any I/O; none if that class is not built in. The default has no runtimes.
#[derive(Clone)]
pub struct CapabilitiesOf(Arc<Answer>);

impl CapabilitiesOf {
    /// Answers of these runtimes.
    pub fn new(of: impl Fn(&WorkloadPlan) -> Option<Capabilities> + Send + Sync + 'static) -> Self {
        Self(Arc::new(of))
    }
}

impl Default for CapabilitiesOf {
    fn default() -> Self {
        Self::new(|_| None)
    }
}

impl fmt::Debug for CapabilitiesOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CapabilitiesOf")
    }
}

/// Status of a plan that its runtime will refuse, because it cannot run it.
pub(super) fn refusal(
    inputs: &Inputs,
    capabilities: &CapabilitiesOf,
    plan: &WorkloadPlan,
) -> Option<WorkloadPlanStatus> {
    let decision = run::decide(&run::Inputs {
        plan: plan.clone(),
        exposure: None,
        runtimes: inputs.runtimes.clone(),
        capabilities: capabilities.0(plan),
        deferred_for: Duration::ZERO,
    });
    match decision.work {
        Work::Nothing(report) => report.status.filter(|status| status.phase == Phase::Failed),
        Work::Apply(_) | Work::Remove(..) => None,
    }
}
