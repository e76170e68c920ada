//! Policies of the platform, combined for one Workload.
//!
//! Any number of policies may select a Workload. They are sorted by priority, the highest first, then by name, so the result
//! never depends on the order of the input.
//!
//! | field | several policies | conflict with the author |
//! |---|---|---|
//! | `defaults` | the first value, field by field | the author's value always wins |
//! | `limits` | the smallest | a larger value is a violation |
//! | `allow` | the intersection | anything else is a violation |
//!
//! `mode` concerns only violations: those of an `Enforce` policy block, those of an `Audit` policy are counted. An `Audit`
//! policy neither lowers the limits nor shortens the lists of others; its defaults apply like any.
//!
//! Three rules keep defaults from contradicting the author. A default request above the limit of the container is
//! lowered to that limit. A default limit below the author's request is ignored. The class of an existing claim stays,
//! since another class is another database. The explanation shows each of these.
//!
//! Limits of cpu and memory apply to the sum over all containers. A container counts with the larger of its limit and its
//! request. A container with neither (or `0`, which runtimes read as "no limit") is a violation, since the sum would be
//! meaningless.
//!
//! An invalid policy is never applied in part, and is reported as a [`Fault`]. Its last accepted version, which its status keeps,
//! stays in force. Without one, no Workload that it may select is admitted, unless its mode is `Audit`: it must not count as absent.
//! The same holds for [`unreadable`] policies, which cannot be deserialized.

mod allow;
mod amount;
mod compute;
mod defaults;
mod image;
mod limits;
mod outcome;
mod reading;
mod status;
pub mod unreadable;
mod wording;

#[cfg(test)]
mod tests;

use std::{borrow::Cow, collections::BTreeMap};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use orchestra_api::{
    PlatformPolicy,
    policy::{Mode, PlatformPolicySpec},
};
use orchestra_score::model::Workload;

pub use self::outcome::{
    Compute, Effective, Fault, Invalid, Overridden, PolicyOutcome, Setting, Source, Verdict, Violation,
};
use self::{limits::SmallestLimit, reading::InForce};
pub use self::{
    status::{Count, StatusWrite, statuses},
    unreadable::UnreadablePolicy,
};
use crate::selector::Selector;

/// Label of every namespace with its name.
const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";

/// Workload to apply policies to.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// Its namespace. Selectors match it as `kubernetes.io/metadata.name`, even if the label is missing.
    pub namespace: &'a str,
    /// Labels of the namespace.
    pub namespace_labels: &'a BTreeMap<String, String>,
    /// Labels of the Workload.
    pub labels: &'a BTreeMap<String, String>,
    /// Its valid Score document.
    pub document: &'a Workload,
    /// Classes of existing claims of the same type, by key. They apply if the author names no class, so an edit of a policy
    /// never replaces a database.
    pub classes: &'a BTreeMap<String, String>,
}

/// Applies all policies that select a Workload.
pub fn apply(policies: &[PlatformPolicy], subject: &Subject<'_>) -> PolicyOutcome {
    let faults = reading::read(policies).1;
    let policies = last_good(policies);
    let left_out = policies.iter().filter(|policy| !check(policy).is_empty() && may_select(policy, subject));
    let left_out = left_out.map(|policy| (reading::name(policy).to_owned(), policy.spec.mode)).collect();
    let (policies, _) = reading::read(&policies);
    let policies = selected(&policies, subject);
    let mut outcome = defaults::fill(&policies, subject);
    outcome.faults = faults;
    outcome.left_out = left_out;

    let (enforced, audits): (Vec<&InForce<'_>>, Vec<_>) =
        policies.into_iter().partition(|policy| policy.spec.mode == Mode::Enforce);
    let limits = limits::smallest(&enforced);
    outcome.explanation.extend(limits.iter().map(SmallestLimit::setting));
    outcome.explanation.extend(enforced.iter().flat_map(|policy| allow::settings(policy)));
    outcome.explanation.sort();

    let effective = &outcome.effective;
    let exceeded = limits.iter().flat_map(|limit| limit.violations(subject, effective));
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

/// Policies, with invalid ones replaced by their last accepted version: a typo must not disable a policy.
fn last_good(policies: &[PlatformPolicy]) -> Vec<PlatformPolicy> {
    policies.iter().map(last_good_of).collect()
}

/// True if a policy may select a Workload. A selector that is invalid may select everything.
fn may_select(policy: &PlatformPolicy, subject: &Subject<'_>) -> bool {
    let selector = |given: Option<&LabelSelector>| Selector::read(given).unwrap_or_default();
    let PlatformPolicySpec { namespace_selector, workload_selector, .. } = &policy.spec;
    selector(namespace_selector.as_ref()).matches(&namespace_labels(subject))
        && selector(workload_selector.as_ref()).matches(subject.labels)
}

fn last_good_of(policy: &PlatformPolicy) -> PlatformPolicy {
    let kept = policy.status.as_ref().and_then(|status| status.in_force.as_deref());
    match kept.filter(|_| !check(policy).is_empty()) {
        Some(kept) => PlatformPolicy { spec: kept.clone(), ..policy.clone() },
        None => policy.clone(),
    }
}

/// Faults of a policy; empty if it is valid.
pub fn check(policy: &PlatformPolicy) -> Vec<Fault> {
    reading::read(std::slice::from_ref(policy)).1
}

/// Verdict of each policy that selects a Workload, in order of precedence. Defaults of other policies apply, since a
/// Workload that they complete violates nothing. An invalid policy is evaluated with its last accepted version.
pub fn evaluate(policies: &[PlatformPolicy], subject: &Subject<'_>) -> Vec<Verdict> {
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

/// Violations of one policy alone.
fn violations(policy: &InForce<'_>, subject: &Subject<'_>, effective: &Effective) -> Vec<Violation> {
    let limits = limits::smallest(&[policy]);
    let exceeded = limits.iter().flat_map(|limit| limit.violations(subject, effective));
    exceeded.chain(allow::violations(policy, subject, effective)).collect()
}

fn selected<'p, 'a>(policies: &'p [InForce<'a>], subject: &Subject<'_>) -> Vec<&'p InForce<'a>> {
    let namespace = namespace_labels(subject);
    policies.iter().filter(|policy| policy.selects(&namespace, subject.labels)).collect()
}

/// Labels of the namespace of a Workload, with its name.
fn namespace_labels<'a>(subject: &Subject<'a>) -> Cow<'a, BTreeMap<String, String>> {
    let mut labels = Cow::Borrowed(subject.namespace_labels);
    if labels.get(NAMESPACE_NAME).map(String::as_str) != Some(subject.namespace) {
        labels.to_mut().insert(NAMESPACE_NAME.to_owned(), subject.namespace.to_owned());
    }
    labels
}
