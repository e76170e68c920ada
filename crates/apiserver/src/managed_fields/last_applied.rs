//! Migration from client-side to server-side apply. Client-side `kubectl apply` leaves its configuration in an
//! annotation; the first server-side apply of `kubectl` may take over those fields, and keeps the annotation up to
//! date.

use serde_json::{Map, Value};

use super::compare::compare;
use super::set::Set;
use super::shape::Shape;
use super::validate::{Duplicates, validate};
use super::{Actor, owned};
use crate::json;

/// Manager whose annotation is used.
pub(super) const MANAGER: &str = "kubectl";

const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// Maximum size of all annotations of an object.
const MAX_ANNOTATIONS_BYTES: usize = 256 * 1024;

fn annotations(object: &Value) -> Option<&Map<String, Value>> {
    object.get("metadata")?.get("annotations")?.as_object()
}

fn annotation(object: &Value) -> Option<&str> {
    annotations(object)?.get(ANNOTATION)?.as_str().filter(|text| !text.is_empty())
}

/// Fields that still have the value in the annotation: these may be taken over.
pub(super) fn unchanged_fields(shape: Shape<'_>, live: &Value, actor: &Actor<'_>) -> Option<Set> {
    let applied: Value = serde_json::from_str(annotation(live)?).ok()?;
    let text = |name: &str| applied.get(name).and_then(Value::as_str);
    if text("apiVersion") != Some(actor.api_version) || text("kind").is_none_or(str::is_empty) {
        return None;
    }
    validate(shape, live, Duplicates::Refused).ok()?;
    validate(shape, &applied, Duplicates::Refused).ok()?;
    Some(compare(shape, &applied, live).taken_from(&owned::fields(shape, &applied)))
}

/// Updates the annotation of an object, if it has one, to the applied configuration; removes it if it is too large.
pub(super) fn refresh(object: &mut Value, applied: &Value) {
    if annotation(object).is_none() {
        return;
    }
    let text = as_annotation(applied);
    let metadata = object.get_mut("metadata").and_then(|metadata| metadata.get_mut("annotations"));
    let Some(annotations) = metadata.and_then(Value::as_object_mut) else { return };
    annotations.insert(ANNOTATION.to_owned(), text.into());
    let size: usize =
        annotations.iter().map(|(name, text)| name.len() + text.as_str().map_or(0, str::len)).sum();
    if size > MAX_ANNOTATIONS_BYTES {
        annotations.remove(ANNOTATION);
    }
}

/// Content of the annotation for a configuration: without the annotation itself, in one line.
fn as_annotation(applied: &Value) -> String {
    let mut applied = applied.clone();
    let annotations = applied.get_mut("metadata").and_then(|metadata| metadata.get_mut("annotations"));
    if let Some(annotations) = annotations.and_then(Value::as_object_mut) {
        annotations.remove(ANNOTATION);
    }
    json::text(&applied) + "\n"
}
