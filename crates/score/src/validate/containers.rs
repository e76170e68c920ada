//! Containers and the service: start order, compute resources, ports, probes.

use std::collections::BTreeMap;

use super::{Context, hint, mounts};
use crate::{
    code::Code,
    diagnostic::Diagnostic,
    model::Ready,
    node::{Entry, Node},
    pointer::{Path, Pointer},
    quantity::{Quantity, QuantityError},
    source::Span,
    start_order::{Declaration, StartOrderError, start_order},
    suggest::suggest,
};

pub(super) fn check(context: &mut Context<'_>) {
    let root = context.root;
    let path = Path::Root;
    let containers = path.key("containers");
    for (name, entry) in root.entries("containers") {
        let path = containers.key(name);
        mounts::check(context, &entry.node, &path);
        compute(context, &entry.node, &path);
        probe_commands(context, &entry.node, &path);
    }
    ports(context);
    probe_ports(context);
}

/// Start order of containers.
pub(super) fn check_order(context: &mut Context<'_>) {
    let root = context.root;
    let declarations: BTreeMap<String, Declaration> = root
        .entries("containers")
        .map(|(name, entry)| {
            let before = entry.node.entries("before").map(|(then, entry)| {
                let ready = match entry.node.get("ready").and_then(Node::as_str) {
                    Some("healthy") => Ready::Healthy,
                    Some("complete") => Ready::Complete,
                    // An invalid value has its own diagnostic; the order is checked all the same.
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
            StartOrderError::UnknownContainer { first, then } => {
                let others = declarations.keys().map(String::as_str).filter(|name| name != first);
                let hint = match suggest(then, others.clone()) {
                    Some(similar) => format!("did you mean `{similar}`?"),
                    None => match others.take(8).collect::<Vec<_>>().as_slice() {
                        [] => "remove `before`: the workload has no other container".to_owned(),
                        names => {
                            format!("use another container of the workload: {}", hint::alternatives(names))
                        }
                    },
                };
                (Code::UnknownContainer, first, Some(then), hint)
            }
            StartOrderError::SelfReference(name) => (
                Code::BeforeCycle,
                name,
                Some(name),
                "name another container, which starts after this one".to_owned(),
            ),
            StartOrderError::Cycle(names) => {
                let Some(first) = names.first() else { continue };
                (
                    Code::BeforeCycle,
                    first,
                    None,
                    "remove one of these `before` entries to break the cycle".to_owned(),
                )
            }
            StartOrderError::ProbeRequired { first, then } => (
                Code::ProbeRequired,
                first,
                Some(then),
                format!("add a `readinessProbe` to `{first}`, or use `ready: started`"),
            ),
        };
        let before = Pointer::of(["containers", first, "before"]);
        let pointer = then.map_or_else(|| before.clone(), |then| before.key(then));
        let span = root.locate(&pointer);
        context.findings.push(Diagnostic::error(code, pointer, span, message, hint));
    }
}

/// Memory limit that is high in absolute terms: few nodes have as much.
const HIGH_MEMORY: &str = "64Gi";
/// CPU limit that is high in absolute terms.
const HIGH_CPU: &str = "32";
/// Ratio of memory limit to request that is high. Memory cannot be throttled as CPU can.
const HIGH_MEMORY_RATIO: u128 = 4;
/// Smallest memory limit whose ratio counts: small limits are often many times smaller requests.
const HIGH_MEMORY_RATIO_MIN: &str = "1Gi";

fn compute(context: &mut Context<'_>, container: &Node, path: &Path<'_>) {
    let path = path.key("resources");
    let Some(resources) = container.get("resources") else { return };
    for (field, noun, parse, high) in [
        ("memory", "Memory", Quantity::memory as Parse, HIGH_MEMORY),
        ("cpu", "CPU", Quantity::cpu, HIGH_CPU),
    ] {
        let request = quantity(context, resources, "requests", field, parse, &path);
        let Some((entry, limit_text, limit)) = quantity(context, resources, "limits", field, parse, &path)
        else {
            continue;
        };
        let found = match request {
            Some((_, written, request)) if limit < request => Some((
                Code::LimitBelowRequest,
                format!(
                    "limit below request: {} limit {limit_text} is less than the request {written}",
                    lower(noun)
                ),
                format!(
                    "raise the limit to at least {written}, or lower the request; some runtimes refuse it"
                ),
            )),
            Some((_, written, request)) if field == "memory" && is_many_times(limit, request) => Some((
                Code::ResourceHigh,
                format!("{noun} limit of {limit_text} is relatively high, consider if this is necessary"),
                format!(
                    "more than {HIGH_MEMORY_RATIO} times the request of {written}; raise the request to the real usage, or lower the limit"
                ),
            )),
            _ if parse(high).is_ok_and(|high| limit >= high) => Some((
                Code::ResourceHigh,
                format!("{noun} limit of {limit_text} is relatively high, consider if this is necessary"),
                check_unit(field, limit_text),
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

/// Noun inside a sentence.
fn lower(noun: &str) -> &str {
    if noun == "Memory" { "memory" } else { noun }
}

fn check_unit(field: &str, limit: &str) -> String {
    if field == "cpu" && limit.len() > 2 && limit.bytes().all(|b| b.is_ascii_digit()) {
        return format!("this is {limit} cores; for millicores write {limit}m");
    }
    "check the unit; few nodes have that much".to_owned()
}

type Parse = fn(&str) -> Result<Quantity, QuantityError>;

/// Quantity of a limit or request, with its entry and text; reports one that is out of range.
fn quantity<'n>(
    context: &mut Context<'_>,
    resources: &'n Node,
    part: &str,
    field: &str,
    parse: Parse,
    path: &Path<'_>,
) -> Option<(&'n Entry, &'n str, Quantity)> {
    let entry = resources.get(part)?.entry(field)?;
    let written = entry.node.as_str()?;
    let quantity = parse(written);
    if quantity == Err(QuantityError::OutOfRange) {
        let path = path.key(part);
        context.findings.push(Diagnostic::error(
            Code::LimitExceeded,
            path.key(field).pointer(),
            entry.highlight(),
            format!(
                "{} quantity out of range: too large or too many digits",
                if field == "cpu" { "CPU" } else { field }
            ),
            "use at most 18 decimal places, and a realistic size",
        ));
    }
    Some((entry, written, quantity.ok()?))
}

/// True if the limit is large, and many times the request.
fn is_many_times(limit: Quantity, request: Quantity) -> bool {
    request != Quantity::ZERO
        && request.times(HIGH_MEMORY_RATIO).is_ok_and(|high| limit > high)
        && Quantity::memory(HIGH_MEMORY_RATIO_MIN).is_ok_and(|from| limit >= from)
}

fn ports(context: &mut Context<'_>) {
    let Some(service) = context.root.get("service") else { return };
    let mut used: BTreeMap<(i64, &str), (&String, i64, Option<Span>)> = BTreeMap::new();
    // Sorted by name, so that the result does not depend on the order in the file.
    let mut ports: Vec<_> = service.entries("ports").collect();
    ports.sort_by_key(|(name, _)| *name);
    for (name, entry) in ports {
        let is_port = |port: &i64| (1..=65535).contains(port);
        let Some(port) = entry.node.get("port").and_then(Node::as_integer).filter(is_port) else { continue };
        let protocol = entry.node.get("protocol").and_then(Node::as_str).unwrap_or("TCP");
        let target = entry.node.get("targetPort").and_then(Node::as_integer).unwrap_or(port);
        let span = entry.node.entry("port").and_then(Entry::highlight);
        let Some((other, other_target, other_span)) = used.insert((port, protocol), (name, target, span))
        else {
            continue;
        };
        let line = context.line(other_span).map_or_else(String::new, |line| format!(" (line {line})"));
        let pointer = Pointer::of(["service", "ports", name, "port"]);
        if target == other_target {
            context.findings.push(Diagnostic::warning(
                Code::PortClash,
                pointer,
                span,
                format!("duplicate port {port}/{protocol}: `{name}` and `{other}`{line} are the same port"),
                "keep one name; some runtimes refuse duplicate ports",
            ));
        } else {
            context.findings.push(Diagnostic::error(
                Code::PortClash,
                pointer,
                span,
                format!("duplicate port {port}/{protocol} in `{name}`: already used by `{other}`{line}, with a different target port ({target} and {other_target})"),
                "change the `port` of one of them",
            ));
        }
    }
}

/// A probe without a command cannot run.
fn probe_commands(context: &mut Context<'_>, container: &Node, path: &Path<'_>) {
    for probe in ["livenessProbe", "readinessProbe"] {
        let Some(entry) = container.get(probe).and_then(|probe| probe.get("exec")?.entry("command")) else {
            continue;
        };
        if entry.node.as_list().is_some_and(<[Node]>::is_empty) {
            let path = path.key(probe);
            let path = path.key("exec");
            context.findings.push(Diagnostic::warning(
                Code::SuspiciousValue,
                path.key("command").pointer(),
                entry.highlight(),
                "probe command is empty",
                "write the command, such as `command: [\"/bin/check\"]`",
            ));
        }
    }
}

/// A probe connects to the container, so it uses the target port. With one container this is unambiguous.
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
                format!(
                    "probe port {asked} is the service port; the container listens on `targetPort` {target}"
                ),
                format!("write `port: {target}`"),
            ));
        }
    }
}
