//! Defaults of policies for fields that the author leaves open.

use std::collections::{BTreeMap, BTreeSet};

use orchestra_api::{
    annotation::{DEPROVISION, PROFILE},
    claim::DeprovisionPolicy,
};
use orchestra_score::{Pointer, model::Resource, resource::Uid};

use super::{
    Effective, Invalid, Overridden, PolicyOutcome, Setting, Source, Subject, compute, reading::InForce,
    wording::code,
};

const DEPROVISION_POLICIES: [(&str, DeprovisionPolicy); 3] = [
    ("Delete", DeprovisionPolicy::Delete),
    ("Retain", DeprovisionPolicy::Retain),
    ("Orphan", DeprovisionPolicy::Orphan),
];

/// Effective settings of a Workload, with their sources. The policies are in order of precedence.
pub(super) fn fill(policies: &[&InForce<'_>], subject: &Subject<'_>) -> PolicyOutcome {
    let mut outcome = PolicyOutcome::default();
    let PolicyOutcome { effective, explanation, invalid, .. } = &mut outcome;
    for (name, container) in &subject.document.containers {
        let (compute, settings) = compute::fill(policies, name, container.resources.as_ref());
        effective.compute.insert(name.clone(), compute);
        explanation.extend(settings);
    }
    for (key, resource) in subject.document.resources.iter().flatten() {
        let setting = class(policies, subject, key, resource);
        effective.classes.insert(key.clone(), setting.value.clone());
        explanation.push(setting);
        let (policy, setting) = deprovision(policies, key, resource, invalid);
        effective.deprovision.insert(key.clone(), policy);
        explanation.push(setting);
    }
    annotate(policies, subject, effective, explanation);
    outcome
}

fn class(policies: &[&InForce<'_>], subject: &Subject<'_>, key: &str, resource: &Resource) -> Setting {
    let field = Pointer::of(["resources", key, "class"]);
    let author = resource.class.as_deref().map(|class| (Source::Author, class));
    let existing = subject.classes.get(key).map(|class| (Source::Existing, class.as_str()));
    let offers = policies.iter().filter_map(|policy| {
        let class = policy.spec.defaults.classes.get(&resource.type_)?;
        Some((policy.name, class.as_str()))
    });
    choose(&field, author.or(existing), offers).unwrap_or_else(|| built_in(&field, Uid::DEFAULT_CLASS))
}

fn deprovision(
    policies: &[&InForce<'_>],
    key: &str,
    resource: &Resource,
    invalid: &mut Vec<Invalid>,
) -> (DeprovisionPolicy, Setting) {
    let field = Pointer::of(["resources", key, "metadata", "annotations", DEPROVISION]);
    let annotations = resource.metadata.as_ref().and_then(|metadata| metadata.get("annotations"));
    let written = annotations.and_then(|annotations| annotations.get(DEPROVISION)?.as_str());
    if let Some(written) = written
        && !DEPROVISION_POLICIES.iter().any(|(name, _)| *name == written)
    {
        let message = format!(
            "`{}` is {}: write {} or leave it out.",
            field.readable(),
            code(written),
            DEPROVISION_POLICIES.map(|(name, _)| code(name)).join(", ")
        );
        invalid.push(Invalid { pointer: field.as_str().to_owned(), message });
        // An invalid value must not lose data.
        let note =
            Some(format!("{} is not a valid policy: the data is kept until it is corrected", code(written)));
        return (DeprovisionPolicy::Retain, Setting { note, ..built_in(&field, "Retain") });
    }
    let author = written.map(|written| (Source::Author, written));
    let offers = policies.iter().filter_map(|policy| {
        let deprovision = policy.spec.defaults.deprovision?;
        let (name, _) = DEPROVISION_POLICIES.iter().find(|(_, policy)| *policy == deprovision)?;
        Some((policy.name, *name))
    });
    let setting = choose(&field, author, offers).unwrap_or_else(|| built_in(&field, "Delete"));
    let chosen = DEPROVISION_POLICIES.iter().find(|(name, _)| *name == setting.value);
    (chosen.map(|(_, policy)| *policy).unwrap_or_default(), setting)
}

/// Annotations, including the profile, which authors set by annotation.
fn annotate(
    policies: &[&InForce<'_>],
    subject: &Subject<'_>,
    effective: &mut Effective,
    explanation: &mut Vec<Setting>,
) {
    let written = subject.document.metadata.annotations.as_ref();
    let author = |key: &str| written?.get(key).map(|value| (Source::Author, value.as_str()));
    let defaults = policies.iter().flat_map(|policy| policy.spec.defaults.annotations.keys());
    let keys: BTreeSet<&String> = written.into_iter().flat_map(BTreeMap::keys).chain(defaults).collect();
    for key in keys.into_iter().filter(|key| *key != PROFILE) {
        let offers = policies.iter().filter_map(|policy| {
            let value = policy.spec.defaults.annotations.get(key)?;
            Some((policy.name, value.as_str()))
        });
        let setting = choose(&Pointer::of(["metadata", "annotations", key]), author(key), offers);
        effective.annotations.extend(setting.iter().map(|setting| (key.clone(), setting.value.clone())));
        explanation.extend(setting);
    }

    let offers = policies.iter().filter_map(|policy| {
        let profile = policy.spec.defaults.profile.as_deref()?;
        Some((policy.name, profile))
    });
    let Some(setting) = choose(&Pointer::of(["metadata", "annotations", PROFILE]), author(PROFILE), offers)
    else {
        return;
    };
    match &setting.source {
        Source::Policy(policy) => effective.profile = Some((setting.value.clone(), policy.clone())),
        _ => effective.annotations.extend([(PROFILE.to_owned(), setting.value.clone())]),
    }
    explanation.push(setting);
}

/// First value: of the author or an existing claim, then of the policies in order.
pub(super) fn choose<'p>(
    field: &Pointer,
    preset: Option<(Source, &'p str)>,
    offers: impl IntoIterator<Item = (&'p str, &'p str)>,
) -> Option<Setting> {
    let mut offers = offers.into_iter();
    let (source, value) =
        preset.or_else(|| offers.next().map(|(policy, value)| (Source::Policy(policy.to_owned()), value)))?;
    let overridden = offers
        .filter(|(_, offer)| *offer != value)
        .map(|(policy, offer)| Overridden { policy: policy.to_owned(), value: offer.to_owned() })
        .collect();
    Some(Setting {
        field: field.as_str().to_owned(),
        value: value.to_owned(),
        source,
        overridden,
        note: None,
    })
}

fn built_in(field: &Pointer, value: &str) -> Setting {
    Setting {
        field: field.as_str().to_owned(),
        value: value.to_owned(),
        source: Source::BuiltIn,
        overridden: Vec::new(),
        note: None,
    }
}
