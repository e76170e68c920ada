//! Sharing by id: all claims of an instance must request the same. The first claim wins; a later one that differs fails
//! with the difference and the other Workload.

use std::collections::BTreeMap;

use orchestra_api::ResourceClaim;
use serde_json::{Map, Value as Json};

use super::{Decision, Engine, failed, name_of};
use crate::claim_state;

/// Order of precedence: bound claims, then the oldest, then by name.
pub(super) fn seniority(claim: &ResourceClaim) -> (bool, Option<String>, String) {
    let is_bound = claim_state::is_bound(claim);
    let age = claim.metadata.creation_timestamp.as_ref().map(|time| time.0.to_string());
    (!is_bound, age, name_of(claim))
}

/// Claims that agree, with their merged parameters and metadata. The others fail.
pub(super) fn agree<'a>(
    claims: &[&'a ResourceClaim],
    engine: Engine,
    decision: &mut Decision,
) -> (Vec<&'a ResourceClaim>, Map<String, Json>, Map<String, Json>) {
    let mut params = Shared { part: "params", values: None, extra: engine.additive };
    let mut metadata = Shared { part: "metadata", values: None, extra: false };
    let mut sharers = Vec::new();
    for claim in claims {
        let conflict = params
            .conflict(claim, claim.spec.params.as_ref())
            .or_else(|| metadata.conflict(claim, claim.spec.metadata.as_ref()));
        match conflict {
            Some(message) => {
                decision.statuses.insert(name_of(claim), failed(claim, &message));
            }
            None => sharers.push(*claim),
        }
    }
    (sharers, params.merged(), metadata.merged())
}

/// Values by key, each with the first Workload that sets it.
type Given<'a> = BTreeMap<String, (&'a str, Json)>;

/// Merged values of the claims so far, and the first Workload.
struct Shared<'a> {
    part: &'static str,
    values: Option<(&'a str, Given<'a>)>,
    /// True if later claims may add keys.
    extra: bool,
}

impl<'a> Shared<'a> {
    /// Merged values.
    fn merged(self) -> Map<String, Json> {
        let values = self.values.map(|(_, values)| values).into_iter().flatten();
        values.map(|(key, (_, value))| (key, value)).collect()
    }

    /// Conflict of a claim with those before it; without one, its values are added.
    fn conflict(&mut self, claim: &'a ResourceClaim, given: Option<&Map<String, Json>>) -> Option<String> {
        let given = given?;
        let workload = claim.spec.workload_ref.name.as_str();
        let Some((first, known)) = &mut self.values else {
            let own = given.iter().map(|(key, value)| (key.clone(), (workload, value.clone()))).collect();
            self.values = Some((workload, own));
            return None;
        };
        let different = given.iter().find_map(|(key, value)| match known.get(key) {
            Some((holder, held)) if held != value => Some((key, *holder)),
            None if !self.extra => Some((key, *first)),
            _ => None,
        });
        let missing =
            || known.keys().find(|key| !self.extra && !given.contains_key(*key)).map(|key| (key, *first));
        if let Some((key, holder)) = different.or_else(missing) {
            let id = claim.spec.id.as_deref().unwrap_or_default();
            return Some(format!(
                "The shared resource `{id}` is already used by workload `{holder}` with a different `{key}` in its {}: use the same value, or another id.",
                self.part
            ));
        }
        for (key, value) in given {
            known.entry(key.clone()).or_insert_with(|| (workload, value.clone()));
        }
        None
    }
}
