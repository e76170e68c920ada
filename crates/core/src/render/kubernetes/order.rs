//! The order of start, in what a cluster has for it.
//!
//! Containers that others wait for are started one after the other, before all others: one that must be complete runs
//! to its end there; one that must be started or healthy keeps running beside the others, and the next one starts when
//! it runs, or when its check succeeds. A container cannot be both.

use orchestra_api::plan::WorkloadPlanSpec;
use orchestra_score::{
    before::{Declaration, start_order},
    model::Ready,
};

/// What a container does in the order of start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// It starts when all others have done what is waited for.
    Main,
    /// It runs to its end before the next one starts.
    Once,
    /// The next one starts when it runs.
    Started,
    /// The next one starts when its check succeeds.
    Healthy,
}

/// The containers in the order in which they start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Order {
    /// Those that others wait for.
    pub(super) first: Vec<(String, Role)>,
    /// All others, by name. The first stands for the Workload.
    pub(super) main: Vec<String>,
}

/// The order of start, or why there is none here.
pub(super) fn order(plan: &WorkloadPlanSpec) -> Result<Order, Vec<String>> {
    let declarations = plan.containers.iter().map(|(name, container)| {
        let has_probe = container.liveness_probe.is_some() || container.readiness_probe.is_some();
        (name.clone(), Declaration { before: container.before.clone(), has_probe })
    });
    let sentence = |error: &dyn std::fmt::Display| format!("`containers` cannot be started: {error}.");
    let start = start_order(&declarations.collect())
        .map_err(|errors| errors.iter().map(|error| sentence(error)).collect::<Vec<_>>())?;
    let mut order = Order::default();
    let mut lacks = Vec::new();
    for name in start.layers.into_iter().flatten() {
        let Some(container) = plan.containers.get(&name) else { continue };
        let Some(role) = role(container.before.values().copied()) else {
            lacks.push(format!(
                "`containers.{name}.before` must name one state for all: it cannot have ended for some containers and go on for others."
            ));
            continue;
        };
        let probe = match (role, &container.liveness_probe, &container.readiness_probe) {
            (Role::Once, Some(_), _) => Some("livenessProbe"),
            (Role::Once, None, Some(_)) => Some("readinessProbe"),
            _ => None,
        };
        if let Some(probe) = probe {
            lacks.push(format!(
                "`containers.{name}.{probe}` cannot be checked, since others wait until the container has ended: remove it."
            ));
        }
        match role {
            Role::Main => order.main.push(name),
            role => order.first.push((name, role)),
        }
    }
    order.main.sort();
    if lacks.is_empty() { Ok(order) } else { Err(lacks) }
}

/// What a container does, by what others wait for in it; nothing if they disagree.
fn role(awaited: impl Iterator<Item = Ready>) -> Option<Role> {
    awaited.map(of).try_fold(Role::Main, |role, next| match (role, next) {
        (Role::Main, next) => Some(next),
        (Role::Once, Role::Once) => Some(Role::Once),
        (Role::Once, _) | (_, Role::Once) => None,
        (Role::Started, Role::Started) => Some(Role::Started),
        _ => Some(Role::Healthy),
    })
}

fn of(ready: Ready) -> Role {
    match ready {
        Ready::Complete => Role::Once,
        Ready::Started => Role::Started,
        Ready::Healthy => Role::Healthy,
    }
}
