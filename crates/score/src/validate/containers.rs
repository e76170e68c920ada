//! Containers and the service: order, computing power, ports, probes.

use std::collections::BTreeMap;

use super::{Context, hint, mounts};
use crate::{
    before::{BeforeError, Declaration, start_order},
    code::Code,
    diagnostic::Diagnostic,
    model::Ready,
    nearest::nearest,
    node::{Entry, Node},
    pointer::{Path, Pointer},
    quantity::{Quantity, QuantityError},
};

pub(super) fn check(context: &mut Context<'_>) {
    let root = context.root;
    let path = Path::Root;
    let containers = path.key("containers");
    for (name, entry) in root.entries("containers") {
        let path = containers.key(name);
        mounts::check(context, &entry.node, &path);
        compute(context, &entry.node, &path);
    }
    ports(context);
    probe_ports(context);
}

/// The order in which containers start.
pub(super) fn check_order(context: &mut Context<'_>) {
    let root = context.root;
    let declarations: BTreeMap<String, Declaration> = root
        .entries("containers")
        .map(|(name, entry)| {
            let before = entry.node.entries("before").map(|(then, entry)| {
                let ready = match entry.node.get("ready").and_then(Node::as_str) {
                    Some("healthy") => Ready::Healthy,
                    Some("complete") => Ready::Complete,
                    // What is neither is refused elsewhere; the order can be looked at all the same.
                    _ => Ready::Started,
                };
                (then.clone(), ready)
            });
            let has_probe =
                ["livenessProbe", "readinessProbe"].iter().any(|probe| entry.node.get(probe).is_some());
            (name.clone(), Declaration { before: before.collect(), has_probe })
        })
        .collect();
    let Err(errors) = start_order(&declarations) else { return };
    for error in errors {
        let message = error.to_string();
        let (code, first, then, hint) = match &error {
            BeforeError::UnknownContainer { first, then } => {
                let others = declarations.keys().map(String::as_str).filter(|name| name != first);
                let hint = match nearest(then, others.clone()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => match others.take(8).collect::<Vec<_>>().as_slice() {
                        [] => "the workload has no other container; remove `before`".to_owned(),
                        names => {
                            format!("name another container of the workload: {}", hint::alternatives(names))
                        }
                    },
                };
                (Code::UnknownContainer, first, Some(then), hint)
            }
            BeforeError::SelfReference(name) => {
                (Code::BeforeCycle, name, Some(name), "name the container that waits for this one".to_owned())
            }
            BeforeError::Cycle(names) => {
                let Some(first) = names.first() else { continue };
                (Code::BeforeCycle, first, None, "remove one of their `before` entries".to_owned())
            }
            BeforeError::ProbeRequired { first, then } => (
                Code::ProbeRequired,
                first,
                Some(then),
                format!("give `{first}` a `readinessProbe`, or wait for `ready: started`"),
            ),
        };
        let before = Pointer::of(["containers", first, "before"]);
        let pointer = then.map_or_else(|| before.clone(), |then| before.key(then));
        let span = root.locate(&pointer);
        context.findings.push(Diagnostic::error(code, pointer, span, message, hint));
    }
}

/// How much is high without looking at the request.
const HIGH_MEMORY: &str = "64Gi";
const HIGH_CPU: &str = "32";
/// How many times the request is high for a limit of memory, which unlike processor time cannot be taken back.
const HIGH_RATIO: u128 = 4;
const HIGH_RATIO_FROM: &str = "1Gi";

fn compute(context: &mut Context<'_>, container: &Node, path: &Path<'_>) {
    let path = path.key("resources");
    let Some(resources) = container.get("resources") else { return };
    for (field, noun, parse, high) in [
        ("memory", "Memory", Quantity::memory as Parse, HIGH_MEMORY),
        ("cpu", "CPU", Quantity::cpu, HIGH_CPU),
    ] {
        let request = amount(context, resources, "requests", field, parse, &path);
        let Some((entry, _, limit)) = amount(context, resources, "limits", field, parse, &path) else {
            continue;
        };
        let found = match request {
            Some((_, written, request)) if limit < request => Some((
                Code::LimitBelowRequest,
                format!("the {field} limit is lower than the request, and some runtimes refuse that"),
                format!("raise the limit to the request of {written}, or lower the request"),
            )),
            Some((_, written, request)) if field == "memory" && is_many_times(limit, request) => Some((
                Code::ResourceHigh,
                format!("{noun} limit is relatively high, consider if this is necessary"),
                format!(
                    "it is more than {HIGH_RATIO} times the request of {written}; request what is really used, or lower the limit"
                ),
            )),
            _ if parse(high).is_ok_and(|high| limit >= high) => Some((
                Code::ResourceHigh,
                format!("{noun} limit is relatively high, consider if this is necessary"),
                "check the unit; few machines have that much to give".to_owned(),
            )),
            _ => None,
        };
        if let Some((code, message, hint)) = found {
            let path = path.key("limits");
            let pointer = path.key(field).pointer();
            context.findings.push(Diagnostic::warning(code, pointer, entry.highlight(), message, hint));
        }
    }
}

type Parse = fn(&str) -> Result<Quantity, QuantityError>;

/// An amount, as it stands and as it counts; a finding where it is beyond all machines.
fn amount<'n>(
    context: &mut Context<'_>,
    resources: &'n Node,
    part: &str,
    field: &str,
    parse: Parse,
    path: &Path<'_>,
) -> Option<(&'n Entry, &'n str, Quantity)> {
    let entry = resources.get(part)?.entry(field)?;
    let written = entry.node.as_str()?;
    let amount = parse(written);
    if amount == Err(QuantityError::OutOfRange) {
        let path = path.key(part);
        context.findings.push(Diagnostic::error(
            Code::LimitExceeded,
            path.key(field).pointer(),
            entry.highlight(),
            format!("the {field} amount has more digits than are taken"),
            "write at most 18 digits after the point, and no more than any machine has",
        ));
    }
    Some((entry, written, amount.ok()?))
}

/// Small amounts may well be many times smaller ones.
fn is_many_times(limit: Quantity, request: Quantity) -> bool {
    request != Quantity::ZERO
        && request.times(HIGH_RATIO).is_ok_and(|high| limit > high)
        && Quantity::memory(HIGH_RATIO_FROM).is_ok_and(|from| limit >= from)
}

fn ports(context: &mut Context<'_>) {
    let Some(service) = context.root.get("service") else { return };
    let mut taken: BTreeMap<(i64, &str), (&String, i64)> = BTreeMap::new();
    // By name, so that the verdict does not depend on the order in the file.
    let mut ports: Vec<_> = service.entries("ports").collect();
    ports.sort_by_key(|(name, _)| *name);
    for (name, entry) in ports {
        let Some(port) = entry.node.get("port").and_then(Node::as_integer) else { continue };
        let protocol = entry.node.get("protocol").and_then(Node::as_str).unwrap_or("TCP");
        let target = entry.node.get("targetPort").and_then(Node::as_integer).unwrap_or(port);
        let Some((other, other_target)) = taken.insert((port, protocol), (name, target)) else { continue };
        let span = entry.node.entry("port").and_then(Entry::highlight);
        let pointer = Pointer::of(["service", "ports", name, "port"]);
        if target == other_target {
            context.findings.push(Diagnostic::warning(
                Code::PortClash,
                pointer,
                span,
                format!("`{name}` and `{other}` are the same port {port}/{protocol}"),
                "one name is enough; some runtimes refuse two",
            ));
        } else {
            context.findings.push(Diagnostic::error(
                Code::PortClash,
                pointer,
                span,
                format!("`{name}` and `{other}` both offer port {port}/{protocol}, for different target ports ({target} and {other_target})"),
                "give one of them another `port`",
            ));
        }
    }
}

/// A probe asks the container itself, so it wants the target port. With one container there is no doubt.
fn probe_ports(context: &mut Context<'_>) {
    let root = context.root;
    let mut containers = root.entries("containers");
    let (Some((name, entry)), None) = (containers.next(), containers.next()) else { return };
    let service: Vec<(i64, i64)> = root
        .get("service")
        .into_iter()
        .flat_map(|service| service.entries("ports"))
        .filter_map(|(_, entry)| {
            let port = entry.node.get("port")?.as_integer()?;
            Some((port, entry.node.get("targetPort").and_then(Node::as_integer).unwrap_or(port)))
        })
        .collect();
    for probe in ["livenessProbe", "readinessProbe"] {
        let Some(port_entry) = entry.node.get(probe).and_then(|p| p.get("httpGet")?.entry("port")) else {
            continue;
        };
        let Some(asked) = port_entry.node.as_integer() else { continue };
        if service.iter().any(|(_, target)| *target == asked) {
            continue;
        }
        if let Some((_, target)) = service.iter().find(|(port, _)| *port == asked) {
            context.findings.push(Diagnostic::warning(
                Code::ProbePort,
                Pointer::of(["containers", name, probe, "httpGet", "port"]),
                port_entry.highlight(),
                format!("the probe asks port {asked}, which is the port of the service; the container listens on {target}"),
                format!("write {target}"),
            ));
        }
    }
}
