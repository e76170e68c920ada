//! Policy controller: reports whether each policy is valid, and how many Workloads it matches. It counts all Workloads at once, with a delay:
//! the counts are for people.

use std::{collections::BTreeMap, fmt, time::Duration};

use orchestra_api::PlatformPolicy;
use orchestra_core::{
    evaluate,
    policy::{self, Count, StatusWrite},
};

use crate::{
    context::Context,
    engine::worker::{Action, Reconcile},
    error::Error,
    writer::Writer,
};

/// Key of all policies together: a default of one may satisfy another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AllPolicies;

impl fmt::Display for AllPolicies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("all policies")
    }
}

/// The policy controller.
pub struct PolicyController {
    context: Context,
    writer: Writer,
}

impl fmt::Debug for PolicyController {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PolicyController")
    }
}

impl PolicyController {
    /// Controller of the policies in this context.
    pub fn new(context: Context, writer: Writer) -> Self {
        Self { context, writer }
    }

    /// Number of Workloads of each policy, by name, evaluated as the workload controller does.
    async fn count(&self) -> BTreeMap<String, Count> {
        let mut counts: BTreeMap<String, Count> = BTreeMap::new();
        for workload in self.context.workloads.all() {
            // Each is a whole decision: other tasks come first.
            tokio::task::yield_now().await;
            for (policy, is_violated) in evaluate(&self.context.inputs(workload, Duration::ZERO)) {
                let count = counts.entry(policy).or_default();
                count.matched += 1;
                count.violating += u32::from(is_violated);
            }
        }
        counts
    }

    async fn write(&self, write: &StatusWrite) -> Result<(), Error> {
        match write {
            StatusWrite::Apply(policy, status) => {
                self.writer.cluster_status(&self.context.policies, &**policy, status).await.map(drop)
            }
            StatusWrite::Merge { name, patch } => {
                self.writer.patch_cluster_status::<PlatformPolicy>(name, patch).await
            }
        }
    }
}

impl Reconcile for PolicyController {
    type Key = AllPolicies;

    const NAME: &'static str = "policy";

    fn namespace(_: &AllPolicies) -> &'static str {
        ""
    }

    async fn reconcile(&self, _: &AllPolicies) -> Result<Action, Error> {
        if self.context.policies.is_empty() && self.context.policies.invalid().is_empty() {
            return Ok(Action::AwaitChange);
        }
        let counts = self.count().await;
        // Counting takes time: the status is about the policies as they are afterwards.
        let unreadable = self.context.unreadable_policies();
        let now = (self.context.clock)();
        // A failed write does not keep the others from being written.
        let mut failure = None;
        for write in policy::statuses(self.context.policies.all(), &unreadable, &counts, now) {
            let Err(error) = self.write(&write).await else { continue };
            if error.status().is_some_and(|answer| write.is_skipped_after(answer)) {
                tracing::warn!(%error, "an invalid policy cannot be reported in its status");
            } else {
                failure = Some(error);
            }
        }
        failure.map_or(Ok(Action::AwaitChange), Err)
    }
}
