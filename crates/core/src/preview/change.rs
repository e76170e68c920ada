//! What becomes of one object, field by field.

use std::collections::BTreeMap;

use orchestra_api::{
    ResourceClaim, Workload, WorkloadExposure, WorkloadPlan, annotation,
    claim::{DeprovisionPolicy, ResourceClaimSpec},
};
use orchestra_score::Pointer;
use serde::Serialize;
use serde_json::Value as Json;

use crate::{claims::SEGMENTS, config::provisioner, outputs::was_bound};

/// What becomes of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Action {
    /// It is made.
    Create,
    /// It is changed.
    Update,
    /// It is removed.
    Delete,
    /// It stays as it is.
    Unchanged,
}

/// Kinds of objects that are made for a Workload, and the Workload itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum ObjectKind {
    /// A claim.
    ResourceClaim,
    /// The plan.
    WorkloadPlan,
    /// The exposure.
    WorkloadExposure,
    /// The Workload, which comes first and goes last.
    Workload,
}

/// What becomes of one object.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// What becomes of it.
    pub action: Action,
    /// What it is.
    pub kind: ObjectKind,
    /// Its name.
    pub name: String,
    /// What it is, in words.
    pub title: String,
    /// When or how, where that is not plain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The fields of its spec that change, by pointer; of a Workload, those of its Score document. Of what is removed
    /// none is listed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<FieldChange>,
}

/// What becomes of one field. A list is one field, and so is a text with references in it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FieldChange {
    /// Its place, as a JSON pointer.
    pub pointer: String,
    /// What is there now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Json>,
    /// What would be there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Json>,
}

impl Change {
    pub(super) fn of_claim(live: Option<&ResourceClaim>, desired: &ResourceClaim) -> Self {
        let name = desired.metadata.name.as_deref();
        let title = claim_title(&desired.spec);
        let is_same = live == Some(desired);
        Self::of(ObjectKind::ResourceClaim, name, title, live.map(|live| &live.spec), &desired.spec, is_same)
    }

    pub(super) fn of_plan(live: Option<&WorkloadPlan>, desired: &WorkloadPlan) -> Self {
        let name = desired.metadata.name.as_deref();
        let title = format!("plan ({} on {})", desired.spec.profile, desired.spec.backend_id);
        let is_same = live == Some(desired);
        Self::of(ObjectKind::WorkloadPlan, name, title, live.map(|live| &live.spec), &desired.spec, is_same)
    }

    pub(super) fn of_exposure(live: Option<&WorkloadExposure>, desired: &WorkloadExposure) -> Self {
        let name = desired.metadata.name.as_deref();
        let title = "address".to_owned();
        let is_same = live == Some(desired);
        let live = live.map(|live| &live.spec);
        Self::of(ObjectKind::WorkloadExposure, name, title, live, &desired.spec, is_same)
    }

    /// The removal of a claim, under its policy.
    pub(super) fn of_release(claim: &ResourceClaim) -> Self {
        let begun = claim.metadata.annotations.as_ref().and_then(|all| all.get(annotation::ENGINE));
        // A provisioner of somebody else notes itself with its finalizer.
        let is_held = claim.metadata.finalizers.as_ref().is_some_and(|holders| !holders.is_empty());
        let (how, is_made) = match claim.spec.deprovision_policy {
            _ if begun.is_some_and(|engine| engine == provisioner::STATIC) => {
                ("let go; it was there before, and stays", false)
            }
            _ if !was_bound(claim) && begun.is_none() && !is_held => ("nothing was made for it", false),
            _ if !was_bound(claim) => ("it was never ready; what was begun for it is given up", true),
            DeprovisionPolicy::Delete => ("removed with its data", true),
            DeprovisionPolicy::Retain => ("stopped; data and passwords are kept", true),
            DeprovisionPolicy::Orphan => ("left running; nobody looks after it any more", true),
        };
        let is_shared = is_made && claim.spec.id.is_some();
        let unless = if is_shared { ", unless another workload shares it" } else { "" };
        let change = Self::of_removal(
            ObjectKind::ResourceClaim,
            claim.metadata.name.as_deref(),
            claim_title(&claim.spec),
        );
        change.with_note(&format!("{how}{unless}")).going(claim.metadata.deletion_timestamp.is_some())
    }

    /// The removal of the plan, which stops what runs.
    pub(super) fn of_stop(plan: &WorkloadPlan) -> Self {
        let title = format!("plan ({} on {})", plan.spec.profile, plan.spec.backend_id);
        let change = Self::of_removal(ObjectKind::WorkloadPlan, plan.metadata.name.as_deref(), title);
        change.with_note("what runs is stopped").going(plan.metadata.deletion_timestamp.is_some())
    }

    /// The removal of the exposure, which withdraws the address.
    pub(super) fn of_withdrawal(exposure: &WorkloadExposure) -> Self {
        let name = exposure.metadata.name.as_deref();
        let change = Self::of_removal(ObjectKind::WorkloadExposure, name, "address".to_owned());
        change.with_note("withdrawn").going(exposure.metadata.deletion_timestamp.is_some())
    }

    /// A Workload that there is not yet.
    pub(super) fn of_beginning(workload: &Workload) -> Self {
        let name = workload.metadata.name.clone().unwrap_or_default();
        let title = format!("workload {name}");
        Self {
            action: Action::Create,
            kind: ObjectKind::Workload,
            name,
            title,
            note: None,
            fields: Vec::new(),
        }
    }

    /// What an apply changes in a Workload that exists; nothing if it says the same. Fields are those of its Score
    /// document.
    pub(super) fn of_document(held: &Workload, desired: &Workload) -> Option<Self> {
        let fields = compare(Some(&held.document()), &desired.document());
        let change = Self { action: Action::Update, fields, ..Self::of_beginning(desired) };
        (!change.fields.is_empty()).then_some(change)
    }

    /// The end of the Workload.
    pub(super) fn of_end(workload: &Workload) -> Self {
        let name = workload.metadata.name.as_deref();
        let title = format!("workload {}", name.unwrap_or_default());
        Self::of_removal(ObjectKind::Workload, name, title).with_note("when nothing is left of it")
    }

    fn of_removal(kind: ObjectKind, name: Option<&str>, title: String) -> Self {
        let name = name.unwrap_or_default().to_owned();
        Self { action: Action::Delete, kind, name, title, note: None, fields: Vec::new() }
    }

    fn of<S: Serialize>(
        kind: ObjectKind,
        name: Option<&str>,
        title: String,
        live: Option<&S>,
        desired: &S,
        is_same: bool,
    ) -> Self {
        let fields = compare(live, desired);
        let action = match live {
            None => Action::Create,
            Some(_) if is_same => Action::Unchanged,
            Some(_) => Action::Update,
        };
        let change =
            Self { action, kind, name: name.unwrap_or_default().to_owned(), title, note: None, fields };
        if action == Action::Update && change.fields.is_empty() {
            return change.with_note("only its labels and its owner are put right");
        }
        change
    }

    /// Says when or how, after what was said already.
    pub(super) fn with_note(mut self, note: &str) -> Self {
        self.note = Some(self.note.map_or_else(|| note.to_owned(), |before| format!("{before}; {note}")));
        self
    }

    fn going(self, is_going: bool) -> Self {
        if is_going { self.with_note("on its way already") } else { self }
    }

    /// Leaves out fields whose values cannot be known beforehand.
    pub(super) fn forget(&mut self, pointers: &[&str]) {
        self.fields.retain(|field| !pointers.contains(&field.pointer.as_str()));
    }
}

fn claim_title(claim: &ResourceClaimSpec) -> String {
    let id = claim.id.as_ref().map(|id| format!(", shared as {id}")).unwrap_or_default();
    format!("dependency {} ({}, {}{id})", claim.key, claim.type_, claim.class)
}

/// The fields in which two values differ, by pointer.
fn compare<S: Serialize>(before: Option<&S>, after: &S) -> Vec<FieldChange> {
    let fields = |value: Option<&S>| {
        let mut found = BTreeMap::new();
        if let Some(value) = value {
            collect(&serde_json::to_value(value).unwrap_or_default(), &Pointer::root(), &mut found);
        }
        found
    };
    let (mut before, mut after) = (fields(before), fields(Some(after)));
    let pointers: std::collections::BTreeSet<String> = before.keys().chain(after.keys()).cloned().collect();
    let changes = pointers.into_iter().map(|pointer| FieldChange {
        before: before.remove(&pointer),
        after: after.remove(&pointer),
        pointer,
    });
    changes.filter(|change| change.before != change.after).collect()
}

fn collect(value: &Json, at: &Pointer, found: &mut BTreeMap<String, Json>) {
    match value {
        Json::Object(map) if !map.is_empty() && !map.contains_key(SEGMENTS) => {
            map.iter().for_each(|(key, value)| collect(value, &at.key(key), found));
        }
        _ => {
            found.insert(at.as_str().to_owned(), value.clone());
        }
    }
}
