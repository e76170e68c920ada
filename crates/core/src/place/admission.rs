//! Whether a backend takes a Workload, and if not, why.
//!
//! The Workload asks and the backend offers: it must offer every feature that is asked for, and may offer more.

use std::fmt;

use orchestra_score::quantity::Quantity;
use serde::Serialize;

use super::Request;
use crate::{
    config::Backend,
    range::{Measure, Outside, Range},
};

/// Why a backend does not take a Workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Objection {
    /// The constraint that does not hold.
    pub constraint: Constraint,
    /// Why it does not, in a few words.
    pub message: String,
}

/// What a backend can make conditions about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Constraint {
    /// The labels of the Workload.
    Selectors,
    /// The features it asks for.
    Features,
    /// The region it asks for.
    Regions,
    /// The processor time it asks for.
    Cpu,
    /// The memory it asks for.
    Memory,
}

impl fmt::Display for Objection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Everything that keeps a Workload from a backend.
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
    let takes = backend.selectors.is_empty()
        || backend.selectors.iter().any(|selector| selector.matches(request.labels));
    (!takes)
        .then(|| "it takes workloads by label, and none of its selectors matches the workload's".to_owned())
}

fn features(backend: &Backend, request: &Request<'_>) -> Option<String> {
    let missing: Vec<&str> = request.requirements.difference(&backend.features).map(String::as_str).collect();
    (!missing.is_empty()).then(|| format!("it does not offer {}", missing.join(", ")))
}

fn region(backend: &Backend, request: &Request<'_>) -> Option<String> {
    let region = request.region.filter(|region| !backend.regions.contains(*region))?;
    if backend.regions.is_empty() {
        return Some(format!("it is in no region, and the workload asks for {region}"));
    }
    let regions: Vec<&str> = backend.regions.iter().map(String::as_str).collect();
    Some(format!("it is in {}, and the workload asks for {region}", regions.join(", ")))
}

fn size(range: Option<&Range>, measure: Measure, asked: Quantity) -> Option<String> {
    let asks = if asked == Quantity::ZERO {
        "the workload asks for none".to_owned()
    } else {
        format!("the workload asks for {}", measure.show(asked))
    };
    Some(match range?.misses(asked)? {
        Outside::Below(least) => format!("needs at least {least} {measure}, {asks}"),
        Outside::Above(most) => format!("takes at most {most} {measure}, {asks}"),
    })
}
