//! Who provides what a Workload depends on: the checks of the entries, and the choice among them.
//!
//! The most specific entry wins. The checks refuse documents in which two entries could be equally specific for one
//! claim, so that the choice never depends on the order of the document.

use std::{collections::BTreeSet, fmt};

use orchestra_api::{claim::ResourceClaimSpec, config::Provisioner};
use orchestra_score::Pointer;
use serde_json::{Map, Value as Json};

use super::{Config, builtin, fault::Faults, words};

/// How things can be provided.
const ENGINES: &[&str] =
    &["static", "process", "container", "template", "command", "http", "helm", "external", "builtin"];
/// The engine of things that exist already.
pub const STATIC: &str = "static";
/// Types that keep no data: names, ways and references to what is kept elsewhere.
const WITHOUT_DATA: &[&str] = &["dns", "route", "service", "service-port", "environment", "secret"];

/// A dependency for which somebody is wanted.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// What kind of thing.
    pub type_: &'a str,
    /// Which sort of it.
    pub class: &'a str,
    /// The identity under which it is shared.
    pub id: Option<&'a str>,
    /// Its parameters.
    pub params: Option<&'a Map<String, Json>>,
    /// The runtime of the Workload that depends on it.
    pub runtime_class: &'a str,
}

impl<'a> Wanted<'a> {
    /// What a claim asks for.
    pub fn by(claim: &'a ResourceClaimSpec) -> Self {
        Self {
            type_: &claim.type_,
            class: &claim.class,
            id: claim.id.as_deref(),
            params: claim.params.as_ref(),
            runtime_class: &claim.placement.runtime_class,
        }
    }
}

/// Nobody provides a dependency.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoMatch {
    /// What was wanted: type, class and id.
    wanted: String,
    /// What there is of that type.
    of_this_type: Vec<String>,
    /// The types there are.
    types: BTreeSet<String>,
    /// A type near the one wanted, as a question.
    near: Option<String>,
}

impl fmt::Display for NoMatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the platform provides no {}", self.wanted)?;
        if !self.of_this_type.is_empty() {
            return write!(
                f,
                "; of this type there is: {}; ask for one of these, or ask the platform team for yours",
                self.of_this_type.join("; ")
            );
        }
        if let Some(near) = &self.near {
            return write!(f, "; {near}");
        }
        let types: Vec<&str> = self.types.iter().map(String::as_str).collect();
        match &types[..] {
            [] => f.write_str("; it provides nothing yet, ask the platform team to add a provisioner"),
            _ => write!(
                f,
                "; it provides {}; use one of these types, or ask the platform team to add yours",
                words::all(&types)
            ),
        }
    }
}

impl std::error::Error for NoMatch {}

/// The entry that provides a dependency: the most specific of those of the document that fit, or else one that is
/// built in. Of these, only those count whose engine is at hand.
pub fn select<'c>(
    config: &'c Config,
    wanted: &Wanted<'_>,
    is_at_hand: impl Fn(&str) -> bool,
) -> Result<&'c Provisioner, NoMatch> {
    let configured = config.provisioners().iter();
    let built_in = builtin::entries(wanted, is_at_hand);
    let fitting =
        configured.clone().filter(|entry| fits(entry, wanted)).max_by_key(|entry| specificity(entry));
    let built_in: Vec<&'static Provisioner> = built_in.collect();
    fitting.or_else(|| built_in.iter().copied().find(|entry| fits(entry, wanted))).ok_or_else(|| {
        let entries = configured.chain(built_in.iter().copied());
        let of_this_type = entries.clone().filter(|entry| entry.type_ == wanted.type_).map(describe);
        let types: BTreeSet<String> = entries.map(|entry| entry.type_.clone()).collect();
        let id = wanted.id.map(|id| format!(" with id {id:?}")).unwrap_or_default();
        NoMatch {
            wanted: format!("{} of class {:?}{id}", wanted.type_, wanted.class),
            of_this_type: of_this_type.collect::<BTreeSet<_>>().into_iter().collect(),
            near: words::did_you_mean(wanted.type_, types.iter().map(String::as_str)),
            types,
        }
    })
}

/// Whether what an entry provides keeps data that does not move with the Workload.
pub fn is_stateful(entry: &Provisioner) -> bool {
    entry.stateful.unwrap_or_else(|| entry.engine != STATIC && !WITHOUT_DATA.contains(&entry.type_.as_str()))
}

/// Whether a dependency keeps data that does not move with the Workload. Of one that nobody provides any more it is
/// told by its type alone: it may still be there.
pub fn stateful(config: &Config, wanted: &Wanted<'_>) -> bool {
    select(config, wanted, |_| false).map_or(!WITHOUT_DATA.contains(&wanted.type_), is_stateful)
}

fn fits(entry: &Provisioner, wanted: &Wanted<'_>) -> bool {
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

/// How closely an entry describes what it provides: an id counts most, then the number of parameters, then a class,
/// then runtimes.
fn specificity(entry: &Provisioner) -> (bool, usize, bool, bool) {
    (entry.id.is_some(), entry.matching.len(), entry.class.is_some(), !entry.runtime_classes.is_empty())
}

/// What an entry asks for, in words.
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
        let rival = entries[..index].iter().position(|other| are_rivals(entry, other));
        if let Some(rival) = rival {
            faults.add(
                at,
                format!(
                    "this and entry {rival} of the provisioners are equally specific for the same {} ({})",
                    entry.type_,
                    describe(entry)
                ),
                "remove one, or tell them apart by class, id, match or runtimeClasses",
            );
        }
    }
}

fn check_entry(entry: &Provisioner, at: &Pointer, faults: &mut Faults) {
    words::check_as_in_score("type", &entry.type_, at.key("type"), faults);
    words::check_as_in_score("class", entry.class.as_deref().unwrap_or_default(), at.key("class"), faults);
    words::check_as_in_score("id", entry.id.as_deref().unwrap_or_default(), at.key("id"), faults);
    for (index, class) in entry.runtime_classes.iter().enumerate() {
        words::check_dns_label(class, at.key("runtimeClasses").index(index), faults);
    }
    let engine = entry.engine.as_str();
    if !engine.is_empty() && !ENGINES.contains(&engine) {
        let hint = words::did_you_mean(engine, ENGINES.iter().copied())
            .unwrap_or_else(|| format!("write {}", words::alternatives(ENGINES)));
        faults.add(at.key("engine"), format!("there is no engine {engine:?}"), hint);
    }
    let outputs = at.key("outputs");
    if engine == STATIC && entry.outputs.is_empty() && !faults.touch(&outputs) {
        faults.add(
            outputs,
            "a static provisioner says what is there, and this one says nothing",
            "add `outputs: {host: {value: …}}`",
        );
    } else if ENGINES.contains(&engine) && engine != STATIC && !entry.outputs.is_empty() {
        faults.add(
            outputs,
            format!("the outputs of engine {engine:?} come from what it makes, not from here"),
            "remove them, or write `engine: static`",
        );
    }
}

/// Whether there can be a claim for which both are equally specific. An entry without a type could not be read.
fn are_rivals(one: &Provisioner, other: &Provisioner) -> bool {
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
