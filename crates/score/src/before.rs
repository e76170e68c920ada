//! The order in which the containers of a workload start.
//!
//! The declaring container goes first: `init: {before: {main: {ready: complete}}}` means that `main` starts once
//! `init` is complete. (The description in the official schema reads the other way round; the proposal, its
//! tests and both tools agree on this direction.)

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    graph::{Needs, layers},
    model::{Container, Ready},
};

/// One container waits for another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    /// The one that goes first.
    pub first: String,
    /// The one that waits.
    pub then: String,
    /// What `first` must have reached.
    pub ready: Ready,
}

/// Why there is no order.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BeforeError {
    /// A container that does not exist.
    #[error("container `{first}` goes before `{then}`, which does not exist")]
    UnknownContainer {
        /// The declaring container.
        first: String,
        /// The one that does not exist.
        then: String,
    },
    /// A container before itself.
    #[error("container `{0}` goes before itself")]
    SelfReference(String),
    /// Containers wait for each other, each for the next.
    #[error("containers wait for each other: {} for {}", .0.join(" for "), .0.first().map_or("", String::as_str))]
    Cycle(Vec<String>),
    /// Nothing tells when the container is healthy.
    #[error("container `{first}` must be healthy before `{then}` starts, but has no probe")]
    ProbeRequired {
        /// The declaring container.
        first: String,
        /// The one that waits.
        then: String,
    },
}

/// The order of containers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StartOrder {
    /// Who waits for whom, sorted.
    pub edges: Vec<Edge>,
    /// Groups that can start together, each after the ones before it.
    pub layers: Vec<Vec<String>>,
    /// The container that stands for the workload: the first, by name, that goes before nobody.
    pub primary: Option<String>,
    /// Containers that all others expect to end.
    pub exits: Vec<String>,
}

/// What a container says about its place in the order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Declaration {
    /// Who waits for it, and for what.
    pub before: BTreeMap<String, Ready>,
    /// Whether anything tells when it is healthy.
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

/// Decides the order. All errors come at once.
pub fn start_order(containers: &BTreeMap<String, Declaration>) -> Result<StartOrder, Vec<BeforeError>> {
    let mut errors = Vec::new();
    let mut edges = Vec::new();
    for (first, declaration) in containers {
        for (then, ready) in &declaration.before {
            if first == then {
                errors.push(BeforeError::SelfReference(first.clone()));
            } else if !containers.contains_key(then) {
                errors.push(BeforeError::UnknownContainer { first: first.clone(), then: then.clone() });
            } else {
                if *ready == Ready::Healthy && !declaration.has_probe {
                    errors.push(BeforeError::ProbeRequired { first: first.clone(), then: then.clone() });
                }
                edges.push(Edge { first: first.clone(), then: then.clone(), ready: *ready });
            }
        }
    }
    let mut needs: Needs<String> = containers.keys().map(|name| (name.clone(), BTreeSet::new())).collect();
    for edge in &edges {
        needs.entry(edge.then.clone()).or_default().insert(edge.first.clone());
    }
    let layers = layers(&needs).unwrap_or_else(|circles| {
        errors.extend(circles.into_iter().map(BeforeError::Cycle));
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

    fn order(containers: Json) -> Result<StartOrder, Vec<BeforeError>> {
        let containers: BTreeMap<String, Container> = serde_json::from_value(containers).unwrap();
        start_order(&containers.iter().map(|(name, container)| (name.clone(), container.into())).collect())
    }

    #[test]
    fn the_declaring_container_goes_first() {
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
    fn everything_that_is_wrong_is_said_at_once() {
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
                "container `aa` goes before itself",
                "container `aa` must be healthy before `bb` starts, but has no probe",
                "container `aa` goes before `ghost`, which does not exist",
                "containers wait for each other: aa for bb for aa",
            ]
        );
    }
}
