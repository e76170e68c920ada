//! Summary of a valid Score file, for `validate --explain`.

use std::{collections::BTreeMap, fmt::Write};

use crate::ui::printable;
use orchestra_score::{
    Workload,
    model::{LOCAL_IMAGE, Protocol, Ready},
    resource,
    start_order::start_order,
};

/// Summary of the workload: containers in start order, ports, dependencies.
pub(super) fn summarise(workload: &Workload) -> String {
    let mut sections = vec![("containers", containers(workload))];
    if let Some(ports) = workload.service.as_ref().and_then(|service| service.ports.as_ref()) {
        let lines = ports.iter().map(|(name, port)| {
            let protocol = match port.protocol.unwrap_or_default() {
                Protocol::Tcp => "TCP",
                Protocol::Udp => "UDP",
            };
            format!(
                "{name}: {}/{protocol}, container port {}",
                port.port,
                port.target_port.unwrap_or(port.port)
            )
        });
        sections.push(("ports", lines.collect()));
    }
    sections.push(("depends on", resources(workload)));

    let mut text = format!("workload {}\n", workload.metadata.name);
    for (title, lines) in sections.iter().filter(|(_, lines)| !lines.is_empty()) {
        for (index, line) in lines.iter().enumerate() {
            let title = if index == 0 { *title } else { "" };
            // Writing to a string cannot fail.
            let _ = writeln!(text, "  {title:<11} {line}");
        }
    }
    text
}

/// Containers in start order, with their conditions.
fn containers(workload: &Workload) -> Vec<String> {
    let declarations = workload.containers.iter().map(|(name, c)| (name.clone(), c.into())).collect();
    let order = start_order(&declarations).unwrap_or_default();
    order
        .layers
        .iter()
        .flatten()
        .filter_map(|name| {
            let image = &workload.containers.get(name)?.image;
            let image =
                if image == LOCAL_IMAGE { "image given at deployment".into() } else { printable(image) };
            let waits: Vec<_> = order
                .edges
                .iter()
                .filter(|edge| edge.then == *name)
                .map(|edge| {
                    let ready = match edge.ready {
                        Ready::Started => "has started",
                        Ready::Healthy => "is healthy",
                        Ready::Complete => "is complete",
                    };
                    format!("{} {ready}", edge.first)
                })
                .collect();
            let waits =
                if waits.is_empty() { String::new() } else { format!(", once {}", waits.join(" and ")) };
            Some(format!("{name}: {image}{waits}"))
        })
        .collect()
}

/// Resources in provisioning order.
fn resources(workload: &Workload) -> Vec<String> {
    let empty = BTreeMap::new();
    let declared = workload.resources.as_ref().unwrap_or(&empty);
    let name = workload.metadata.name.as_str();
    let Ok(resolved) = resource::resolve(&BTreeMap::from([(name, declared)])) else { return Vec::new() };
    let names: BTreeMap<_, Vec<_>> = declared.iter().fold(BTreeMap::new(), |mut names, (key, resource)| {
        names.entry(resource::Uid::of(name, key, resource)).or_insert_with(Vec::new).push(key.as_str());
        names
    });
    let known_as = |uid| names.get(uid).map_or(String::new(), |names| names.join(" = "));
    resolved
        .order
        .iter()
        .map(|uid| {
            let mut line = format!("{}: {}", known_as(uid), uid.type_);
            if uid.class != resource::Uid::DEFAULT_CLASS {
                let _ = write!(line, " of class {}", uid.class);
            }
            if names
                .get(uid)
                .into_iter()
                .flatten()
                .any(|key| declared.get(*key).is_some_and(|r| r.id.is_some()))
            {
                let _ = write!(line, ", shared as {}", uid.id);
            }
            let needs: Vec<_> =
                resolved.declared.get(uid).into_iter().flat_map(|d| &d.needs).map(known_as).collect();
            if !needs.is_empty() {
                let _ = write!(line, ", after {}", needs.join(" and "));
            }
            line
        })
        .collect()
}
