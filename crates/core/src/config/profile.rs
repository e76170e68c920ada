//! Profiles and backends, checked.

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

use super::{fault::Faults, name_rules, shape};
use crate::{
    range::{Measure, Range, RangeError},
    runtimes::{self, Contradiction},
    selector::Selector,
};

/// Kind of Workload in the developer's terms, with the backends that can run it.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// Its name.
    pub name: String,
    /// Services or jobs.
    pub kind: ProfileKind,
    /// Backends, in order of preference.
    pub backends: Vec<Backend>,
}

/// Place to run Workloads.
#[derive(Clone, Debug, PartialEq)]
pub struct Backend {
    /// Runtime class and id.
    pub placement: Placement,
    /// The highest priority wins.
    pub priority: i64,
    /// Among equal priorities, the newest version wins.
    pub version: Option<Version>,
    /// Label selectors of Workloads: one of them must match, if there are any.
    pub selectors: Vec<Selector>,
    /// Offered features.
    pub features: BTreeSet<String>,
    /// Regions.
    pub regions: BTreeSet<String>,
    /// Accepted CPU requests.
    pub cpu: Option<Range>,
    /// Accepted memory requests.
    pub memory: Option<Range>,
    /// Settings of its runtime.
    pub values: Map<String, Json>,
}

impl Backend {
    /// Order of preference: priority, then version, then id, so there is always exactly one best.
    pub fn preference(&self, other: &Self) -> Ordering {
        let by_priority = other.priority.cmp(&self.priority);
        by_priority
            .then(self.by_version(other))
            .then_with(|| self.placement.backend_id.cmp(&other.placement.backend_id))
    }

    /// Newer versions first: a release before its pre-releases, and any version before none.
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
        name_rules::check_dns_label(&profile.name, at.key("name"), faults);
        if checked.contains_key(&profile.name) && !profile.name.is_empty() {
            faults.add(
                at.key("name"),
                format!("duplicate profile {:?}", profile.name),
                "rename one, or merge their backends",
            );
        }
        if profile.backends.is_empty() && !faults.any_within(&at.key("backends")) {
            faults.add(
                at.key("backends"),
                format!("profile {:?} has no backends", profile.name),
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
                    format!("duplicate backend {id:?} in profile {:?}", profile.name),
                    "remove or rename one",
                );
            }
            // An id has the same runtime class in every profile.
            let first = *classes.entry(id).or_insert(class);
            if first != class && ![id, class, first].contains(&"") {
                faults.add(
                    at.key("runtimeClass"),
                    format!("backend {id:?} has runtimeClass {first:?} elsewhere and {class:?} here"),
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
    name_rules::check_dns_label(&backend.backend_id, at.key("backendId"), faults);
    name_rules::check_dns_label(&backend.runtime_class, at.key("runtimeClass"), faults);
    let constraints = &backend.constraints;
    let at_constraints = at.key("constraints");
    let names = |key: &str, names: &[String], faults: &mut Faults| {
        for (index, name) in names.iter().enumerate() {
            if name.contains(|c: char| c == ',' || c.is_whitespace()) {
                faults.add(
                    at_constraints.key(key).index(index),
                    format!("{name:?} contains a comma or a space, which separate the names in annotations"),
                    "write it without commas and spaces",
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
    let Some(class) = runtimes::find(&backend.runtime_class) else { return backend.values.clone() };
    let values = Node::from(Json::Object(backend.values.clone()));
    let values = match shape::read(&values, &class.values, at, faults) {
        Some(Json::Object(values)) => values,
        _ => Map::new(),
    };
    if !faults.any_within(at) {
        for Contradiction { key, message, hint } in (class.contradictions)(&values) {
            faults.add(at.key(key), message, hint);
        }
    }
    values
}

fn check_version(text: Option<&str>, at: Pointer, faults: &mut Faults) -> Option<Version> {
    let text = text?;
    let refuse = |error: semver::Error| {
        let message = format!("{text:?} is not a semantic version: {error}");
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
