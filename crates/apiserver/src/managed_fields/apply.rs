//! Server-side apply: merges a configuration into the live object, unless other managers own its fields.

use serde_json::Value;

use super::manager::{self, Manager, Managers, Operation};
use super::merge::merge;
use super::remove::without;
use super::set::Set;
use super::shape::Shape;
use super::update::{Scope, without_system_fields};
use super::validate::{Duplicates, validate};
use super::value::{restore_integers, same};
use super::{Actor, FieldsError, blank_object, group_version_kind, last_applied, owned, typed_name};
use crate::schema::Schema;

/// Manager of the fields that an object had before its first apply.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// Applies a configuration to the live object, or to none to create it.
///
/// The result has its managedFields. Fields that the manager applied before and omits now are removed, unless
/// another manager owns them. A change of a field of another manager is a conflict, except by force. `reset` are the
/// fields that the endpoint ignores.
///
/// Pruning and defaulting are for the caller, on the result.
pub(crate) fn apply(
    schema: &Schema,
    reset: &[&[&str]],
    live: Option<&Value>,
    patch: &Value,
    actor: &Actor<'_>,
    force: bool,
) -> Result<Value, FieldsError> {
    let mut live = live.cloned().unwrap_or_else(|| blank_object(actor));
    if let Some(object) = live.as_object_mut() {
        object.insert("apiVersion".into(), actor.api_version.into());
    }
    let mut patch = patch.clone();
    restore_integers(&mut patch);
    let managers = manager::decode(&live)
        .map_err(|error| FieldsError::Internal(format!("failed to decode managed fields: {error}")))?;
    let wanted = group_version_kind(actor.api_version, actor.kind);
    let given = typed_gvk(&patch);
    if given != wanted {
        return Err(FieldsError::BadRequest(format!("invalid object type: {given}")));
    }

    let scope =
        Scope { shape: Shape::of_object(schema), ignored: Set::of_fields(reset.iter().copied()), actor };
    let mut outcome = scope.apply(&live, &patch, managers.clone(), force);
    if actor.manager == last_applied::MANAGER
        && let Err(FieldsError::Conflicts(conflicts)) = &outcome
        && let Some(allowed) = last_applied::unchanged_fields(scope.shape, &live, actor)
    {
        let left = conflicts.outside(&allowed);
        outcome = if left.is_empty() {
            scope.apply(&live, &patch, managers, true)
        } else {
            Err(FieldsError::Conflicts(left))
        };
    }
    let (mut object, managers) = outcome?;
    if actor.manager == last_applied::MANAGER {
        last_applied::refresh(&mut object, &patch);
    }
    manager::encode(&mut object, managers);
    Ok(object)
}

fn typed_gvk(object: &Value) -> String {
    let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
    group_version_kind(text("apiVersion"), text("kind"))
}

impl Scope<'_> {
    fn apply(
        &self,
        live: &Value,
        patch: &Value,
        mut managers: Managers,
        force: bool,
    ) -> Result<(Value, Managers), FieldsError> {
        if managers.is_empty() {
            self.record_update(&blank_object(self.actor), live, &mut managers, BEFORE_FIRST_APPLY).map_err(
                |error| {
                    FieldsError::Internal(format!("failed to create manager for existing fields: {error}"))
                },
            )?;
        }
        if manager::entries(patch).is_some() {
            return Err(FieldsError::BadRequest("metadata.managedFields must be nil".into()));
        }
        for (object, duplicates, what) in
            [(patch, Duplicates::Refused, "patch"), (live, Duplicates::Allowed, "live")]
        {
            validate(self.shape, object, duplicates).map_err(|problems| {
                FieldsError::Internal(format!(
                    "failed to create typed {what} object ({}): {problems}",
                    typed_name(object)
                ))
            })?;
        }
        self.reconcile(&mut managers);

        let merged = merge(self.shape, Some(live), Some(patch)).unwrap_or_default();
        let fields = owned::fields(self.shape, patch).recursive_difference(&self.ignored);
        let applier = self.manager(self.actor.manager, Operation::Apply, fields);
        let identity = applier.identity();
        let before = managers.insert(identity.clone(), applier);
        let applied = match &before {
            Some(before) if !before.fields.is_empty() => self.prune(&merged, &managers, &before.fields),
            _ => merged,
        };
        self.changes(live, &applied).take_over(&mut managers, &identity, force)?;

        let unchanged = same(live, &applied);
        if let Some(applier) = managers.remove(&identity) {
            let fields = without_system_fields(&applier.fields);
            let time = if unchanged { before.and_then(|before| before.time) } else { applier.time };
            if !fields.is_empty() {
                managers.insert(identity, Manager { time, fields, ..applier });
            }
        }
        Ok((if unchanged { live.clone() } else { applied }, managers))
    }

    /// Removes the fields that the applier applied before and does not apply now, if no manager owns them.
    fn prune(&self, merged: &Value, managers: &Managers, before: &Set) -> Value {
        let named = |set: &Set| set.with_named_parents(Some(self.shape));
        let before = named(before);
        let everything = named(&owned::fields(self.shape, merged));

        let pruned = without(self.shape, merged, &before);
        let claimed = managers.values().fold(Set::default(), |all, manager| all.union(&manager.fields));
        let kept = named(&owned::fields(self.shape, &pruned)).union(&named(&claimed));
        let pruned = without(self.shape, merged, &everything.difference(&kept));

        // A field that was removed with its parent but never belonged to the applier stays.
        let kept = named(&owned::fields(self.shape, &pruned));
        without(self.shape, merged, &everything.difference(&kept).intersection(&before))
    }
}
