//! Allow lists: every list must allow what a Workload uses.

use std::collections::BTreeSet;

use orchestra_api::{annotation::PROFILE, policy::AllowedResource};
use orchestra_score::{Pointer, model::Resource};

use super::{
    Effective, Setting, Source, Subject, Violation, image,
    reading::InForce,
    wording::{REMEDY, code, list},
};

/// Image that is set at deployment.
const IMAGE_AT_DEPLOYMENT: &str = ".";

/// Profiles that all lists allow; all profiles if there is no list.
pub(super) fn profiles(policies: &[&InForce<'_>]) -> Option<BTreeSet<String>> {
    let lists = policies.iter().filter_map(|policy| policy.spec.allow.profiles.as_ref());
    lists.map(|list| list.iter().cloned().collect::<BTreeSet<_>>()).reduce(|all, list| &all & &list)
}

/// Lists of a policy, for the explanation.
pub(super) fn settings(policy: &InForce<'_>) -> Vec<Setting> {
    let allow = &policy.spec.allow;
    let resources = allow.resources.as_ref().map(|list| list.iter().map(identity).collect());
    let lists = [
        ("allow.profiles", allow.profiles.clone()),
        ("allow.registries", allow.registries.clone()),
        ("allow.resources", resources),
    ];
    let setting = |(field, list): (&str, Option<Vec<String>>)| {
        let items: BTreeSet<String> = list?.into_iter().collect();
        Some(Setting {
            field: field.to_owned(),
            value: items.into_iter().collect::<Vec<_>>().join(", "),
            source: Source::Policy(policy.name.to_owned()),
            overridden: Vec::new(),
            note: None,
        })
    };
    lists.into_iter().filter_map(setting).collect()
}

/// Violations of the lists of a policy.
pub(super) fn violations(
    policy: &InForce<'_>,
    subject: &Subject<'_>,
    effective: &Effective,
) -> Vec<Violation> {
    let allow = &policy.spec.allow;
    let mut violations = Vec::new();
    let mut forbid = |pointer: Pointer, allowed: String, used: &str, remedy: &str| {
        let message = format!(
            "Policy {} allows {allowed}; `{}` is {}: {remedy} {REMEDY}.",
            code(policy.name),
            pointer.readable(),
            code(used)
        );
        let pointer = pointer.as_str().to_owned();
        violations.push(Violation { policy: policy.name.to_owned(), pointer, message });
    };
    if let Some(registries) = &allow.registries {
        for (name, container) in &subject.document.containers {
            let used = &container.image;
            if used != IMAGE_AT_DEPLOYMENT
                && !registries.iter().any(|registry| image::is_from(used, registry))
            {
                let pointer = Pointer::of(["containers", name, "image"]);
                let allowed = only("images from", "no images", registries);
                let remedy = if registries.is_empty() { "use `.`" } else { "use an image from there" };
                forbid(pointer, allowed, used, remedy);
            }
        }
    }
    if let Some(resources) = &allow.resources {
        for (key, resource) in subject.document.resources.iter().flatten() {
            let class = effective.classes.get(key).map(String::as_str).unwrap_or_default();
            if !resources.iter().any(|allowed| allows(allowed, resource, class)) {
                // Allowed resources of the same type are the most useful.
                let same = resources.iter().filter(|allowed| allowed.type_ == resource.type_);
                let same: Vec<_> = same.map(identity).collect();
                let all = resources.iter().map(identity).collect();
                let shown = if same.is_empty() { all } else { same };
                let used = name(&resource.type_, Some(class), resource.id.as_deref());
                let remedy = if resources.is_empty() { "leave it out" } else { "use one of these" };
                forbid(
                    Pointer::of(["resources", key]),
                    only("the resources", "no resources", &shown),
                    &used,
                    remedy,
                );
            }
        }
    }
    let hint =
        subject.document.metadata.annotations.as_ref().and_then(|annotations| annotations.get(PROFILE));
    if let (Some(profiles), Some(hint)) = (&allow.profiles, hint)
        && !profiles.contains(hint)
    {
        let remedy = if profiles.is_empty() { "leave it out" } else { "use one of these" };
        let pointer = Pointer::of(["metadata", "annotations", PROFILE]);
        forbid(pointer, only("the profiles", "no profiles", profiles), hint, remedy);
    }
    violations
}

fn only(what: &str, none: &str, allowed: &[String]) -> String {
    let allowed: BTreeSet<&str> = allowed.iter().map(String::as_str).collect();
    if allowed.is_empty() { none.to_owned() } else { format!("{what} {} only", list(allowed)) }
}

fn allows(allowed: &AllowedResource, resource: &Resource, class: &str) -> bool {
    let allows_id = |allowed: &String| match (resource.id.as_deref(), allowed.strip_suffix('*')) {
        (Some(id), Some(start)) => id.starts_with(start),
        (Some(id), None) => id == allowed,
        (None, _) => false,
    };
    allowed.type_ == resource.type_
        && allowed.class.as_ref().is_none_or(|allowed| allowed == class)
        && allowed.id.as_ref().is_none_or(allows_id)
}

fn identity(allowed: &AllowedResource) -> String {
    name(&allowed.type_, allowed.class.as_deref(), allowed.id.as_deref())
}

/// Identity of a resource in Score's notation: `postgres.large#shop.db`.
fn name(type_: &str, class: Option<&str>, id: Option<&str>) -> String {
    let class = class.map(|class| format!(".{class}")).unwrap_or_default();
    let id = id.map(|id| format!("#{id}")).unwrap_or_default();
    format!("{type_}{class}{id}")
}
