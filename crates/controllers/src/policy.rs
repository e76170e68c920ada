//! The policy controller: says of each policy whether it can be applied, and how many Workloads it concerns.
//!
//! It looks at all Workloads at once, so it is woken at leisure: the counts are for people.

use std::{collections::BTreeMap, fmt};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{
    Api, Client, ResourceExt,
    api::{Patch, PatchParams},
};
use orchestra_api::{PlatformPolicy, policy::PlatformPolicyStatus};
use orchestra_core::{judge, policy};
use serde_json::json;

use crate::{
    denial,
    work::{Failure, Next, Reconcile},
    world::World,
};

/// All policies together: what one fills in may satisfy another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AllPolicies;

impl fmt::Display for AllPolicies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("all policies")
    }
}

/// How many Workloads a policy is about.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    /// It selects them.
    matched: u32,
    /// It selects them, and they violate it.
    violating: u32,
}

/// The policy controller.
pub struct PolicyController {
    world: World,
    client: Client,
}

impl fmt::Debug for PolicyController {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PolicyController")
    }
}

impl PolicyController {
    /// A controller of this world.
    pub fn new(world: World, client: Client) -> Self {
        Self { world, client }
    }

    /// How many Workloads each policy concerns, by its name: looked at as the workload controller looks at them.
    async fn count(&self) -> BTreeMap<String, Count> {
        let mut counts: BTreeMap<String, Count> = BTreeMap::new();
        for workload in self.world.workloads.all() {
            // Each is a whole decision: others come first.
            tokio::task::yield_now().await;
            for (policy, is_violated) in judge(&self.world.inputs(workload)) {
                let count = counts.entry(policy).or_default();
                count.matched += 1;
                count.violating += u32::from(is_violated);
            }
        }
        counts
    }

    async fn say(&self, policy: &PlatformPolicy, status: &PlatformPolicyStatus) -> Result<(), Failure> {
        if policy.status.as_ref() == Some(status) {
            return Ok(());
        }
        let patch = json!({
            "apiVersion": orchestra_api::API_VERSION, "kind": "PlatformPolicy",
            "metadata": {"name": policy.name_any(), "uid": policy.uid()}, "status": status,
        });
        let api: Api<PlatformPolicy> = Api::all(self.client.clone());
        let params = PatchParams::apply("score.dev/policy").force();
        match api.patch_status(&policy.name_any(), &params, &Patch::Apply(patch)).await {
            Ok(written) => {
                self.world.policies.wrote(&written);
                Ok(())
            }
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            Err(error) => Err(denial::failure(&error)),
        }
    }

    fn status(&self, policy: &PlatformPolicy, count: Count) -> PlatformPolicyStatus {
        let faults = policy::check(policy);
        let (status, reason, message) = match faults.first() {
            None => ("True", "Accepted", "The policy is in force.".to_owned()),
            Some(fault) => {
                let message =
                    format!("`{}`: {} The last good version stays in force.", fault.field, fault.message);
                ("False", "Malformed", message)
            }
        };
        let previous = policy.status.iter().flat_map(|status| &status.conditions);
        let since = previous
            .filter(|condition| condition.type_ == ACCEPTED && condition.status == status)
            .map(|condition| condition.last_transition_time.clone())
            .next();
        let kept = policy.status.as_ref().and_then(|status| status.in_force.clone());
        PlatformPolicyStatus {
            in_force: if faults.is_empty() { Some(Box::new(policy.spec.clone())) } else { kept },
            conditions: vec![Condition {
                type_: ACCEPTED.to_owned(),
                status: status.to_owned(),
                reason: reason.to_owned(),
                message,
                observed_generation: policy.metadata.generation,
                last_transition_time: since.unwrap_or_else(|| Time((self.world.clock)())),
            }],
            matched: count.matched,
            violating: count.violating,
            observed_generation: policy.metadata.generation,
        }
    }
}

/// The condition of a policy.
const ACCEPTED: &str = "Accepted";

impl Reconcile for PolicyController {
    type Key = AllPolicies;

    const NAME: &'static str = "policy";

    fn namespace(_: &AllPolicies) -> &'static str {
        ""
    }

    async fn reconcile(&self, _: &AllPolicies) -> Result<Next, Failure> {
        if self.world.policies.is_empty() {
            return Ok(Next::AwaitChange);
        }
        let counts = self.count().await;
        // Counting takes its time: what is said is said of the policies as they are then.
        let policies = self.world.policies.all();
        // One that cannot be told does not keep the others from being told.
        let mut failure = None;
        for policy in &policies {
            let count = counts.get(&policy.name_any()).copied().unwrap_or_default();
            if let Err(error) = self.say(policy, &self.status(policy, count)).await {
                failure = Some(error);
            }
        }
        failure.map_or(Ok(Next::AwaitChange), Err)
    }
}
