//! Invariants of plans, checked in debug builds and tests: a violation is a bug of the orchestrator.

use std::collections::BTreeSet;

use orchestra_api::plan::{ExposureTarget, FileContent, Segment, WorkloadPlanSpec};

use crate::revision;

/// Invariants that a plan violates.
pub fn lint(plan: &WorkloadPlanSpec) -> Vec<String> {
    let mut broken = Vec::new();
    let mut rule = |holds: bool, message: String| {
        if !holds {
            broken.push(message);
        }
    };
    rule(plan.revision == revision::of(plan), "the revision does not match the content".to_owned());
    rule(!plan.containers.is_empty(), "no containers".to_owned());
    for (field, value) in [
        ("workloadRef.name", &plan.workload_ref.name),
        ("workloadRef.uid", &plan.workload_ref.uid),
        ("runtimeClass", &plan.runtime_class),
        ("backendId", &plan.backend_id),
        ("profile", &plan.profile),
    ] {
        rule(!value.is_empty(), format!("{field} is empty"));
    }
    let keys: BTreeSet<&str> = plan.claims.iter().map(|claim| claim.key.as_str()).collect();
    rule(keys.len() == plan.claims.len(), "duplicate claim".to_owned());
    rule(plan.claims.is_sorted_by(|a, b| a.key < b.key), "claims are not in order".to_owned());
    rule(plan.requirements.is_sorted(), "requirements are not in order".to_owned());
    for (name, container) in &plan.containers {
        let files = container.files.values().filter_map(|file| match &file.content {
            FileContent::Text(text) => Some(text),
            FileContent::Binary(_) => None,
        });
        let named =
            container.volumes.values().map(|volume| &volume.source).filter(|source| !source.is_empty());
        for text in container.variables.values().chain(files).chain(named) {
            rule(!text.is_empty(), format!("a text of `{name}` has no segments"));
            let literals =
                text.windows(2).any(|pair| matches!(pair, [Segment::Literal(_), Segment::Literal(_)]));
            rule(!literals, format!("a text of `{name}` has two literals side by side"));
            for segment in text {
                if let Segment::ClaimOutput(output) = segment {
                    rule(
                        keys.contains(output.claim.as_str()),
                        format!("`{name}` uses the claim `{}`, which is not listed", output.claim),
                    );
                }
            }
        }
        for volume in container.volumes.values() {
            rule(
                volume.claim.as_deref().is_none_or(|key| keys.contains(key)),
                format!("`{name}` mounts a claim that is not listed"),
            );
            rule(
                volume.claim.is_some() || !volume.source.is_empty(),
                format!("a volume of `{name}` has no source"),
            );
        }
        for waiting in container.before.keys() {
            rule(
                plan.containers.contains_key(waiting),
                format!("`{waiting}` waits for `{name}` and does not exist"),
            );
        }
    }
    for exposure in &plan.exposures {
        match &exposure.target {
            ExposureTarget::Port(port) => {
                rule(plan.ports.contains_key(port), format!("the exposed port `{port}` does not exist"));
            }
            ExposureTarget::ClaimKey(key) => {
                rule(keys.contains(key.as_str()), format!("the exposed route `{key}` is not listed"));
            }
        }
    }
    let priorities: BTreeSet<i32> = plan.exposures.iter().map(|exposure| exposure.priority).collect();
    rule(priorities.len() == plan.exposures.len(), "two exposures have the same priority".to_owned());
    broken
}
