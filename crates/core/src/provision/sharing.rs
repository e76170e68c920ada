//! Sharing by id: whoever asks for an instance that others hold must ask for the same thing. Whoever came first is
//! served on; a newcomer that disagrees is told on what, and with whom.

use std::collections::BTreeMap;

use orchestra_api::ResourceClaim;
use serde_json::{Map, Value as Json};

use super::{Decision, Engine, failed, is_served, name_of};

/// Those that are served come first, then the oldest, then the first by name.
pub(super) fn seniority(claim: &ResourceClaim) -> (bool, Option<String>, String) {
    let is_bound = is_served(claim);
    let age = claim.metadata.creation_timestamp.as_ref().map(|time| time.0.to_string());
    (!is_bound, age, name_of(claim))
}

/// The claims that agree, and the parameters and metadata of all of them together. The others fail.
pub(super) fn agree<'a>(
    claims: &[&'a ResourceClaim],
    engine: Engine,
    decision: &mut Decision,
) -> (Vec<&'a ResourceClaim>, Map<String, Json>, Map<String, Json>) {
    let mut params = Shared { part: "params", values: None, extra: engine.additive };
    let mut metadata = Shared { part: "metadata", values: None, extra: false };
    let mut sharers = Vec::new();
    for claim in claims {
        let clash = params
            .clash(claim, claim.spec.params.as_ref())
            .or_else(|| metadata.clash(claim, claim.spec.metadata.as_ref()));
        match clash {
            Some(message) => {
                decision.statuses.insert(name_of(claim), failed(claim, &message));
            }
            None => sharers.push(*claim),
        }
    }
    (sharers, params.together(), metadata.together())
}

/// Values by key, each with the Workload that gave it first.
type Given<'a> = BTreeMap<String, (&'a str, Json)>;

/// What sharers have said so far, and who said it first.
struct Shared<'a> {
    part: &'static str,
    values: Option<(&'a str, Given<'a>)>,
    /// Whether more may be said.
    extra: bool,
}

impl<'a> Shared<'a> {
    /// What all of them said.
    fn together(self) -> Map<String, Json> {
        let values = self.values.map(|(_, values)| values).into_iter().flatten();
        values.map(|(key, (_, value))| (key, value)).collect()
    }

    /// On what a claim disagrees with those before it; otherwise its own words are added.
    fn clash(&mut self, claim: &'a ResourceClaim, given: Option<&Map<String, Json>>) -> Option<String> {
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
                "The shared resource `{id}` is held by workload `{holder}` with another `{key}` in its {}: use the same, or another id.",
                self.part
            ));
        }
        for (key, value) in given {
            known.entry(key.clone()).or_insert_with(|| (workload, value.clone()));
        }
        None
    }
}
