//! Field ownership: `metadata.managedFields` and server-side apply.
//!
//! Every field of an object has the managers that set it. An update owns the fields it changes; an apply owns the
//! fields of its configuration, gives up those it no longer mentions, and conflicts with changes to fields of other
//! managers. Rules and wire format are those of a real server.
//!
//! The layers, from the bottom: paths and sets of them (`path`, `set`, `fields_v1`); the shape of a kind (`shape`,
//! `object_meta`); operations on objects of a shape (`validate`, `owned`, `merge`, `compare`, `remove`, `reconcile`);
//! managers (`manager`, `conflict`); and the two writes (`update`, `apply`).

mod apply;
mod compare;
mod conflict;
mod fields_v1;
mod item;
mod last_applied;
mod manager;
mod merge;
mod object_meta;
mod owned;
mod path;
mod reconcile;
mod remove;
mod set;
mod shape;
mod update;
mod validate;
mod value;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

use serde_json::Value;

pub(crate) use self::apply::apply;
pub(crate) use self::conflict::{Conflict, Conflicts};
pub(crate) use self::update::update;

/// Writer of a request: manager, operation, API version, time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Actor<'a> {
    /// The name of the field manager.
    pub manager: &'a str,
    /// The group and version of the request: `v1`, `apps/v1`.
    pub api_version: &'a str,
    /// The kind of the object.
    pub kind: &'a str,
    /// The subresource of the request; empty for the object itself.
    pub subresource: &'a str,
    /// The time of the request in RFC 3339, UTC, whole seconds.
    pub now: &'a str,
    /// Blank object of the kind, if it has more than apiVersion and kind. Built-in kinds have fields that are always
    /// present; the creator of an object does not own those that it leaves unchanged.
    pub blank: Option<&'a Value>,
}

/// Error of an apply.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FieldsError {
    /// Other managers own changed fields: 409.
    #[error("{0}")]
    Conflicts(Conflicts),
    /// The request is not an apply of this object: 400.
    #[error("{0}")]
    BadRequest(String),
    /// The configuration or the live object does not have the shape of the kind: 500, without a reason.
    #[error("{0}")]
    Internal(String),
}

/// True if two objects differ at most in the times of their managedFields, so that no write is needed.
pub(crate) fn equal_but_times(left: &Value, right: &Value) -> bool {
    value::same(&without_times(left), &without_times(right))
}

fn without_times(object: &Value) -> Value {
    let mut object = object.clone();
    let entries = object.pointer_mut("/metadata/managedFields").and_then(Value::as_array_mut);
    for entry in entries.into_iter().flatten().filter_map(Value::as_object_mut) {
        entry.remove("time");
    }
    object
}

/// Object before its creation.
fn blank_object(actor: &Actor<'_>) -> Value {
    let mut object = actor.blank.and_then(Value::as_object).cloned().unwrap_or_default();
    object.insert("apiVersion".into(), actor.api_version.into());
    object.insert("kind".into(), actor.kind.into());
    Value::Object(object)
}

/// `group/version, Kind=kind`; the group of the core API is empty.
pub(crate) fn group_version_kind(api_version: &str, kind: &str) -> String {
    match api_version.split('/').collect::<Vec<_>>().as_slice() {
        [version] => format!("/{version}, Kind={kind}"),
        [group, version] => format!("{group}/{version}, Kind={kind}"),
        _ => "/, Kind=".to_owned(),
    }
}

/// An object in a message: `namespace/name; group/version, Kind=kind`.
fn typed_name(object: &Value) -> String {
    let text = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let kind = group_version_kind(text("/apiVersion"), text("/kind"));
    format!("{}/{}; {kind}", text("/metadata/namespace"), text("/metadata/name"))
}
