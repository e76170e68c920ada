//! Migration of recorded sets after a schema change: owners of parts of a field that became atomic own the whole
//! field.

use super::path::PathElement;
use super::set::{Branch, Set};
use super::shape::{ItemIdentity, Shape};

/// Converts a set to the current schema.
pub(super) fn reconcile(shape: Shape<'_>, set: Set) -> Set {
    let leaves = new_leaves(shape, Some(&set)).below;
    if leaves.is_empty() { set } else { set.recursive_difference(&leaves).union(&leaves) }
}

/// Paths that are leaves now and have paths below them in a set. Without a set the path itself is owned, and nothing
/// below it.
fn new_leaves(shape: Shape<'_>, set: Option<&Set>) -> Branch {
    if let Some(map) = shape.map() {
        if map.is_free_form() {
            return Branch::default();
        }
        if map.atomic && set.is_some() {
            return Branch::leaf();
        }
        return below(set, |step| match step {
            PathElement::Field(name) => map.child(name),
            _ => map.others(),
        });
    }
    match shape.list() {
        Some(list) if shape.scalar().is_none() => {
            if matches!(list.identity, ItemIdentity::Atomic) && set.is_some() {
                return Branch::leaf();
            }
            below(set, |_| Some(list.items))
        }
        _ => Branch::default(),
    }
}

fn below<'s>(set: Option<&Set>, shape: impl Fn(&PathElement) -> Option<Shape<'s>>) -> Branch {
    let mut out = Branch::default();
    for (step, child) in set.into_iter().flat_map(Set::children) {
        if let Some(shape) = shape(step) {
            out.below.attach(step.clone(), new_leaves(shape, Some(child)));
        }
    }
    out
}
