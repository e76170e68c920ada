//! Start order of the containers of a workload, from `before`.
//!
//! The declaring container starts first: `init: {before: {main: {ready: complete}}}` means that `main` starts once
//! `init` is complete. (The description in the official schema says the opposite; the proposal, its tests and both
//! reference tools agree on this direction.)

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    graph::{Dependencies, layers},
    model::{Container, Ready},
};

/// Dependency between two containers.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    /// Container that starts first.
    pub first: String,
    /// Container that waits.
    pub then: String,
    /// State that `first` must reach.
    pub ready: Ready,
}

/// Invalid start order.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StartOrderError {
    /// A container in `before` does not exist.
    #[error("container `{then}` not found (in `before` of container `{first}`)")]
    UnknownContainer {
        /// Declaring container.
        first: String,
        /// Missing container.
        then: String,
    },
    /// A container is in its own `before`.
    #[error("dependency cycle in `before`: {0} → {0}")]
    SelfReference(String),
    /// Dependency cycle; each container waits for the next one.
    #[error("dependency cycle in `before`: {}", before_path(.0))]
    Cycle(Vec<String>),
    /// `ready: healthy` for a container without a probe.
    #[error(
        "missing probe: container `{first}` must be healthy before `{then}` starts, but has no readinessProbe or livenessProbe"
    )]
    ProbeRequired {
        /// Declaring container.
        first: String,
        /// Waiting container.
        then: String,
    },
}

/// Cycle along `before`: each container starts before the next one.
fn before_path(waiting: &[String]) -> String {
    let Some((first, rest)) = waiting.split_first() else { return String::new() };
    let path: Vec<_> =
        [first].into_iter().chain(rest.iter().rev()).chain([first]).map(String::as_str).collect();
    path.join(" → ")
}

/// Start order of containers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StartOrder {
    /// Dependencies, sorted.
    pub edges: Vec<Edge>,
    /// Groups that start together, each after the previous one.
    pub layers: Vec<Vec<String>>,
    /// Main container: the first, by name, without `before`.
    pub primary: Option<String>,
    /// Init containers: every dependent waits for them to complete.
    pub exits: Vec<String>,
}

/// Start order input of one container.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Declaration {
    /// Waiting containers, and the state that each waits for.
    pub before: BTreeMap<String, Ready>,
    /// True if it has a liveness or readiness probe.
    pub has_probe: bool,
}

impl From<&Container> for Declaration {
    fn from(container: &Container) -> Self {
        Self {
            before: container
                .before
                .iter()
                .flatten()
                .map(|(name, before)| (name.clone(), before.ready))
                .collect(),
            has_probe: container.liveness_probe.is_some() || container.readiness_probe.is_some(),
        }
    }
}

/// Computes the start order. Returns all errors at once.
pub fn start_order(containers: &BTreeMap<String, Declaration>) -> Result<StartOrder, Vec<StartOrderError>> {
    let mut errors = Vec::new();
    let mut edges = Vec::new();
    for (first, declaration) in containers {
        for (then, ready) in &declaration.before {
            if first == then {
                errors.push(StartOrderError::SelfReference(first.clone()));
            } else if !containers.contains_key(then) {
                errors.push(StartOrderError::UnknownContainer { first: first.clone(), then: then.clone() });
            } else {
                if *ready == Ready::Healthy && !declaration.has_probe {
                    errors.push(StartOrderError::ProbeRequired { first: first.clone(), then: then.clone() });
                }
                edges.push(Edge { first: first.clone(), then: then.clone(), ready: *ready });
            }
        }
    }
    let mut dependencies: Dependencies<String> =
        containers.keys().map(|name| (name.clone(), BTreeSet::new())).collect();
    for edge in &edges {
        dependencies.entry(edge.then.clone()).or_default().insert(edge.first.clone());
    }
    let layers = layers(&dependencies).unwrap_or_else(|cycles| {
        errors.extend(cycles.into_iter().map(StartOrderError::Cycle));
        Vec::new()
    });
    if !errors.is_empty() {
        return Err(errors);
    }
    Ok(StartOrder {
        edges,
        layers,
        primary: containers.iter().find(|(_, c)| c.before.is_empty()).map(|(name, _)| name.clone()),
        exits: containers
            .iter()
            .filter(|(_, c)| !c.before.is_empty() && c.before.values().all(|ready| *ready == Ready::Complete))
            .map(|(name, _)| name.clone())
            .collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value as Json, json};

    fn order(containers: Json) -> Result<StartOrder, Vec<StartOrderError>> {
        let containers: BTreeMap<String, Container> = serde_json::from_value(containers).unwrap();
        start_order(&containers.iter().map(|(name, container)| (name.clone(), container.into())).collect())
    }

    #[test]
    fn the_declaring_container_starts_first() {
        let order = order(json!({
            "aa-main": {"image": "i"},
            "zz-setup": {"image": "i", "before": {"aa-main": {"ready": "complete"}}},
        }))
        .unwrap();
        assert_eq!(order.layers, [["zz-setup"], ["aa-main"]]);
        assert_eq!(order.primary.as_deref(), Some("aa-main"));
        assert_eq!(order.exits, ["zz-setup"]);
    }

    #[test]
    fn all_errors_are_reported_at_once() {
        let errors = order(json!({
            "aa": {"image": "i", "before": {"aa": {"ready": "started"}, "bb": {"ready": "healthy"}, "ghost": {"ready": "started"}}},
            "bb": {"image": "i", "before": {"aa": {"ready": "started"}}},
            "cc": {"image": "i"},
        }))
        .unwrap_err();
        let errors: Vec<_> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(
            errors,
            [
                "dependency cycle in `before`: aa → aa",
                "missing probe: container `aa` must be healthy before `bb` starts, but has no readinessProbe or livenessProbe",
                "container `ghost` not found (in `before` of container `aa`)",
                "dependency cycle in `before`: aa → bb → aa",
            ]
        );
    }

    #[test]
    fn a_cycle_is_shown_along_before() {
        let errors = order(json!({
            "aa": {"image": "i", "before": {"bb": {"ready": "started"}}},
            "bb": {"image": "i", "before": {"cc": {"ready": "started"}}},
            "cc": {"image": "i", "before": {"aa": {"ready": "started"}}},
        }))
        .unwrap_err();
        assert_eq!(errors[0].to_string(), "dependency cycle in `before`: aa → bb → cc → aa");
    }
}
