//! What comes of applying policies.

use std::collections::{BTreeMap, BTreeSet};

use orchestra_api::{claim::DeprovisionPolicy, plan::Amounts};
use serde::{Deserialize, Serialize};

/// What comes of applying policies to a Workload. Everything in it is sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    /// What holds for the Workload.
    pub effective: Effective,
    /// What blocks it, by the place in its document.
    pub violations: Vec<Violation>,
    /// What would block it if the policy were enforced.
    pub audited: Vec<Violation>,
    /// What the author wrote for the platform that it cannot read.
    pub invalid: Vec<Invalid>,
    /// Everything that was decided, and by whom.
    pub explanation: Vec<Setting>,
    /// What is wrong with policies.
    pub faults: Vec<Fault>,
    /// The policies that were left out, since they have faults and were never accepted.
    pub left_out: BTreeSet<String>,
}

/// What holds for a Workload once policies have filled in what the author left open.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Effective {
    /// The default profile and the policy that gives it; absent where the author names a profile.
    pub profile: Option<(String, String)>,
    /// The profiles that every enforced policy allows; all if absent.
    pub allowed_profiles: Option<BTreeSet<String>>,
    /// The profiles that policies which are not enforced would allow, by policy.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub audited_profiles: BTreeMap<String, BTreeSet<String>>,
    /// Amounts, by container.
    pub compute: BTreeMap<String, Compute>,
    /// Classes, by resource.
    pub classes: BTreeMap<String, String>,
    /// What becomes of resources that are no longer wanted, by resource.
    pub deprovision: BTreeMap<String, DeprovisionPolicy>,
    /// The annotations of the Score document, completed.
    pub annotations: BTreeMap<String, String>,
}

/// What a container needs, and what it may use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compute {
    /// The least it needs.
    pub requests: Amounts,
    /// The most it may use.
    pub limits: Amounts,
}

/// Something that a policy forbids.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Violation {
    /// The policy.
    pub policy: String,
    /// The place in the Score document, as a JSON pointer.
    pub pointer: String,
    /// What is wrong and what to do, in a sentence.
    pub message: String,
}

/// Something the author wrote for the platform that it cannot read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Invalid {
    /// The place in the Score document, as a JSON pointer.
    pub pointer: String,
    /// What is wrong and what to do, in a sentence.
    pub message: String,
}

/// One field that was decided, and by whom.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Setting {
    /// A JSON pointer into the Score document, or a field of policies such as `limits.cpu`.
    pub field: String,
    /// What holds.
    pub value: String,
    /// Who said so.
    pub source: Source,
    /// What policies said otherwise, the first in order first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overridden: Vec<Overridden>,
    /// Why it is not what its source said, where that is so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Who decided a field.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Source {
    /// The author of the Workload.
    Author,
    /// What exists already.
    Existing,
    /// The policy of this name.
    Policy(String),
    /// Nobody: it is always so.
    BuiltIn,
}

/// What a policy said in vain.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Overridden {
    /// The policy.
    pub policy: String,
    /// What it said.
    pub value: String,
}

/// Why a policy cannot be applied.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Fault {
    /// The policy.
    pub policy: String,
    /// The field of its spec, such as `limits.cpu`.
    pub field: String,
    /// What is wrong and what to do, in a sentence.
    pub message: String,
}

/// What one policy makes of a Workload, whatever others say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The policy.
    pub policy: String,
    /// Where the Workload violates it.
    pub violations: Vec<Violation>,
    /// The profiles that it allows; all if absent. Which one the Workload gets is decided with its place.
    pub profiles: Option<BTreeSet<String>>,
}
