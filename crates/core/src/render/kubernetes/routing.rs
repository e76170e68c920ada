//! Rendering of services, and of routes to exposed ports.
//!
//! All ports are reachable inside the cluster. Outside only exposed ones are: through an Ingress or `HTTPRoute` under the
//! domain of the backend, or through a separate service with a load balancer or node ports.

use orchestra_api::plan::Port;
use serde_json::{Value as Json, json};

use super::{
    Subject, container,
    exposure::{Route, published_ports, routes},
    names::{self, Annotations},
    values::{Expose, Values},
};

/// Group of the Gateway API.
const GATEWAY: &str = "gateway.networking.k8s.io";

/// Service inside the cluster, if there are ports.
pub(super) fn service(subject: &Subject<'_>) -> Option<Json> {
    let ports: Vec<_> = subject.plan.ports.iter().map(|(name, port)| (name.as_str(), port)).collect();
    (!ports.is_empty()).then(|| of_type("ClusterIP", &names::service(subject.name), subject, &ports))
}

/// Objects that expose ports outside of the cluster.
pub(super) fn public(subject: &Subject<'_>, values: &Values) -> Vec<Json> {
    let named = |name: &str| subject.plan.ports.get_key_value(name).map(|(name, port)| (name.as_str(), port));
    let ports: Vec<_> = published_ports(subject).into_iter().filter_map(named).collect();
    if ports.is_empty() {
        return Vec::new();
    }
    let public = |type_: &str| vec![of_type(type_, &names::public_service(subject.name), subject, &ports)];
    let routed = |to: &dyn Fn(&Route<'_>, &Port) -> Json| {
        let routes = routes(subject, values).into_iter();
        routes.filter_map(|route| Some(to(&route, subject.plan.ports.get(route.port)?))).collect()
    };
    match values.expose() {
        Expose::None => Vec::new(),
        Expose::LoadBalancer => public("LoadBalancer"),
        Expose::NodePort => public("NodePort"),
        Expose::Ingress => routed(&|route, port| ingress(subject, values, route, port)),
        Expose::Gateway => routed(&|route, port| http_route(subject, values, route, port)),
    }
}

fn of_type(type_: &str, name: &str, subject: &Subject<'_>, ports: &[(&str, &Port)]) -> Json {
    let port = |(name, port): &(&str, &Port)| {
        json!({
            "name": name,
            "port": port.port,
            "targetPort": port.target_port,
            "protocol": container::protocol(port.protocol),
        })
    };
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": names::metadata(subject, name, Annotations::Authors),
        "spec": {
            "type": type_,
            "selector": names::selector(subject),
            "ports": ports.iter().map(port).collect::<Vec<_>>(),
        },
    })
}

fn ingress(subject: &Subject<'_>, values: &Values, route: &Route<'_>, port: &Port) -> Json {
    let service = json!({"name": names::service(subject.name), "port": {"number": port.port}});
    let path = json!({"path": "/", "pathType": "Prefix", "backend": {"service": service}});
    let tls = json!([{"hosts": [route.host], "secretName": values.tls_secret}]);
    json!({
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": names::metadata(subject, &route.name, Annotations::Authors),
        "spec": {
            "ingressClassName": values.ingress_class,
            "rules": [{"host": route.host, "http": {"paths": [path]}}],
            "tls": values.is_encrypted().then_some(tls),
        },
    })
}

/// `HTTPRoute` with all defaults of the API server, since its lists are compared as a whole.
fn http_route(subject: &Subject<'_>, values: &Values, route: &Route<'_>, port: &Port) -> Json {
    let gateway = values.gateway.as_ref();
    let parent = json!({
        "group": GATEWAY,
        "kind": "Gateway",
        "name": gateway.map(|gateway| &gateway.name),
        "namespace": gateway.and_then(|gateway| gateway.namespace.as_ref()),
    });
    let service = names::service(subject.name);
    json!({
        "apiVersion": format!("{GATEWAY}/v1"),
        "kind": "HTTPRoute",
        "metadata": names::metadata(subject, &route.name, Annotations::Authors),
        "spec": {
            "parentRefs": [parent],
            "hostnames": [route.host],
            "rules": [{
                "matches": [{"path": {"type": "PathPrefix", "value": "/"}}],
                "backendRefs": [{"group": "", "kind": "Service", "name": service, "port": port.port, "weight": 1}],
            }],
        },
    })
}
