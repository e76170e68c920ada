//! Resources of one workload: no circles, no declarations that disagree.

use std::collections::BTreeMap;

use super::Context;
use crate::{
    code::Code,
    diagnostic::Diagnostic,
    model::Resource,
    node::Node,
    pointer::{Path, Pointer},
    resource::{ResourceError, resolve},
};

pub(super) fn check(context: &mut Context<'_>) {
    let root = context.root;
    let workload = root.get("metadata").and_then(|metadata| metadata.get("name")).and_then(Node::as_str);
    // Those that the schema refuses are left out here; they have their own findings.
    let resources: BTreeMap<String, Resource> = root
        .entries("resources")
        .filter_map(|(name, entry)| Some((name.clone(), serde_json::from_value(entry.node.to_json()).ok()?)))
        .collect();
    let Err(errors) = resolve([(workload.unwrap_or_default(), &resources)]) else { return };
    for error in errors {
        let message = error.to_string();
        let (code, pointer, hint) = match &error {
            // Reported with the placeholder that refers to it.
            ResourceError::UnknownResource { .. } => continue,
            ResourceError::ParamsConflict { name, .. } => (
                Code::ResourceConflict,
                of(name, "params"),
                "write the same params in both, or give them in one of the two only",
            ),
            ResourceError::MetadataConflict { name, .. } => (
                Code::ResourceConflict,
                of(name, "metadata"),
                "write the same metadata in both, or give it in one of the two only",
            ),
            ResourceError::Cycle(uids) => {
                let name = resources.iter().find_map(|(name, resource)| {
                    let uid = crate::resource::Uid::of(workload.unwrap_or_default(), name, resource);
                    uids.contains(&uid).then_some(name)
                });
                let Some(name) = name else { continue };
                (Code::ResourceCycle, of(name, "params"), "remove one of the placeholders in their params")
            }
        };
        let span = root.locate(&pointer);
        context.findings.push(Diagnostic::error(code, pointer, span, message, hint));
    }
}

fn of(name: &str, field: &str) -> Pointer {
    let path = Path::Root;
    let path = path.key("resources");
    let path = path.key(name);
    path.key(field).pointer()
}
