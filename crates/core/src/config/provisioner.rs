//! Checks of provisioner entries, and selection of the entry for a dependency.
//!
//! The most specific entry wins. The checks reject configs in which two entries could be equally specific for one claim, so
//! the selection never depends on their order.

use std::{collections::BTreeSet, fmt, iter};

use orchestra_api::{claim::ResourceClaimSpec, config::Provisioner};
use orchestra_score::Pointer;
use serde_json::{Map, Value as Json};

use super::{Config, builtin, fault::Faults, name_rules};
use crate::provision::EXTERNAL;

/// Engine of resources that already exist.
pub const STATIC: &str = "static";
/// Engines that a config may name, beside [`STATIC`] and those that come with a runtime.
const ENGINES: &[&str] = &["container", "command", "http", "helm", EXTERNAL, builtin::BUILTIN];
/// Types without data of their own: names, routes and references.
const STATELESS_TYPES: &[&str] = &["dns", "route", "service", "service-port", "environment", "secret"];

/// Request for a resource, as far as the selection of its provisioner depends on it.
#[derive(Clone, Copy, Debug)]
pub struct ResourceRequest<'a> {
    /// Resource type.
    pub type_: &'a str,
    /// Resource class.
    pub class: &'a str,
    /// Id under which it is shared.
    pub id: Option<&'a str>,
    /// Parameters.
    pub params: Option<&'a Map<String, Json>>,
    /// Runtime class of the Workload that depends on it.
    pub runtime_class: &'a str,
}

impl<'a> ResourceRequest<'a> {
    /// Request of a claim.
    pub fn of(claim: &'a ResourceClaimSpec) -> Self {
        Self {
            type_: &claim.type_,
            class: &claim.class,
            id: claim.id.as_deref(),
            params: claim.params.as_ref(),
            runtime_class: &claim.placement.runtime_class,
        }
    }
}

/// No entry provides a dependency.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoMatch {
    /// Requested type, class and id.
    requested: String,
    /// Entries of that type.
    of_this_type: Vec<String>,
    /// Available types.
    types: BTreeSet<String>,
    /// Suggestion of a similar type.
    suggestion: Option<String>,
}

impl fmt::Display for NoMatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no provisioner found for {}", self.requested)?;
        if !self.of_this_type.is_empty() {
            return write!(
                f,
                "; available for this type: {}; use one of these, or add a provisioner to the orchestrator config",
                self.of_this_type.join("; ")
            );
        }
        if let Some(suggestion) = &self.suggestion {
            return write!(f, "; {suggestion}");
        }
        let types: Vec<&str> = self.types.iter().map(String::as_str).collect();
        match &types[..] {
            [] => f.write_str("; no provisioners are configured: add one to the orchestrator config"),
            _ => write!(
                f,
                "; available types: {}; use one of these, or add a provisioner to the orchestrator config",
                name_rules::all(&types)
            ),
        }
    }
}

impl std::error::Error for NoMatch {}

/// Entry for a request: the most specific match of the config, or else a built-in one whose engine is available.
pub fn select<'c>(
    config: &'c Config,
    wanted: &ResourceRequest<'_>,
    is_available: impl Fn(&str) -> bool,
) -> Result<&'c Provisioner, NoMatch> {
    let configured = config.provisioners().iter();
    let built_in = builtin::entries(wanted, is_available);
    let fitting =
        configured.clone().filter(|entry| fits(entry, wanted)).max_by_key(|entry| specificity(entry));
    let built_in: Vec<&'static Provisioner> = built_in.collect();
    fitting.or_else(|| built_in.iter().copied().find(|entry| fits(entry, wanted))).ok_or_else(|| {
        let entries = configured.chain(built_in.iter().copied());
        let of_this_type = entries.clone().filter(|entry| entry.type_ == wanted.type_).map(describe);
        let types: BTreeSet<String> = entries.map(|entry| entry.type_.clone()).collect();
        let id = wanted.id.map(|id| format!(" with id {id:?}")).unwrap_or_default();
        NoMatch {
            requested: format!("{} of class {:?}{id}", wanted.type_, wanted.class),
            of_this_type: of_this_type.collect::<BTreeSet<_>>().into_iter().collect(),
            suggestion: name_rules::did_you_mean(wanted.type_, types.iter().map(String::as_str)),
            types,
        }
    })
}

/// True if the entries of an engine describe resources that already exist: the orchestrator neither creates nor deletes them.
pub fn is_existing(engine: &str) -> bool {
    engine == STATIC
}

/// True if the instances of an entry have data that does not move with the Workload.
pub fn is_stateful(entry: &Provisioner) -> bool {
    entry
        .stateful
        .unwrap_or_else(|| !is_existing(&entry.engine) && !STATELESS_TYPES.contains(&entry.type_.as_str()))
}

/// True if a dependency has data that does not move with the Workload. Without an entry its type decides: the instance may
/// still exist.
pub fn stateful(config: &Config, wanted: &ResourceRequest<'_>) -> bool {
    select(config, wanted, |_| false).map_or(!STATELESS_TYPES.contains(&wanted.type_), is_stateful)
}

fn fits(entry: &Provisioner, wanted: &ResourceRequest<'_>) -> bool {
    entry.type_ == wanted.type_
        && entry.class.as_deref().is_none_or(|class| class == wanted.class)
        && entry.id.as_deref().is_none_or(|id| wanted.id == Some(id))
        && entry
            .matching
            .iter()
            .all(|(key, value)| wanted.params.and_then(|params| params.get(key)) == Some(value))
        && (entry.runtime_classes.is_empty()
            || entry.runtime_classes.iter().any(|class| class == wanted.runtime_class))
}

/// Specificity of an entry: an id counts most, then the number of parameters, then a class, then runtimes.
fn specificity(entry: &Provisioner) -> (bool, usize, bool, bool) {
    (entry.id.is_some(), entry.matching.len(), entry.class.is_some(), !entry.runtime_classes.is_empty())
}

/// Conditions of an entry, for messages.
fn describe(entry: &Provisioner) -> String {
    let mut words = Vec::new();
    words.extend(entry.class.as_ref().map(|class| format!("class {class:?}")));
    words.extend(entry.id.as_ref().map(|id| format!("id {id:?}")));
    words.extend(entry.matching.iter().map(|(key, value)| format!("param {key}={value}")));
    if !entry.runtime_classes.is_empty() {
        words.push(format!("where workloads run on {}", entry.runtime_classes.join(" or ")));
    }
    if words.is_empty() { "any".to_owned() } else { words.join(", ") }
}

/// Checks all entries.
pub(super) fn check(entries: &[Provisioner], faults: &mut Faults) {
    let at = Pointer::of(["spec", "provisioners"]);
    for (index, entry) in entries.iter().enumerate() {
        let at = at.index(index);
        check_entry(entry, &at, faults);
        let other = entries[..index].iter().position(|earlier| is_ambiguous(entry, earlier));
        if let Some(other) = other {
            faults.add(
                at,
                format!(
                    "ambiguous: this entry and `provisioners.{other}` are equally specific for {} ({})",
                    entry.type_,
                    describe(entry)
                ),
                "remove one, or distinguish them by class, id, match or runtimeClasses",
            );
        }
    }
}

fn check_entry(entry: &Provisioner, at: &Pointer, faults: &mut Faults) {
    name_rules::check_as_in_score("type", &entry.type_, at.key("type"), faults);
    name_rules::check_as_in_score(
        "class",
        entry.class.as_deref().unwrap_or_default(),
        at.key("class"),
        faults,
    );
    name_rules::check_as_in_score("id", entry.id.as_deref().unwrap_or_default(), at.key("id"), faults);
    for (index, class) in entry.runtime_classes.iter().enumerate() {
        name_rules::check_dns_label(class, at.key("runtimeClasses").index(index), faults);
    }
    let engine = entry.engine.as_str();
    let engines: Vec<_> =
        iter::once(STATIC).chain(builtin::engines()).chain(ENGINES.iter().copied()).collect();
    if !engine.is_empty() && !engines.contains(&engine) {
        let hint = name_rules::did_you_mean(engine, engines.iter().copied())
            .unwrap_or_else(|| format!("write {}", name_rules::alternatives(&engines)));
        faults.add(at.key("engine"), format!("unknown engine {engine:?}"), hint);
    }
    let outputs = at.key("outputs");
    if is_existing(engine) && entry.outputs.is_empty() && !faults.any_within(&outputs) {
        faults.add(outputs, "a static provisioner needs outputs", "add `outputs: {host: {value: …}}`");
    } else if engines.contains(&engine) && !is_existing(engine) && !entry.outputs.is_empty() {
        faults.add(
            outputs,
            format!("engine {engine:?} computes its outputs; they cannot be set here"),
            "remove them, or write `engine: static`",
        );
    }
}

/// True if some claim could match both with equal specificity. An entry without a type could not be read.
fn is_ambiguous(one: &Provisioner, other: &Provisioner) -> bool {
    let share_a_runtime = one.runtime_classes.is_empty()
        || one.runtime_classes.iter().any(|class| other.runtime_classes.contains(class));
    let no_param_differs =
        one.matching.iter().all(|(key, value)| other.matching.get(key).is_none_or(|v| v == value));
    !one.type_.is_empty()
        && one.type_ == other.type_
        && specificity(one) == specificity(other)
        && one.id == other.id
        && one.class == other.class
        && no_param_differs
        && share_a_runtime
}
