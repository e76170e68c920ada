//! What the platform prescribes and forbids, put together for one Workload.
//!
//! Any number of policies may select a Workload; they are looked at by priority, the highest first, then by name, so
//! the answer never depends on the order in which they were read.
//!
//! | what a policy says | of several policies | against the author |
//! |---|---|---|
//! | `defaults` | the first that says something, field by field | the author's value always wins |
//! | `limits` | the smallest | more than that is a violation |
//! | `allow` | what every one of them allows | anything else is a violation |
//!
//! `mode` is about violations alone: those of an `Enforce` policy block, those of an `Audit` policy are counted. An
//! `Audit` policy neither lowers the limits nor shortens the lists of others; its defaults are filled in like any.
//!
//! Three rules keep defaults from contradicting the author. A default request above the limit of the container is
//! lowered to that limit. A default limit below the author's request is left out. The class that an existing claim has
//! stays, since another class is another database. The explanation says where this has happened.
//!
//! The limits of cpu and memory hold for all containers of a Workload together. A container counts with the larger of
//! its limit and its request. One that has neither (or `0`, which runtimes take for "no limit") is a violation of its
//! own: the sum would mean nothing.
//!
//! A policy that cannot be read is left out whole, never applied by halves, and reported as a [`Fault`]. As it
//! was last accepted, which its status keeps, it stays in force.

mod allow;
mod amount;
mod compute;
mod defaults;
mod image;
mod limits;
mod outcome;
mod reading;
mod wording;

#[cfg(test)]
mod tests;

use std::{borrow::Cow, collections::BTreeMap};

use orchestra_api::{PlatformPolicy, policy::Mode};
use orchestra_score::model::Workload;

pub use self::outcome::{
    Compute, Effective, Fault, Invalid, Outcome, Overridden, Setting, Source, Verdict, Violation,
};
use self::{limits::Ceiling, reading::InForce};

/// The label that every namespace bears, with its name.
const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";

/// The Workload that policies are applied to.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// Its namespace, which selectors find under `kubernetes.io/metadata.name` whether or not it is labelled so.
    pub namespace: &'a str,
    /// The labels of the namespace.
    pub namespace_labels: &'a BTreeMap<String, String>,
    /// The labels of the Workload.
    pub labels: &'a BTreeMap<String, String>,
    /// Its Score document, which is valid.
    pub document: &'a Workload,
    /// The classes of existing claims of the same type, by key. They count where the author names no class, so that
    /// the edit of a policy never makes a database anew.
    pub classes: &'a BTreeMap<String, String>,
}

/// Applies to a Workload all policies that select it.
pub fn apply(policies: &[PlatformPolicy], subject: &Subject<'_>) -> Outcome {
    let faults = reading::read(policies).1;
    let policies = last_good(policies);
    let (policies, unusable) = reading::read(&policies);
    let policies = selected(&policies, subject);
    let mut outcome = defaults::fill(&policies, subject);
    outcome.faults = faults;
    outcome.left_out = unusable.into_iter().map(|fault| fault.policy).collect();

    let (enforced, audits): (Vec<&InForce<'_>>, Vec<_>) =
        policies.into_iter().partition(|policy| policy.spec.mode == Mode::Enforce);
    let ceilings = limits::smallest(&enforced);
    outcome.explanation.extend(ceilings.iter().map(Ceiling::setting));
    outcome.explanation.extend(enforced.iter().flat_map(|policy| allow::settings(policy)));
    outcome.explanation.sort();

    let effective = &outcome.effective;
    let exceeded = ceilings.iter().flat_map(|ceiling| ceiling.violations(subject, effective));
    let forbidden = enforced.iter().flat_map(|policy| allow::violations(policy, subject, effective));
    outcome.violations = exceeded.chain(forbidden).collect();
    outcome.audited = audits.iter().flat_map(|policy| violations(policy, subject, effective)).collect();
    outcome.effective.allowed_profiles = allow::profiles(&enforced);
    let list = |policy: &&InForce<'_>| Some((policy.name.to_owned(), allow::profiles(&[*policy])?));
    outcome.effective.audited_profiles = audits.iter().filter_map(list).collect();

    for violations in [&mut outcome.violations, &mut outcome.audited] {
        violations
            .sort_by(|a, b| (&a.pointer, &a.policy, &a.message).cmp(&(&b.pointer, &b.policy, &b.message)));
    }
    outcome
}

/// The policies, those with faults as they were last accepted: a slip of the pen lets nobody through.
fn last_good(policies: &[PlatformPolicy]) -> Vec<PlatformPolicy> {
    let last_good = |policy: &PlatformPolicy| {
        let kept = policy.status.as_ref().and_then(|status| status.in_force.as_deref());
        match kept.filter(|_| !check(policy).is_empty()) {
            Some(kept) => PlatformPolicy { spec: kept.clone(), ..policy.clone() },
            None => policy.clone(),
        }
    };
    policies.iter().map(last_good).collect()
}

/// What keeps a policy from being applied; nothing if it is well-formed.
pub fn check(policy: &PlatformPolicy) -> Vec<Fault> {
    reading::read(std::slice::from_ref(policy)).1
}

/// What each policy that selects a Workload makes of it, in the order in which they count. What other policies fill in
/// counts, since a Workload that they complete violates nothing. A policy with faults judges as it was last accepted.
pub fn judge(policies: &[PlatformPolicy], subject: &Subject<'_>) -> Vec<Verdict> {
    let policies = last_good(policies);
    let (policies, _) = reading::read(&policies);
    let selected = selected(&policies, subject);
    let effective = defaults::fill(&selected, subject).effective;
    let verdict = |policy: &&InForce<'_>| Verdict {
        policy: policy.name.to_owned(),
        violations: violations(policy, subject, &effective),
        profiles: allow::profiles(&[*policy]),
    };
    selected.iter().map(verdict).collect()
}

/// Where a Workload violates a policy, whatever others say.
fn violations(policy: &InForce<'_>, subject: &Subject<'_>, effective: &Effective) -> Vec<Violation> {
    let ceilings = limits::smallest(&[policy]);
    let exceeded = ceilings.iter().flat_map(|ceiling| ceiling.violations(subject, effective));
    exceeded.chain(allow::violations(policy, subject, effective)).collect()
}

fn selected<'p, 'a>(policies: &'p [InForce<'a>], subject: &Subject<'_>) -> Vec<&'p InForce<'a>> {
    let mut namespace = Cow::Borrowed(subject.namespace_labels);
    if namespace.get(NAMESPACE_NAME).map(String::as_str) != Some(subject.namespace) {
        namespace.to_mut().insert(NAMESPACE_NAME.to_owned(), subject.namespace.to_owned());
    }
    policies.iter().filter(|policy| policy.selects(&namespace, subject.labels)).collect()
}
