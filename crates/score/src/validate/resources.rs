//! Resources of one workload: dependency cycles and conflicting declarations.

use std::collections::BTreeMap;

use super::Context;
use crate::{
    code::Code,
    diagnostic::Diagnostic,
    model::Resource,
    node::Node,
    pointer::Pointer,
    resource::{ResourceError, Uid, resolve},
};

pub(super) fn check(context: &mut Context<'_>) {
    let root = context.root;
    let workload = root.get("metadata").and_then(|metadata| metadata.get("name")).and_then(Node::as_str);
    // Invalid resources are left out; the schema layer reports them.
    let resources: BTreeMap<String, Resource> = root
        .entries("resources")
        .filter_map(|(name, entry)| Some((name.clone(), serde_json::from_value(entry.node.to_json()).ok()?)))
        .collect();
    let Err(errors) = resolve(&BTreeMap::from([(workload.unwrap_or_default(), &resources)])) else { return };
    let uid_of = |name: &str| {
        resources.get(name).map(|resource| Uid::of(workload.unwrap_or_default(), name, resource))
    };
    for error in errors {
        let (code, pointer, message, hint) = match &error {
            // Reported at the placeholder.
            ResourceError::UnknownResource { .. } => continue,
            ResourceError::Conflict { part, uid, name, holder_name, .. } => (
                Code::ResourceConflict,
                Pointer::of(["resources", name, &part.to_string()]),
                format!(
                    "conflicting {part} for shared resource `{}`: `{name}` and `{holder_name}` differ",
                    uid.id
                ),
                format!("write the same {part} in both, or in only one of them"),
            ),
            ResourceError::Cycle(uids) => {
                let names: Vec<&str> = uids
                    .iter()
                    .filter_map(|uid| resources.keys().find(|name| uid_of(name).as_ref() == Some(uid)))
                    .map(String::as_str)
                    .collect();
                let message = match names.as_slice() {
                    [] => continue,
                    [first, ..] => {
                        format!("dependency cycle between resources: {} → {first}", names.join(" → "))
                    }
                };
                (
                    Code::ResourceCycle,
                    Pointer::of(["resources", names[0], "params"]),
                    message,
                    "remove one of the placeholders in `params` to break the cycle".to_owned(),
                )
            }
        };
        let span = root.locate(&pointer);
        context.findings.push(Diagnostic::error(code, pointer, span, message, hint));
    }
}
