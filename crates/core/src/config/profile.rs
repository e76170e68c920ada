//! Profiles and backends, checked and ready to be chosen from.

use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet},
};

use orchestra_api::{
    config::{self as api, ProfileKind},
    reference::Placement,
};
use orchestra_score::{Node, Pointer};
use semver::Version;
use serde_json::{Map, Value as Json};

use super::{document, fault::Faults, shape, words};
use crate::{
    range::{Measure, Range, RangeError},
    render::kubernetes,
    selector::Selector,
};

/// What a Workload is, in the developer's words.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// Its name.
    pub name: String,
    /// Whether its Workloads run on, or to an end.
    pub kind: ProfileKind,
    /// Where it can run, the preferred first.
    pub backends: Vec<Backend>,
}

/// A place where Workloads can run.
#[derive(Clone, Debug, PartialEq)]
pub struct Backend {
    /// The place.
    pub placement: Placement,
    /// Of several that fit, the highest is taken.
    pub priority: i64,
    /// Of equal priorities, the newest is taken.
    pub version: Option<Version>,
    /// Workloads it takes, by their labels: one of these must match; all if there are none.
    pub selectors: Vec<Selector>,
    /// Features it offers.
    pub features: BTreeSet<String>,
    /// Regions it is in.
    pub regions: BTreeSet<String>,
    /// The processor time it takes.
    pub cpu: Option<Range>,
    /// The memory it takes.
    pub memory: Option<Range>,
    /// Settings, in the words of its runtime.
    pub values: Map<String, Json>,
}

impl Backend {
    /// The order of preference: priority, then version, then the id, so that there is always exactly one best.
    pub fn preference(&self, other: &Self) -> Ordering {
        let by_priority = other.priority.cmp(&self.priority);
        by_priority
            .then(self.by_version(other))
            .then_with(|| self.placement.backend_id.cmp(&other.placement.backend_id))
    }

    /// The newer one first: a release before its own pre-releases, and any version before none.
    pub fn by_version(&self, other: &Self) -> Ordering {
        match (&self.version, &other.version) {
            (Some(own), Some(other)) => other.cmp_precedence(own),
            (own, other) => other.is_some().cmp(&own.is_some()),
        }
    }
}

/// Checks all profiles.
pub(super) fn check(profiles: &[api::Profile], faults: &mut Faults) -> BTreeMap<String, Profile> {
    let at = Pointer::of(["spec", "profiles"]);
    let mut checked: BTreeMap<String, Profile> = BTreeMap::new();
    let mut classes: BTreeMap<&str, &str> = BTreeMap::new();
    for (index, profile) in profiles.iter().enumerate() {
        let at = at.index(index);
        words::check_dns_label(&profile.name, at.key("name"), faults);
        if checked.contains_key(&profile.name) && !profile.name.is_empty() {
            faults.add(
                at.key("name"),
                format!("there are two profiles called {:?}", profile.name),
                "rename one, or put their backends together",
            );
        }
        if profile.backends.is_empty() && !faults.touch(&at.key("backends")) {
            faults.add(
                at.key("backends"),
                format!("profile {:?} has no backend, so that nothing can run", profile.name),
                "add one, such as `- {backendId: local, runtimeClass: process}`",
            );
        }
        let mut ids = BTreeSet::new();
        let mut backends = Vec::new();
        for (index, backend) in profile.backends.iter().enumerate() {
            let at = at.key("backends").index(index);
            let (id, class) = (backend.backend_id.as_str(), backend.runtime_class.as_str());
            if !id.is_empty() && !ids.insert(id) {
                faults.add(
                    at.key("backendId"),
                    format!("backend {id:?} stands twice in profile {:?}", profile.name),
                    "remove one, or rename it if it is another place",
                );
            }
            // One id is one place, whichever profiles it serves.
            let first = *classes.entry(id).or_insert(class);
            if first != class && ![id, class, first].contains(&"") {
                faults.add(
                    at.key("runtimeClass"),
                    format!(
                        "backend {id:?} has the runtimeClass {first:?} in another place and {class:?} here"
                    ),
                    "give one of them another backendId",
                );
            }
            backends.push(check_backend(backend, &at, faults));
        }
        backends.sort_by(Backend::preference);
        let name = profile.name.clone();
        checked.insert(name.clone(), Profile { name, kind: profile.kind, backends });
    }
    checked
}

fn check_backend(backend: &api::Backend, at: &Pointer, faults: &mut Faults) -> Backend {
    words::check_dns_label(&backend.backend_id, at.key("backendId"), faults);
    words::check_dns_label(&backend.runtime_class, at.key("runtimeClass"), faults);
    let constraints = &backend.constraints;
    let at_constraints = at.key("constraints");
    let names = |key: &str, names: &[String], faults: &mut Faults| {
        for (index, name) in names.iter().enumerate() {
            if name.contains(|c: char| c == ',' || c.is_whitespace()) {
                faults.add(
                    at_constraints.key(key).index(index),
                    format!(
                        "{name:?} cannot be asked for: an annotation names several with commas between them"
                    ),
                    "write it without commas and blanks",
                );
            }
        }
        names.iter().cloned().collect()
    };
    let range = |measure: Measure, text: Option<&String>, faults: &mut Faults| {
        let read = Range::parse(text?, measure);
        let refuse = |error: RangeError| {
            faults.add(
                at_constraints.key("resources").key(&measure.to_string()),
                error.to_string(),
                match measure {
                    Measure::Cpu => "write a range such as `0-8`, `500m-`, `-8` or `2`",
                    Measure::Memory => "write a range such as `0-32Gi`, `512Mi-`, `-8Gi` or `2Gi`",
                },
            );
        };
        read.map_err(refuse).ok()
    };
    Backend {
        placement: Placement {
            runtime_class: backend.runtime_class.clone(),
            backend_id: backend.backend_id.clone(),
        },
        priority: backend.priority,
        version: check_version(backend.version.as_deref(), at.key("version"), faults),
        selectors: check_selectors(backend, &at_constraints.key("selectors"), faults),
        features: names("features", &constraints.features, faults),
        regions: names("regions", &constraints.regions, faults),
        cpu: range(Measure::Cpu, constraints.resources.cpu.as_ref(), faults),
        memory: range(Measure::Memory, constraints.resources.memory.as_ref(), faults),
        values: check_values(backend, &at.key("values"), faults),
    }
}

fn check_values(backend: &api::Backend, at: &Pointer, faults: &mut Faults) -> Map<String, Json> {
    let Some(shape) = document::values_of(&backend.runtime_class) else { return backend.values.clone() };
    let values = Node::from(Json::Object(backend.values.clone()));
    let values = match shape::read(&values, shape, at, faults) {
        Some(Json::Object(values)) => values,
        _ => Map::new(),
    };
    if backend.runtime_class == "kubernetes" && !faults.touch(at) {
        for (key, message, hint) in kubernetes::values::contradictions(&values) {
            faults.add(at.key(key), message, hint);
        }
    }
    values
}

fn check_version(text: Option<&str>, at: Pointer, faults: &mut Faults) -> Option<Version> {
    let text = text?;
    let refuse = |error: semver::Error| {
        let message = format!("{text:?} is no semantic version: {error}");
        faults.add(at, message, "write three numbers such as 1.2.0, or leave it out");
    };
    Version::parse(text).map_err(refuse).ok()
}

fn check_selectors(backend: &api::Backend, at: &Pointer, faults: &mut Faults) -> Vec<Selector> {
    let mut checked = Vec::new();
    for (index, selector) in backend.constraints.selectors.iter().enumerate() {
        match Selector::read(Some(selector)) {
            Ok(selector) => checked.push(selector),
            Err(found) => faults.add_selector(&at.index(index), found),
        }
    }
    checked
}
