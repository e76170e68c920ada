//! Step four: claims for the dependencies of a Workload: which to write, which are blocked, and which to delete.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use orchestra_api::{
    Placement, ResourceClaim,
    claim::{Phase, ResourceClaimSpec},
    condition::Reason,
    label, name,
    workload::ClaimSummary,
};
use orchestra_score::{
    expansion,
    model::Resource,
    placeholder::{Reference, Template, Token, tokens},
};
use serde_json::{Map, Value as Json, json};

use crate::{
    claim_state::{is_deleting, is_observed, is_provided},
    inputs::{Inputs, Owned},
    outputs::{Gap, Outputs, text},
    policy::Effective,
};

/// Key in parameters of a text that contains secrets.
pub const SEGMENTS: &str = "$segments";

/// Decision about the claims of a Workload.
#[derive(Debug)]
pub(crate) struct Claims {
    /// Claims of the current document, by key.
    pub(crate) desired: BTreeMap<String, DesiredClaim>,
}

/// Claim of a dependency in the current document.
#[derive(Debug)]
pub(crate) struct DesiredClaim {
    /// Claim to write, if it differs.
    pub(crate) write: Option<ResourceClaim>,
    /// Reason why it cannot be written yet.
    pub(crate) blocked: Option<String>,
    /// Values missing in its parameters.
    pub(crate) gaps: Vec<Gap>,
    /// True if it exists with another spec, so its outputs are out of date.
    pub(crate) outdated: bool,
}

/// Names of the claims of a Workload, by key of the resource.
pub(crate) fn names(
    workload: &str,
    resources: &BTreeMap<String, Resource>,
    effective: &Effective,
) -> BTreeMap<String, String> {
    let name_of = |key: &String, resource: &Resource| {
        name::claim(workload, key, &resource.type_, class(key, effective), resource.id.as_deref())
    };
    resources.iter().map(|(key, resource)| (key.clone(), name_of(key, resource))).collect()
}

fn class<'e>(key: &str, effective: &'e Effective) -> &'e str {
    effective.classes.get(key).map_or(orchestra_score::resource::Uid::DEFAULT_CLASS, String::as_str)
}

/// Classes of existing claims whose author names none, by key: an edit of a policy changes none of them.
pub(crate) fn existing_classes(
    live: &Owned<'_>,
    resources: &BTreeMap<String, Resource>,
) -> BTreeMap<String, String> {
    let in_force = |name: &str| {
        let plan = live.plan.ours();
        plan.is_some_and(|plan| plan.spec.claims.iter().any(|claim| claim.name == name))
    };
    let class_of = |(key, resource): (&String, &Resource)| {
        let fits = live.claims.iter().filter(|(_, claim)| {
            claim.spec.key == *key
                && claim.spec.type_ == resource.type_
                && claim.spec.id == resource.id
                && (!is_deleting(claim) || live.is_kept(claim))
        });
        let (_, claim) = fits.max_by_key(|(name, _)| in_force(name))?;
        resource.class.is_none().then(|| (key.clone(), claim.spec.class.clone()))
    };
    resources.iter().filter_map(class_of).collect()
}

/// Decides about every dependency.
pub(crate) fn claim(
    inputs: &Inputs,
    live: &Owned<'_>,
    resources: &BTreeMap<String, Resource>,
    effective: &Effective,
    placement: &Placement,
    outputs: &Outputs<'_>,
) -> Claims {
    let workload = inputs.workload_ref();
    let names = names(&workload.name, resources, effective);
    let mut desired_claims = BTreeMap::new();
    for (key, resource) in resources {
        let name = names[key].clone();
        let existing = live.claims.get(name.as_str()).copied();
        let blocked = if live.foreign_claims.contains(&name.as_str()) {
            Some("Waiting for an earlier claim of this name to be deleted.".to_owned())
        } else if existing.is_some_and(|claim| is_deleting(claim) && !live.is_kept(claim)) {
            Some("Being deleted; it is requested again afterwards.".to_owned())
        } else {
            None
        };
        let expanded = expand(resource.params.as_ref(), outputs);
        let entry = match (blocked, expanded) {
            (Some(message), _) => {
                DesiredClaim { write: None, blocked: Some(message), gaps: Vec::new(), outdated: false }
            }
            (None, Err(gaps)) => {
                let message = gaps.first().map(|gap| gap.message.clone()).unwrap_or_default();
                DesiredClaim { write: None, blocked: Some(message), gaps, outdated: false }
            }
            (None, Ok(params)) => {
                let spec = ResourceClaimSpec {
                    workload_ref: workload.clone(),
                    key: key.clone(),
                    type_: resource.type_.clone(),
                    class: class(key, effective).to_owned(),
                    id: resource.id.clone(),
                    params,
                    metadata: resource.metadata.clone(),
                    placement: placement.clone(),
                    deprovision_policy: effective.deprovision.get(key).copied().unwrap_or_default(),
                    depends_on: references(resource.params.as_ref()),
                };
                let desired = object(inputs, &name, spec);
                let outdated = existing.is_some_and(|existing| is_outdated(existing, &desired));
                let blocked = existing.filter(|existing| outdated && is_deleting(existing)).map(|_| {
                    "Deleted claims cannot change: remove the resource from the document, and add it again once the claim is gone."
                        .to_owned()
                });
                let differs =
                    existing.is_none_or(|existing| !is_deleting(existing) && differs(existing, &desired));
                DesiredClaim { write: differs.then_some(desired), blocked, gaps: Vec::new(), outdated }
            }
        };
        desired_claims.insert(key.clone(), entry);
    }
    Claims { desired: desired_claims }
}

/// True if the desired spec differs. Of a deleted claim only parameters and metadata count: its placement and removal are
/// already decided.
fn is_outdated(existing: &ResourceClaim, desired: &ResourceClaim) -> bool {
    if is_deleting(existing) {
        return existing.spec.params != desired.spec.params
            || existing.spec.metadata != desired.spec.metadata;
    }
    existing.spec != desired.spec
}

/// Parameters of a claim, with every placeholder expanded.
fn expand(
    params: Option<&Map<String, Json>>,
    outputs: &Outputs<'_>,
) -> Result<Option<Map<String, Json>>, Vec<Gap>> {
    let Some(params) = params else { return Ok(None) };
    match expansion::params(outputs, &Json::Object(params.clone())) {
        Ok(template) => Ok(match to_json(template) {
            Json::Object(map) => Some(map),
            _ => None,
        }),
        Err(errors) => Err(errors.iter().map(|at| outputs.gap(&at.error)).collect()),
    }
}

/// JSON of an expanded value in the spec of a claim.
fn to_json(template: Template<crate::outputs::Reference>) -> Json {
    match template {
        Template::Plain(value) => value,
        Template::Text(segments) => {
            let segments = text(segments);
            match segments.as_slice() {
                [orchestra_api::plan::Segment::Literal(text)] => json!(text),
                _ => json!({SEGMENTS: segments}),
            }
        }
        Template::List(list) => list.into_iter().map(to_json).collect(),
        Template::Map(map) => {
            Json::Object(map.into_iter().map(|(key, value)| (key, to_json(value))).collect())
        }
    }
}

/// Keys of the resources that a text refers to.
pub(crate) fn referred_to(text: &str) -> impl Iterator<Item = String> {
    tokens(text).filter_map(|token| match token {
        Token::Reference(reference) => match Reference::parse(reference) {
            Ok(Reference::Resource { name, .. }) => Some(name),
            _ => None,
        },
        _ => None,
    })
}

/// Keys of the resources that parameters refer to.
pub(crate) fn references(params: Option<&Map<String, Json>>) -> Vec<String> {
    fn visit(value: &Json, found: &mut BTreeSet<String>) {
        match value {
            Json::String(text) => found.extend(referred_to(text)),
            Json::Array(list) => list.iter().for_each(|item| visit(item, found)),
            Json::Object(map) => map.values().for_each(|item| visit(item, found)),
            _ => {}
        }
    }
    let mut found = BTreeSet::new();
    params.into_iter().flat_map(Map::values).for_each(|value| visit(value, &mut found));
    found.into_iter().collect()
}

fn object(inputs: &Inputs, name: &str, spec: ResourceClaimSpec) -> ResourceClaim {
    let workload = &spec.workload_ref.name;
    let instance = name::instance(
        inputs.namespace_name(),
        &spec.type_,
        &spec.class,
        spec.id.as_deref(),
        workload,
        &spec.key,
    );
    let labels = [
        (label::WORKLOAD, workload.clone()),
        (label::KEY, spec.key.clone()),
        (label::INSTANCE, instance),
        (label::MANAGED_BY, label::ORCHESTRA.to_owned()),
    ];
    ResourceClaim {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            namespace: Some(inputs.namespace_name().to_owned()),
            labels: Some(labels.map(|(key, value)| (key.to_owned(), value)).into()),
            owner_references: Some(vec![inputs.owner_reference()]),
            ..ObjectMeta::default()
        },
        spec,
        status: None,
    }
}

/// True if desired labels or owners are missing. Those that others have added stay.
pub(crate) fn metadata_differs(existing: &ObjectMeta, desired: &ObjectMeta) -> bool {
    let labels = existing.labels.as_ref();
    let owners = existing.owner_references.as_ref();
    desired
        .labels
        .iter()
        .flatten()
        .any(|(key, value)| labels.and_then(|labels| labels.get(key)) != Some(value))
        || desired
            .owner_references
            .iter()
            .flatten()
            .any(|owner| !owners.is_some_and(|all| all.contains(owner)))
}

fn differs(existing: &ResourceClaim, desired: &ResourceClaim) -> bool {
    existing.spec != desired.spec || metadata_differs(&existing.metadata, &desired.metadata)
}

/// Claims to delete: not desired, and no remaining claim depends on them. A current claim depends on the successor, if
/// there is one.
pub(crate) fn removable<'a>(
    live: &Owned<'a>,
    is_wanted: impl Fn(&ResourceClaim) -> bool,
    is_current: impl Fn(&ResourceClaim) -> bool,
) -> Vec<&'a ResourceClaim> {
    let needed = |claim: &ResourceClaim| {
        let has_successor =
            live.claims.values().any(|other| other.spec.key == claim.spec.key && is_current(other));
        live.claims.values().any(|other| {
            other.metadata.name != claim.metadata.name
                && other.spec.depends_on.contains(&claim.spec.key)
                && !(has_successor && is_current(other))
        })
    };
    live.claims.values().copied().filter(|claim| !is_wanted(claim) && !needed(claim)).collect()
}

/// True if a reason names the specific obstacle of a dependency.
pub(crate) fn is_obstacle(reason: Reason) -> bool {
    matches!(
        reason,
        Reason::PolicyViolation
            | Reason::QuotaExceeded
            | Reason::PermissionDenied
            | Reason::NetworkUnavailable
    )
}

/// Row of a claim in the status of its Workload. A claim that is kept still has its outputs, although it was deleted.
pub(crate) fn summary(claim: &ResourceClaim, is_kept: bool, is_wanted: bool) -> ClaimSummary {
    let key = claim.spec.key.clone();
    let status = claim.status.clone().unwrap_or_default();
    let outputs_available = is_provided(claim) && (is_kept || !is_deleting(claim));
    let (phase, reason, message) = if is_deleting(claim) && outputs_available {
        let message = if is_wanted {
            "Deleted, but kept while the running version uses it; remove the resource from the document to release it."
        } else {
            "No longer needed; kept until the running version no longer uses it."
        };
        (status.phase, Reason::Succeeded, message.to_owned())
    } else if is_deleting(claim) {
        // A message of success does not describe the removal.
        let message = status.message.filter(|_| status.reason != Some(Reason::Succeeded));
        (Phase::Pending, Reason::BindingPending, message.unwrap_or_else(|| "Being released.".to_owned()))
    } else if !is_observed(claim) {
        (Phase::Binding, Reason::BindingPending, "Waiting for the provisioner to apply a change.".to_owned())
    } else {
        let (reason, message) = match status.phase {
            Phase::Bound if status.outputs_available => (Reason::Succeeded, "Ready."),
            Phase::Bound => (Reason::BindingPending, "Bound; waiting for the remaining outputs."),
            Phase::Binding => (Reason::BindingPending, "Being provisioned."),
            Phase::Pending => (Reason::BindingPending, "Waiting for a provisioner to pick up this claim."),
            Phase::Failed => (Reason::BindingFailed, "Provisioning failed."),
        };
        let given = status.message.filter(|message| !message.is_empty());
        (status.phase, status.reason.unwrap_or(reason), given.unwrap_or_else(|| message.to_owned()))
    };
    ClaimSummary { key, phase, reason, message, outputs_available }
}
