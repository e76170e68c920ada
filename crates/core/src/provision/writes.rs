//! Writes of a decision about an instance, in crash-safe order.

use std::collections::BTreeMap;

use orchestra_api::{ResourceClaim, annotation, claim::ResourceClaimStatus};

use super::{Decision, Inputs, Release, Report, name_of};

/// One write of a decision, or of its report.
#[derive(Clone, Debug, PartialEq)]
pub enum Write<'a> {
    /// Write the status of a claim.
    Status(&'a ResourceClaim, &'a ResourceClaimStatus),
    /// Add the finalizer and these annotations to a claim.
    AddFinalizer(&'a ResourceClaim, BTreeMap<&'static str, &'a str>),
    /// Remove the finalizer of a claim.
    RemoveFinalizer(&'a ResourceClaim),
}

impl Decision {
    /// Writes before the work. Finalizers are removed after the claims that stay have theirs: one of them has to release the
    /// instance one day.
    pub fn writes<'a>(&'a self, inputs: &'a Inputs) -> Vec<Write<'a>> {
        let mut writes = Vec::new();
        for claim in &inputs.claims {
            let name = name_of(claim);
            writes.extend(status(claim, self.statuses.get(&name)));
            let engine = self.add_finalizer.get(&name).map(String::as_str);
            writes
                .extend(engine.map(|engine| {
                    Write::AddFinalizer(claim, BTreeMap::from([(annotation::ENGINE, engine)]))
                }));
        }
        let released = inputs.claims.iter().filter(|claim| self.remove_finalizer.contains(&name_of(claim)));
        writes.extend(released.map(Write::RemoveFinalizer));
        writes
    }
}

impl Release {
    /// Writes before the release: its start is recorded.
    pub fn writes<'a>(&'a self, inputs: &'a Inputs) -> Vec<Write<'a>> {
        let record =
            BTreeMap::from([(annotation::ENGINE, self.engine.as_str()), (annotation::RELEASING, "true")]);
        let started = inputs.claims.iter().filter(|claim| self.start.contains(&name_of(claim)));
        started.map(|claim| Write::AddFinalizer(claim, record.clone())).collect()
    }
}

impl Report {
    /// Writes after the work.
    pub fn writes<'a>(&'a self, inputs: &'a Inputs) -> Vec<Write<'a>> {
        let mut writes = Vec::new();
        for claim in &inputs.claims {
            let name = name_of(claim);
            writes.extend(status(claim, self.statuses.get(&name)));
            if self.remove_finalizer.contains(&name) {
                writes.push(Write::RemoveFinalizer(claim));
            }
        }
        writes
    }
}

/// Write of a status, unless it is stored already.
fn status<'a>(claim: &'a ResourceClaim, status: Option<&'a ResourceClaimStatus>) -> Option<Write<'a>> {
    let changed = status.filter(|status| claim.status.as_ref() != Some(*status));
    changed.map(|status| Write::Status(claim, status))
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, sync::Arc};

    use orchestra_api::claim::Phase;
    use serde_json::{from_value, json};

    use super::*;
    use crate::config::Config;

    fn claim(name: &str, phase: Phase) -> ResourceClaim {
        let claim = json!({
            "apiVersion": "score.dev/v1b1", "kind": "ResourceClaim", "metadata": {"name": name},
            "spec": {
                "workloadRef": {"name": "web", "uid": "u"}, "key": "db", "type": "postgres", "class": "default",
                "placement": {"runtimeClass": "x", "backendId": "y"}, "deprovisionPolicy": "Delete",
            },
            "status": {"phase": phase},
        });
        from_value(claim).unwrap()
    }

    #[test]
    fn finalizers_are_removed_last_and_a_stored_status_is_not_written_again() {
        let inputs = Inputs {
            namespace: "default".to_owned(),
            instance: "i".to_owned(),
            claims: vec![claim("going", Phase::Bound), claim("staying", Phase::Pending)],
            in_use: BTreeSet::new(),
            config: Arc::new(Config::builtin()),
            engines: BTreeMap::new(),
        };
        let failed = ResourceClaimStatus { phase: Phase::Failed, ..ResourceClaimStatus::default() };
        let stored = inputs.claims[0].status.clone().unwrap();
        let decision = Decision {
            add_finalizer: [("staying".to_owned(), "static".to_owned())].into(),
            statuses: [("going".to_owned(), stored), ("staying".to_owned(), failed.clone())].into(),
            remove_finalizer: vec!["going".to_owned()],
            ..Decision::default()
        };
        let [going, staying] = inputs.claims.as_slice() else { panic!("two claims") };
        assert_eq!(
            decision.writes(&inputs),
            [
                Write::Status(staying, &failed),
                Write::AddFinalizer(staying, [(annotation::ENGINE, "static")].into()),
                Write::RemoveFinalizer(going),
            ]
        );
    }
}
