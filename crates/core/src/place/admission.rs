//! Admission of a Workload to a backend, with objections.
//!
//! A backend must offer every required feature, and may offer more.

use std::fmt;

use orchestra_score::quantity::Quantity;
use serde::{Deserialize, Serialize};

use super::Request;
use crate::{
    config::Backend,
    range::{Measure, Outside, Range},
};

/// Reason why a backend does not accept a Workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Objection {
    /// Violated constraint.
    pub constraint: Constraint,
    /// Part of a sentence.
    pub message: String,
}

/// Constraint of a backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Constraint {
    /// Labels of the Workload.
    Selectors,
    /// Required features.
    Features,
    /// Required region.
    Regions,
    /// Requested CPU.
    Cpu,
    /// Requested memory.
    Memory,
}

impl fmt::Display for Objection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// All objections of a backend to a Workload.
pub(super) fn objections(backend: &Backend, request: &Request<'_>) -> Vec<Objection> {
    [
        selectors(backend, request).map(|message| (Constraint::Selectors, message)),
        features(backend, request).map(|message| (Constraint::Features, message)),
        region(backend, request).map(|message| (Constraint::Regions, message)),
        size(backend.cpu.as_ref(), Measure::Cpu, request.cpu).map(|message| (Constraint::Cpu, message)),
        size(backend.memory.as_ref(), Measure::Memory, request.memory)
            .map(|message| (Constraint::Memory, message)),
    ]
    .into_iter()
    .flatten()
    .map(|(constraint, message)| Objection { constraint, message })
    .collect()
}

fn selectors(backend: &Backend, request: &Request<'_>) -> Option<String> {
    let matches = backend.selectors.is_empty()
        || backend.selectors.iter().any(|selector| selector.matches(request.labels));
    (!matches).then(|| "its selectors do not match the labels of the workload".to_owned())
}

fn features(backend: &Backend, request: &Request<'_>) -> Option<String> {
    let missing: Vec<&str> = request.requirements.difference(&backend.features).map(String::as_str).collect();
    (!missing.is_empty()).then(|| format!("it does not offer {}", missing.join(", ")))
}

fn region(backend: &Backend, request: &Request<'_>) -> Option<String> {
    let region = request.region.filter(|region| !backend.regions.contains(*region))?;
    if backend.regions.is_empty() {
        return Some(format!("it has no region, the workload requires {region}"));
    }
    let regions: Vec<&str> = backend.regions.iter().map(String::as_str).collect();
    Some(format!("it is in {}, the workload requires {region}", regions.join(", ")))
}

fn size(range: Option<&Range>, measure: Measure, requested: Quantity) -> Option<String> {
    let requests = if requested == Quantity::ZERO {
        "the workload requests none".to_owned()
    } else {
        format!("the workload requests {}", measure.show(requested))
    };
    Some(match range?.misses(requested)? {
        Outside::Below(least) => format!("it requires at least {least} {measure}, {requests}"),
        Outside::Above(most) => format!("it accepts at most {most} {measure}, {requests}"),
    })
}
