//! Rendering of a container.

use std::collections::BTreeSet;

use orchestra_api::plan::{Amounts, Container, HttpGet, Probe};
use orchestra_score::{
    model::{LOCAL_IMAGE, Protocol, Scheme},
    quantity::Quantity,
};
use serde_json::{Map, Value as Json, json};

use super::{
    Subject, content, list,
    order::Role,
    quantity,
    values::{PodSecurity, Values},
    volume::Volumes,
};

/// Period of startup probes, in seconds.
pub(crate) const STARTUP_PERIOD: i64 = 2;
/// Failures of a startup probe before the container is killed: five minutes.
pub(crate) const STARTUP_FAILURE_THRESHOLD: i64 = 150;

/// Container of a pod. `offers` is true for the container that lists the ports of the Workload.
pub(super) fn container(
    subject: &Subject<'_>,
    values: &Values,
    volumes: &Volumes,
    (name, container, role): (&str, &Container, Role),
    offers: bool,
) -> Json {
    let arguments = |all: &[String]| list(all.iter().map(|one| json!(content::literal(one))).collect());
    let mut mounts = content::mounts(name, container);
    mounts.extend(volumes.mounts(subject.plan, container));
    let readiness = container.readiness_probe.as_ref();
    let liveness = container.liveness_probe.as_ref();
    let runs_on = role != Role::Once;
    let stop = &subject.plan.lifecycle.stop_command;
    json!({
        "name": name,
        "image": container.image,
        "command": arguments(container.command.as_deref().unwrap_or_default()),
        "args": arguments(container.args.as_deref().unwrap_or_default()),
        "env": content::variables(subject, name, container),
        "ports": if offers { ports(subject) } else { Json::Null },
        "resources": resources(values, container),
        "volumeMounts": list(mounts),
        "livenessProbe": liveness.and_then(probe),
        "readinessProbe": readiness.and_then(probe),
        "startupProbe": (role == Role::Healthy).then(|| startup(readiness.or(liveness))),
        "lifecycle": (runs_on && !stop.is_empty()).then(|| json!({"preStop": {"exec": {"command": stop}}})),
        "restartPolicy": matches!(role, Role::Started | Role::Healthy).then_some("Always"),
        "securityContext": security(values),
    })
}

/// Security context of a container.
fn security(values: &Values) -> Json {
    match values.pod_security {
        PodSecurity::Restricted | PodSecurity::Hardened => {
            json!({"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}})
        }
        PodSecurity::Baseline | PodSecurity::None => Json::Null,
    }
}

/// Ports on which the Workload listens, without duplicates.
fn ports(subject: &Subject<'_>) -> Json {
    let ports: BTreeSet<_> =
        subject.plan.ports.values().map(|port| (port.target_port, protocol(port.protocol))).collect();
    let port = |(number, protocol): (u16, &str)| json!({"containerPort": number, "protocol": protocol});
    list(ports.into_iter().map(port).collect())
}

/// Name of a protocol.
pub(super) fn protocol(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Tcp => "TCP",
        Protocol::Udp => "UDP",
    }
}

/// Probe. A command takes precedence over a request, since a probe can have only one.
fn probe(probe: &Probe) -> Option<Json> {
    if !probe.exec.is_empty() {
        return Some(json!({"exec": {"command": probe.exec}}));
    }
    probe.http_get.as_ref().map(|get| json!({"httpGet": request(get)}))
}

/// HTTP request to the container itself: the host is only a header, never the target.
fn request(get: &HttpGet) -> Json {
    let host = get.host.iter().map(|host| ("Host", host.as_str()));
    let headers = get.headers.iter().map(|header| (header.name.as_str(), header.value.as_str()));
    let header = |(name, value): (&str, &str)| json!({"name": name, "value": value});
    json!({
        "path": get.path,
        "port": get.port,
        "scheme": match get.scheme {
            Scheme::Http => "HTTP",
            Scheme::Https => "HTTPS",
        },
        "httpHeaders": list(host.chain(headers).map(header).collect()),
    })
}

/// Startup probe, after which dependent containers start.
fn startup(checked: Option<&Probe>) -> Json {
    let mut startup = checked.and_then(probe).unwrap_or_default();
    startup["periodSeconds"] = json!(STARTUP_PERIOD);
    startup["failureThreshold"] = json!(STARTUP_FAILURE_THRESHOLD);
    startup
}

/// Resources of a container: those of the author, then the defaults of the backend.
fn resources(values: &Values, container: &Container) -> Json {
    let (cpu_least, cpu_most) = pair(
        (container.requests.cpu.as_deref(), container.limits.cpu.as_deref()),
        (values.resources.requests.cpu.as_deref(), values.resources.limits.cpu.as_deref()),
        Quantity::cpu,
    );
    let (memory_least, memory_most) = pair(
        (container.requests.memory.as_deref(), container.limits.memory.as_deref()),
        (values.resources.requests.memory.as_deref(), values.resources.limits.memory.as_deref()),
        Quantity::memory,
    );
    let amounts = |cpu: Option<&str>, memory: Option<&str>| {
        let all = [("cpu", cpu), ("memory", memory)];
        let given = all.into_iter().filter_map(|(name, text)| {
            let text = text?;
            Some((name.to_owned(), json!(quantity::canonical(text).unwrap_or_else(|| text.to_owned()))))
        });
        let given: Map<String, Json> = given.collect();
        if given.is_empty() { Json::Null } else { Json::Object(given) }
    };
    let (requests, limits) = (amounts(cpu_least, memory_least), amounts(cpu_most, memory_most));
    if requests.is_null() && limits.is_null() {
        return Json::Null;
    }
    json!({"requests": requests, "limits": limits})
}

/// Request and limit of one resource. A default that contradicts the author is ignored.
fn pair<'a, E>(
    (least, most): (Option<&'a str>, Option<&'a str>),
    (default_least, default_most): (Option<&'a str>, Option<&'a str>),
    read: fn(&str) -> Result<Quantity, E>,
) -> (Option<&'a str>, Option<&'a str>) {
    let fits = |least: Option<&str>, most: Option<&str>| {
        let amounts = least.and_then(|text| read(text).ok()).zip(most.and_then(|text| read(text).ok()));
        amounts.is_none_or(|(least, most)| least <= most)
    };
    let least_or_default = least.or(default_least.filter(|default| fits(Some(default), most)));
    let most_or_default = most.or(default_most.filter(|default| fits(least_or_default, Some(default))));
    (least_or_default, most_or_default)
}

/// Parts of a container that a cluster does not support.
pub(super) fn lacks(name: &str, container: &Container) -> Vec<String> {
    let mut lacks = Vec::new();
    if container.image == LOCAL_IMAGE {
        lacks.push(format!(
            "`containers.{name}.image` is `.`, but a cluster needs an image: build one and pass it with `--image IMAGE`."
        ));
    }
    let Amounts { cpu, memory } = &container.limits;
    let least = &container.requests;
    for (measure, least, most, read) in [
        ("cpu", &least.cpu, cpu, Quantity::cpu as fn(&str) -> _),
        ("memory", &least.memory, memory, Quantity::memory),
    ] {
        let amount = |text: &Option<String>| text.as_deref().and_then(|text| read(text).ok());
        if amount(least).zip(amount(most)).is_some_and(|(least, most)| most < least) {
            lacks.push(format!(
                "`containers.{name}.resources.limits.{measure}` is lower than the request: raise it, or lower the request."
            ));
        }
    }
    lacks
}
