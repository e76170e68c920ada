//! Resources of one workload: no circles, no declarations that disagree.

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
    // Those that the schema refuses are left out here; they have their own findings.
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
            // Reported with the placeholder that refers to it.
            ResourceError::UnknownResource { .. } => continue,
            ResourceError::Conflict { part, uid, name, holder_name, .. } => (
                Code::ResourceConflict,
                Pointer::of(["resources", name, &part.to_string()]),
                format!(
                    "`{name}` and `{holder_name}` are one shared resource, {}, with different {part}",
                    uid.id
                ),
                format!("write the same {part} in both, or give it in one of the two only"),
            ),
            ResourceError::Cycle(uids) => {
                let names: Vec<&str> = uids
                    .iter()
                    .filter_map(|uid| resources.keys().find(|name| uid_of(name).as_ref() == Some(uid)))
                    .map(String::as_str)
                    .collect();
                let message = match names.as_slice() {
                    [] => continue,
                    [only] => format!("the params of `{only}` refer to `{only}` itself"),
                    [first, ..] => {
                        format!("resources need each other: `{}` needs `{first}`", names.join("` needs `"))
                    }
                };
                (
                    Code::ResourceCycle,
                    Pointer::of(["resources", names[0], "params"]),
                    message,
                    "remove one of the placeholders in their params".to_owned(),
                )
            }
        };
        let span = root.locate(&pointer);
        context.findings.push(Diagnostic::error(code, pointer, span, message, hint));
    }
}
