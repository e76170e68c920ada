//! Field ownership after a create, update or patch: the writer becomes the only owner of the fields it changes.

use std::collections::BTreeMap;

use serde_json::Value;

use super::compare::{Comparison, compare};
use super::manager::{self, Manager, Managers, Operation};
use super::reconcile::reconcile;
use super::set::Set;
use super::shape::Shape;
use super::validate::{Duplicates, validate};
use super::{Actor, Conflicts, FieldsError, blank_object, typed_name};
use crate::schema::Schema;

/// Updates beyond this number are merged, the oldest first.
const MAX_UPDATE_MANAGERS: usize = 10;
/// The name under which they are merged.
const OLD_UPDATES: &str = "ancient-changes";

/// Records the owners of the fields of an object that is about to be stored.
///
/// `live` is the object before, nothing for a create. `new` comes with the managedFields that the client sent: a
/// client may replace them, and an empty list or a single blank entry forgets them. A list that is absent or broken
/// leaves those of the live object. `reset` are the fields that the endpoint ignores.
///
/// An object that does not have the shape of its kind is left without managedFields; validation refuses it later.
pub(crate) fn update(
    schema: &Schema,
    reset: &[&[&str]],
    live: Option<&Value>,
    mut new: Value,
    actor: &Actor<'_>,
) -> Value {
    let mut managers = managers_before(live, &new, actor);
    manager::encode(&mut new, Managers::new());
    // An object that was stored without managers stays so until something is applied to it.
    let created = live.and_then(uid).is_none_or(str::is_empty);
    if managers.is_empty() && !created {
        return new;
    }
    let scope =
        Scope { shape: Shape::of_object(schema), ignored: Set::of_fields(reset.iter().copied()), actor };
    let blank = blank_object(actor);
    if scope.record_update(live.unwrap_or(&blank), &new, &mut managers, actor.manager).is_ok() {
        manager::encode(&mut new, managers);
    }
    new
}

fn uid(object: &Value) -> Option<&str> {
    object.get("metadata")?.get("uid")?.as_str()
}

/// Managers before an update: those of the client, if allowed and valid, else those of the live object.
fn managers_before(live: Option<&Value>, new: &Value, actor: &Actor<'_>) -> Managers {
    if actor.subresource.is_empty() {
        if manager::entries(new).is_some_and(|entries| manager::is_reset(&entries)) {
            return Managers::new();
        }
        if let Some(managers) = manager::decode(new).ok().filter(|managers| !managers.is_empty()) {
            return managers;
        }
    }
    live.and_then(|live| manager::decode(live).ok()).unwrap_or_default()
}

/// Context of the operations on one object.
pub(super) struct Scope<'a> {
    /// The shape of the object.
    pub(super) shape: Shape<'a>,
    /// The fields that the endpoint ignores.
    pub(super) ignored: Set,
    /// Writer.
    pub(super) actor: &'a Actor<'a>,
}

impl Scope<'_> {
    /// Makes the actor, under this name, the owner of all changes between two objects.
    pub(super) fn record_update(
        &self,
        old: &Value,
        new: &Value,
        managers: &mut Managers,
        name: &str,
    ) -> Result<(), String> {
        for (object, what) in [(new, "new"), (old, "live")] {
            validate(self.shape, object, Duplicates::Allowed).map_err(|problems| {
                format!("failed to convert {what} object ({}) to smd typed: {problems}", typed_name(object))
            })?;
        }
        self.reconcile(managers);
        let changes = self.changes(old, new);
        for manager in managers.values_mut() {
            manager.fields = changes.seen_by(manager).taken_from(&manager.fields);
        }
        managers.retain(|_, manager| !manager.fields.is_empty());

        let gained = without_system_fields(&changes.counted.set());
        if !gained.is_empty() {
            let manager = self.manager(name, Operation::Update, gained);
            let identity = manager.identity();
            let before = managers.remove(&identity).map(|before| before.fields).unwrap_or_default();
            managers.insert(identity, Manager { fields: manager.fields.clone().union(&before), ..manager });
        }
        merge_old_updates(managers);
        Ok(())
    }

    /// Converts the recorded sets to the current schema.
    pub(super) fn reconcile(&self, managers: &mut Managers) {
        for manager in managers.values_mut() {
            manager.fields = reconcile(self.shape, std::mem::take(&mut manager.fields));
        }
    }

    /// Manager entry of the actor.
    pub(super) fn manager(&self, name: &str, operation: Operation, fields: Set) -> Manager {
        Manager {
            name: if name.is_empty() { "unknown" } else { name }.to_owned(),
            operation,
            api_version: self.actor.api_version.to_owned(),
            subresource: self.actor.subresource.to_owned(),
            time: Some(self.actor.now.to_owned()),
            fields,
        }
    }

    /// Difference between two objects.
    pub(super) fn changes(&self, old: &Value, new: &Value) -> Changes<'_> {
        let all = compare(self.shape, old, new);
        let counted = all.without(&self.ignored);
        // The object's own endpoint of one version ignores fields for that version only.
        let elsewhere = self.actor.subresource.is_empty().then_some(all);
        Changes { api_version: self.actor.api_version, counted, elsewhere }
    }
}

/// The changes of an operation as managers of different versions see them.
pub(super) struct Changes<'a> {
    api_version: &'a str,
    /// The changes without the ignored fields.
    counted: Comparison,
    /// All changes, if managers of other versions see them.
    elsewhere: Option<Comparison>,
}

impl Changes<'_> {
    fn seen_by(&self, manager: &Manager) -> &Comparison {
        match &self.elsewhere {
            Some(all) if manager.api_version != self.api_version => all,
            _ => &self.counted,
        }
    }

    /// Takes changed fields from all other managers; without force, their fields must not change.
    pub(super) fn take_over(
        &self,
        managers: &mut Managers,
        applier: &str,
        force: bool,
    ) -> Result<(), FieldsError> {
        if !force {
            let others = managers.iter().filter(|(identity, _)| *identity != applier);
            let conflicts = Conflicts::with(
                others.map(|(_, manager)| (manager, self.seen_by(manager).set_among(&manager.fields))),
            );
            if !conflicts.is_empty() {
                return Err(FieldsError::Conflicts(conflicts));
            }
        }
        for (_, manager) in managers.iter_mut().filter(|(identity, _)| *identity != applier) {
            manager.fields = self.seen_by(manager).taken_from(&manager.fields);
        }
        managers.retain(|_, manager| !manager.fields.is_empty());
        Ok(())
    }
}

/// Set without the server's fields and the identity of the object.
pub(super) fn without_system_fields(fields: &Set) -> Set {
    fields.difference(&Set::of_fields([
        ["apiVersion"].as_slice(),
        &["kind"],
        &["metadata"],
        &["metadata", "name"],
        &["metadata", "namespace"],
        &["metadata", "creationTimestamp"],
        &["metadata", "selfLink"],
        &["metadata", "uid"],
        &["metadata", "clusterName"],
        &["metadata", "generation"],
        &["metadata", "managedFields"],
        &["metadata", "resourceVersion"],
    ]))
}

/// Merges the oldest update managers of each version into one until few enough are left.
fn merge_old_updates(managers: &mut Managers) {
    let mut updaters: Vec<(Option<String>, String)> = managers
        .iter()
        .filter(|(_, manager)| manager.operation == Operation::Update)
        .map(|(identity, manager)| (manager.time.clone(), identity.clone()))
        .collect();
    updaters.sort();
    let mut left = updaters.len();
    let mut first_of_version: BTreeMap<String, String> = BTreeMap::new();
    for (time, identity) in updaters {
        if left <= MAX_UPDATE_MANAGERS {
            return;
        }
        let Some(manager) = managers.get(&identity) else { continue };
        let version = manager.api_version.clone();
        let Some(first) = first_of_version.get(&version) else {
            first_of_version.insert(version, identity);
            continue;
        };
        let bucket = Manager {
            name: OLD_UPDATES.to_owned(),
            operation: Operation::Update,
            api_version: version,
            subresource: String::new(),
            time,
            fields: Set::default(),
        };
        let place = bucket.identity();
        // The first merge of a version moves its oldest manager into the bucket, unless there is a bucket already.
        let kept =
            if managers.contains_key(&place) { managers.remove(&place) } else { managers.remove(first) };
        let merged = managers.remove(&identity);
        let fields =
            [kept, merged].into_iter().flatten().fold(Set::default(), |all, one| all.union(&one.fields));
        managers.insert(place, Manager { fields, ..bucket });
        left -= 1;
    }
}
