//! Addresses of a Workload, derived from the status of its routes and services.
//!
//! Published addresses respond: an Ingress or a route counts once its controller has accepted it, a load balancer once it
//! has an address. Until one of them is reachable, the address inside the cluster is published.

use std::{collections::BTreeMap, net::IpAddr};

use k8s_openapi::api::{core::v1::Service, networking::v1::Ingress};
use orchestra_api::{
    exposure::{Exposure, Scope},
    label, name,
    plan::ExposureTarget,
};
use serde_json::Value as Json;

use super::{
    Subject, names,
    values::{Expose, Values},
};
use crate::endpoint;

/// Observed routes and services of a Workload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Ingresses and `HTTPRoute`s of the Workload, and those labelled with the instance of one of its claims.
    pub routes: Vec<RouteFact>,
    /// Services of the Workload.
    pub services: Vec<ServiceFact>,
    /// Address of a node.
    pub node_address: Option<String>,
}

/// Summary of an Ingress or `HTTPRoute`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RouteFact {
    /// Name.
    pub name: String,
    /// Instance of the claim it was created for.
    pub instance: Option<String>,
    /// Hosts and paths; no host means any.
    pub places: Vec<(Option<String>, String)>,
    /// Hosts with TLS; `None` if unknown.
    pub encrypted: Option<Vec<String>>,
    /// True if a controller has accepted it.
    pub is_served: bool,
    /// Address of that controller, if known.
    pub address: Option<String>,
}

/// Summary of a Service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServiceFact {
    /// Name.
    pub name: String,
    /// Addresses of its load balancer.
    pub balancers: Vec<String>,
    /// Node ports, by port number.
    pub node_ports: BTreeMap<u16, u16>,
}

impl RouteFact {
    /// Summary of an Ingress.
    pub fn of_ingress(ingress: &Ingress) -> Self {
        let spec = ingress.spec.as_ref();
        let mut places = Vec::new();
        for rule in spec.and_then(|spec| spec.rules.as_ref()).into_iter().flatten() {
            let paths = rule.http.iter().flat_map(|http| &http.paths);
            let paths = paths.map(|path| path.path.clone().unwrap_or_else(|| "/".to_owned()));
            places.extend(paths.map(|path| (rule.host.clone().filter(|host| !host.is_empty()), path)));
        }
        let mut encrypted = Vec::new();
        for tls in spec.and_then(|spec| spec.tls.as_ref()).into_iter().flatten() {
            match tls.hosts.as_deref().filter(|hosts| !hosts.is_empty()) {
                Some(hosts) => encrypted.extend(hosts.iter().cloned()),
                None => encrypted.extend(places.iter().filter_map(|(host, _)| host.clone())),
            }
        }
        let balancer = ingress.status.as_ref().and_then(|status| status.load_balancer.as_ref());
        let address = balancer
            .and_then(|balancer| balancer.ingress.as_ref())
            .and_then(|addresses| addresses.iter().find_map(|at| at.hostname.clone().or(at.ip.clone())));
        Self {
            name: ingress.metadata.name.clone().unwrap_or_default(),
            instance: instance(ingress.metadata.labels.as_ref()),
            places,
            encrypted: Some(encrypted),
            is_served: address.is_some(),
            address,
        }
    }

    /// Summary of an `HTTPRoute` of the Gateway API.
    pub fn of_http_route(route: &Json) -> Self {
        let list = |at: &Json| at.as_array().cloned().unwrap_or_default();
        let text = |at: &Json| at.as_str().map(ToOwned::to_owned);
        let rules = list(&route["spec"]["rules"]);
        let mut paths: Vec<String> = rules
            .iter()
            .flat_map(|rule| list(&rule["matches"]))
            .map(|matched| text(&matched["path"]["value"]).unwrap_or_else(|| "/".to_owned()))
            .collect();
        if paths.is_empty() {
            paths.push("/".to_owned());
        }
        let hosts: Vec<Option<String>> = list(&route["spec"]["hostnames"]).iter().map(text).collect();
        let hosts = if hosts.is_empty() { vec![None] } else { hosts };
        let places = hosts.iter().flat_map(|host| paths.iter().map(|path| (host.clone(), path.clone())));
        let is_true = |parent: &Json, type_: &str| {
            list(&parent["conditions"]).iter().any(|c| c["type"] == type_ && c["status"] == "True")
        };
        let parents = list(&route["status"]["parents"]);
        Self {
            name: text(&route["metadata"]["name"]).unwrap_or_default(),
            instance: text(&route["metadata"]["labels"][label::INSTANCE]),
            places: places.collect(),
            encrypted: None,
            is_served: parents.iter().any(|p| is_true(p, "Accepted") && is_true(p, "ResolvedRefs")),
            address: None,
        }
    }
}

impl ServiceFact {
    /// Summary of a Service.
    pub fn of(service: &Service) -> Self {
        let balancer = service.status.as_ref().and_then(|status| status.load_balancer.as_ref());
        let addresses = balancer.and_then(|balancer| balancer.ingress.as_ref()).into_iter().flatten();
        let ports = service.spec.as_ref().and_then(|spec| spec.ports.as_ref()).into_iter().flatten();
        let number = |port: i32| u16::try_from(port).ok().filter(|port| *port > 0);
        Self {
            name: service.metadata.name.clone().unwrap_or_default(),
            balancers: addresses.filter_map(|at| at.hostname.clone().or(at.ip.clone())).collect(),
            node_ports: ports
                .filter(|port| port.protocol.as_deref() != Some("UDP"))
                .filter_map(|port| Some((number(port.port)?, number(port.node_port?)?)))
                .collect(),
        }
    }
}

fn instance(labels: Option<&BTreeMap<String, String>>) -> Option<String> {
    labels.and_then(|labels| labels.get(label::INSTANCE)).cloned()
}

/// Addresses of a Workload, the best first.
pub fn addresses(subject: &Subject<'_>, facts: &Facts) -> Vec<Exposure> {
    let values = Values::of(subject.plan);
    let mut found = Vec::new();
    for exposure in &subject.plan.exposures {
        let urls = match &exposure.target {
            ExposureTarget::Port(name) => of_port(subject, &values, facts, name),
            ExposureTarget::ClaimKey(key) => of_claim(subject, &values, facts, key),
        };
        found.extend(urls.into_iter().map(|url| published(url, exposure.priority, Scope::Public)));
    }
    if found.is_empty() {
        found.extend(inside(subject));
    }
    found.sort_by_key(|exposure| std::cmp::Reverse(exposure.priority));
    found
}

fn published(url: String, priority: i32, scope: Scope) -> Exposure {
    Exposure { url, priority, scope: Some(scope), scheme_hint: None, reachable: None }
}

fn of_port(subject: &Subject<'_>, values: &Values, facts: &Facts, name: &str) -> Vec<String> {
    let Some(port) = subject.plan.ports.get(name) else { return Vec::new() };
    let scheme = endpoint::scheme(name, port);
    let public = names::public_service(subject.name);
    let service = facts.services.iter().find(|service| service.name == public);
    match values.expose() {
        Expose::None => Vec::new(),
        Expose::Ingress | Expose::Gateway => {
            let wanted = routes(subject, values).into_iter().find(|route| route.port == name);
            let Some(wanted) = wanted else { return Vec::new() };
            let own =
                facts.routes.iter().filter(|route| route.instance.is_none() && route.name == wanted.name);
            let urls = own.flat_map(|route| urls(route, values));
            urls.filter(|(host, _)| *host == Some(&wanted.host)).map(|(_, url)| url).collect()
        }
        Expose::LoadBalancer => {
            let balancers = service.into_iter().flat_map(|service| &service.balancers);
            balancers.map(|address| url(scheme, address, port.port, "/")).collect()
        }
        Expose::NodePort => {
            let number = service.and_then(|service| service.node_ports.get(&port.port));
            let place = number.zip(facts.node_address.as_ref());
            place.map(|(number, address)| url(scheme, address, *number, "/")).into_iter().collect()
        }
    }
}

fn of_claim(subject: &Subject<'_>, values: &Values, facts: &Facts, key: &str) -> Vec<String> {
    let claim = subject.plan.claims.iter().find(|claim| claim.key == key);
    let Some(instance) = claim.and_then(|claim| claim.instance.as_ref()) else { return Vec::new() };
    let routes = facts.routes.iter().filter(|route| route.instance.as_ref() == Some(instance));
    routes.flat_map(|route| urls(route, values)).map(|(_, url)| url).collect()
}

/// URLs of a route, with their hosts.
fn urls<'f>(route: &'f RouteFact, values: &Values) -> Vec<(Option<&'f String>, String)> {
    let is_plain = |host: &String| !host.contains('*');
    let mut found: Vec<(Option<&String>, String)> = Vec::new();
    for (host, path) in route.places.iter().filter(|_| route.is_served) {
        let Some(name) = host.as_ref().or(route.address.as_ref()).filter(|host| is_plain(host)) else {
            continue;
        };
        let is_encrypted =
            route.encrypted.as_ref().map_or(values.is_encrypted(), |hosts| hosts.contains(name));
        let (scheme, default) = if is_encrypted { ("https", 443) } else { ("http", 80) };
        let url = url(scheme, name, values.port.unwrap_or(default), path);
        if found.iter().all(|(_, known)| *known != url) {
            found.push((host.as_ref(), url));
        }
    }
    found
}

/// Address of the endpoint inside the cluster.
fn inside(subject: &Subject<'_>) -> Option<Exposure> {
    let exposed = subject.plan.exposures.iter();
    let expected = endpoint::choose(&subject.plan.ports, std::iter::empty());
    let (name, priority) = exposed.chain(&expected).find_map(|exposure| match &exposure.target {
        ExposureTarget::Port(name) => Some((name, exposure.priority)),
        ExposureTarget::ClaimKey(_) => None,
    })?;
    let port = subject.plan.ports.get(name)?;
    let host = format!("{}.{}.svc.cluster.local", names::service(subject.name), subject.namespace);
    Some(published(url(endpoint::scheme(name, port), &host, port.port, "/"), priority, Scope::Internal))
}

/// Route of the runtime to a port.
pub(super) struct Route<'a> {
    pub(super) port: &'a str,
    pub(super) name: String,
    pub(super) host: String,
}

/// Routes of the runtime to exposed ports, under the domain of the backend. The first one has the name of the Workload.
pub(super) fn routes<'a>(subject: &Subject<'a>, values: &Values) -> Vec<Route<'a>> {
    let Some(domain) = &values.domain else { return Vec::new() };
    let ports = published_ports(subject);
    let route = |(index, port): (usize, &'a str)| {
        let name = match index {
            0 => subject.name.to_owned(),
            _ => name::derived(&[subject.name, port], &["route", subject.name, port]),
        };
        // Each namespace has its own subdomain, so none can take the hosts of another.
        let host = format!("{name}.{}.{domain}", subject.namespace);
        Route { port, name, host }
    };
    ports.into_iter().enumerate().map(route).collect()
}

/// Ports that the runtime exposes. The provisioner of a route claim exposes its own.
pub(super) fn published_ports<'a>(subject: &Subject<'a>) -> Vec<&'a str> {
    let ports = subject.plan.exposures.iter().filter_map(|exposure| match &exposure.target {
        ExposureTarget::Port(name) => Some(name.as_str()),
        ExposureTarget::ClaimKey(_) => None,
    });
    ports.collect()
}

fn url(scheme: &str, host: &str, port: u16, path: &str) -> String {
    let host = match host.parse::<IpAddr>() {
        Ok(IpAddr::V6(address)) => format!("[{address}]"),
        _ => host.to_owned(),
    };
    // Some controllers allow patterns after the path.
    let path = path.split(['(', '*', '^', '$', '|', '[']).next().unwrap_or_default().trim_end_matches('/');
    match (scheme, port) {
        ("http", 80) | ("https", 443) => format!("{scheme}://{host}{path}"),
        _ => format!("{scheme}://{host}:{port}{path}"),
    }
}

#[cfg(test)]
#[path = "exposure_tests.rs"]
mod tests;
