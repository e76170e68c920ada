//! Result of applying policies.

use std::collections::{BTreeMap, BTreeSet};

use orchestra_api::{claim::DeprovisionPolicy, plan::Amounts, policy::Mode};
use serde::{Deserialize, Serialize};

/// Result of applying policies to a Workload. Everything in it is sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PolicyOutcome {
    /// Effective settings.
    pub effective: Effective,
    /// Violations that block it, by pointer.
    pub violations: Vec<Violation>,
    /// Violations of policies that are not enforced.
    pub audited: Vec<Violation>,
    /// Invalid annotations of the author.
    pub invalid: Vec<Invalid>,
    /// All settings with their sources.
    pub explanation: Vec<Setting>,
    /// Faults of policies.
    pub faults: Vec<Fault>,
    /// Policies that may select it and cannot be applied, since they have faults and were never accepted. It is not admitted because
    /// of those that are enforced.
    pub left_out: BTreeMap<String, Mode>,
}

/// Settings of a Workload, with the defaults of policies.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Effective {
    /// Default profile and its policy; absent if the author names a profile.
    pub profile: Option<(String, String)>,
    /// Profiles that every enforced policy allows; all if absent.
    pub allowed_profiles: Option<BTreeSet<String>>,
    /// Allowed profiles of policies that are not enforced, by policy.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub audited_profiles: BTreeMap<String, BTreeSet<String>>,
    /// Requests and limits, by container.
    pub compute: BTreeMap<String, Compute>,
    /// Classes, by resource.
    pub classes: BTreeMap<String, String>,
    /// Deprovision policies, by resource.
    pub deprovision: BTreeMap<String, DeprovisionPolicy>,
    /// Annotations of the Score document, with defaults.
    pub annotations: BTreeMap<String, String>,
}

/// Requests and limits of a container.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compute {
    /// Requests.
    pub requests: Amounts,
    /// Limits.
    pub limits: Amounts,
}

/// Violation of a policy.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Violation {
    /// Name of the policy.
    pub policy: String,
    /// JSON pointer into the Score document.
    pub pointer: String,
    /// Sentence with the remedy.
    pub message: String,
}

/// Invalid annotation of the author.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Invalid {
    /// JSON pointer into the Score document.
    pub pointer: String,
    /// Sentence with the remedy.
    pub message: String,
}

/// Value of a field, and its source.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Setting {
    /// JSON pointer into the Score document, or a field of policies such as `limits.cpu`.
    pub field: String,
    /// Value.
    pub value: String,
    /// Source.
    pub source: Source,
    /// Other values of policies, in order of precedence.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overridden: Vec<Overridden>,
    /// Reason why the value differs from that of its source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Source of a value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Source {
    /// The author of the Workload.
    Author,
    /// An existing claim.
    Existing,
    /// The policy of this name.
    Policy(String),
    /// Built-in default.
    BuiltIn,
}

/// Value of a policy that was overridden.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Overridden {
    /// Name of the policy.
    pub policy: String,
    /// Value.
    pub value: String,
}

/// Fault of a policy.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Fault {
    /// Name of the policy.
    pub policy: String,
    /// Field of its spec, such as `limits.cpu`.
    pub field: String,
    /// Sentence with the remedy.
    pub message: String,
}

/// Verdict of one policy about a Workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Name of the policy.
    pub policy: String,
    /// Violations.
    pub violations: Vec<Violation>,
    /// Allowed profiles; all if absent. The profile of the Workload is chosen with its placement.
    pub profiles: Option<BTreeSet<String>>,
}
