//! Start order of containers, with init containers and sidecars.
//!
//! Containers that others wait for start one after the other, before all others: one that must complete is an init
//! container; one that must be started or healthy is a sidecar, and the next one starts when it runs, or when its startup
//! probe succeeds. A container cannot be both.

use orchestra_api::plan::WorkloadPlanSpec;
use orchestra_score::{
    model::Ready,
    start_order::{Declaration, start_order},
};

/// Role of a container in the start order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// It starts after all others.
    Main,
    /// It completes before the next one starts.
    Once,
    /// The next one starts when it runs.
    Started,
    /// The next one starts when its probe succeeds.
    Healthy,
}

/// Containers in start order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Order {
    /// Containers that others wait for.
    pub(super) first: Vec<(String, Role)>,
    /// All others, by name. The first one lists the ports.
    pub(super) main: Vec<String>,
}

/// Start order, or why it is not supported.
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
                "`containers.{name}.before` must have one state for all: the container cannot complete for some and keep running for others."
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
                "`containers.{name}.{probe}` has no effect, since others wait until the container has completed: remove it."
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

/// Role of a container, by the states that others wait for; `None` if they conflict.
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
