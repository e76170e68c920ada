//! End of a job, on every runtime.

use orchestra_api::{WorkloadPlan, plan::Kind};

use crate::run;

/// Runs of a job before it fails: one failure may be chance, two a slow dependency.
pub(crate) const MAX_ATTEMPTS: u32 = 3;

/// True if the current revision of a plan is a job that has succeeded: it is never run again, even if its objects are deleted.
pub(crate) fn has_succeeded(plan: &WorkloadPlan) -> bool {
    plan.spec.kind == Kind::Job && !plan.spec.lifecycle.suspend && run::is_ready(plan)
}
