//! Dependencies on Workloads: an address of one, or a way to one. They follow from what the author of that Workload wrote
//! and not from its plan, so that two Workloads may refer to each other.

use std::collections::BTreeMap;

use orchestra_api::{Workload, plan::Port};
use orchestra_score::model::ServicePort;
use serde_json::Value as Json;

/// The types whose instances follow from Workloads of the namespace.
const ABOUT_WORKLOADS: [&str; 3] = ["route", "service", "service-port"];

/// Whether instances of a type have to be looked at when a Workload of their namespace comes, goes, or offers other ports.
pub fn is_about_workloads(type_: &str) -> bool {
    ABOUT_WORKLOADS.contains(&type_)
}

/// The ports that a Workload declares, by name. `None` if it is on its way out.
pub fn ports(workload: &Workload) -> Option<BTreeMap<String, Port>> {
    if workload.metadata.deletion_timestamp.is_some() {
        return None;
    }
    let declared = workload.spec.0.get("service").and_then(|service| service.get("ports"));
    let declared = declared.and_then(Json::as_object).into_iter().flatten();
    // What is no port is told to the author of that Workload, not to its neighbours.
    let read = declared.filter_map(|(name, port)| {
        let port: ServicePort = serde_json::from_value(port.clone()).ok()?;
        let target_port = port.target_port.unwrap_or(port.port);
        let protocol = port.protocol.unwrap_or_default();
        Some((name.clone(), Port { port: port.port, target_port, protocol }))
    });
    Some(read.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use orchestra_score::model::Protocol;
    use serde_json::json;

    fn workload(metadata: &Json, spec: &Json) -> Workload {
        let object =
            json!({"apiVersion": "score.dev/v1b1", "kind": "Workload", "metadata": metadata, "spec": spec});
        serde_json::from_value(object).unwrap()
    }

    #[test]
    fn ports_are_as_they_are_declared_and_what_is_no_port_is_none() {
        let spec = json!({"service": {"ports": {
            "web": {"port": 80, "targetPort": 8080}, "dns": {"port": 53, "protocol": "UDP"}, "bad": {"port": "x"},
        }}});
        let found = ports(&workload(&json!({"name": "shop"}), &spec)).unwrap();
        let port = |port, target_port, protocol| Port { port, target_port, protocol };
        let expected = [("dns", port(53, 53, Protocol::Udp)), ("web", port(80, 8080, Protocol::Tcp))];
        assert_eq!(found, expected.map(|(name, port)| (name.to_owned(), port)).into());
        assert_eq!(ports(&workload(&json!({"name": "shop"}), &json!({}))), Some(BTreeMap::new()));
    }

    #[test]
    fn a_workload_on_its_way_out_is_no_neighbour() {
        let leaving = json!({"name": "shop", "deletionTimestamp": "2026-01-01T00:00:00Z"});
        assert_eq!(ports(&workload(&leaving, &json!({}))), None);
    }
}
