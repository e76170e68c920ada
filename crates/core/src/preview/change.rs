//! Change of one object, field by field.

use std::collections::BTreeMap;

use orchestra_api::{
    ResourceClaim, Workload, WorkloadExposure, WorkloadPlan, annotation,
    claim::{DeprovisionPolicy, ResourceClaimSpec},
};
use orchestra_score::Pointer;
use serde::Serialize;
use serde_json::Value as Json;

use crate::{
    claim_state::{is_deleting, was_bound},
    claims::SEGMENTS,
    config::provisioner,
};

/// Action on an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Action {
    /// It is created.
    Create,
    /// It is changed.
    Update,
    /// It is deleted.
    Delete,
    /// It does not change.
    Unchanged,
}

/// Kinds of objects of a Workload, and the Workload itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum ObjectKind {
    /// A claim.
    ResourceClaim,
    /// The plan.
    WorkloadPlan,
    /// The exposure.
    WorkloadExposure,
    /// The Workload, created first and deleted last.
    Workload,
}

/// Change of one object.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PreviewChange {
    /// Action.
    pub action: Action,
    /// Kind of the object.
    pub kind: ObjectKind,
    /// Name of the object.
    pub name: String,
    /// Description of the object.
    pub title: String,
    /// When or how, if that is not obvious.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Changed fields of its spec, by pointer; for a Workload, those of its Score document. Empty for a deletion.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<FieldChange>,
}

/// Change of one field. A list is one field, and so is a text with references.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FieldChange {
    /// JSON pointer.
    pub pointer: String,
    /// Current value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Json>,
    /// New value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Json>,
}

impl PreviewChange {
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

    /// Deletion of a claim, with its deprovision policy.
    pub(super) fn of_release(claim: &ResourceClaim) -> Self {
        let engine = claim.metadata.annotations.as_ref().and_then(|all| all.get(annotation::ENGINE));
        // An external provisioner leaves its finalizer.
        let is_held = claim.metadata.finalizers.as_ref().is_some_and(|holders| !holders.is_empty());
        let (how, is_provisioned) = match claim.spec.deprovision_policy {
            _ if engine.is_some_and(|engine| provisioner::is_existing(engine)) => {
                ("released; the existing resource is kept", false)
            }
            _ if !was_bound(claim) && engine.is_none() && !is_held => ("nothing was provisioned", false),
            _ if !was_bound(claim) => ("it was never ready; its provisioning is cancelled", true),
            DeprovisionPolicy::Delete => ("deleted with its data", true),
            DeprovisionPolicy::Retain => ("stopped; data and passwords are kept", true),
            DeprovisionPolicy::Orphan => ("left running, no longer managed", true),
        };
        let is_shared = is_provisioned && claim.spec.id.is_some();
        let unless = if is_shared { ", unless another workload shares it" } else { "" };
        let change = Self::of_deletion(
            ObjectKind::ResourceClaim,
            claim.metadata.name.as_deref(),
            claim_title(&claim.spec),
        );
        change.with_note(&format!("{how}{unless}")).in_progress(is_deleting(claim))
    }

    /// Deletion of the plan, which stops the Workload.
    pub(super) fn of_stop(plan: &WorkloadPlan) -> Self {
        let title = format!("plan ({} on {})", plan.spec.profile, plan.spec.backend_id);
        let change = Self::of_deletion(ObjectKind::WorkloadPlan, plan.metadata.name.as_deref(), title);
        change.with_note("the workload is stopped").in_progress(plan.metadata.deletion_timestamp.is_some())
    }

    /// Deletion of the exposure, which withdraws the address.
    pub(super) fn of_withdrawal(exposure: &WorkloadExposure) -> Self {
        let name = exposure.metadata.name.as_deref();
        let change = Self::of_deletion(ObjectKind::WorkloadExposure, name, "address".to_owned());
        change.with_note("withdrawn").in_progress(exposure.metadata.deletion_timestamp.is_some())
    }

    /// Creation of the Workload.
    pub(super) fn of_creation(workload: &Workload) -> Self {
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

    /// Change of an existing Workload by an apply; `None` if there is none. Fields are those of its Score document.
    pub(super) fn of_document(live: &Workload, desired: &Workload) -> Option<Self> {
        let fields = compare(Some(&live.document()), &desired.document());
        let change = Self { action: Action::Update, fields, ..Self::of_creation(desired) };
        (!change.fields.is_empty()).then_some(change)
    }

    /// Deletion of the Workload.
    pub(super) fn of_workload_deletion(workload: &Workload) -> Self {
        let name = workload.metadata.name.as_deref();
        let title = format!("workload {}", name.unwrap_or_default());
        Self::of_deletion(ObjectKind::Workload, name, title).with_note("after everything else is gone")
    }

    fn of_deletion(kind: ObjectKind, name: Option<&str>, title: String) -> Self {
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
            return change.with_note("only labels and owner");
        }
        change
    }

    /// Adds a note.
    pub(super) fn with_note(mut self, note: &str) -> Self {
        self.note = Some(self.note.map_or_else(|| note.to_owned(), |before| format!("{before}; {note}")));
        self
    }

    fn in_progress(self, is_deleting: bool) -> Self {
        if is_deleting { self.with_note("already being deleted") } else { self }
    }

    /// Drops fields whose values cannot be known in advance.
    pub(super) fn forget(&mut self, pointers: &[&str]) {
        self.fields.retain(|field| !pointers.contains(&field.pointer.as_str()));
    }
}

fn claim_title(claim: &ResourceClaimSpec) -> String {
    let id = claim.id.as_ref().map(|id| format!(", shared as {id}")).unwrap_or_default();
    format!("dependency {} ({}, {}{id})", claim.key, claim.type_, claim.class)
}

/// Fields in which two values differ, by pointer.
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
