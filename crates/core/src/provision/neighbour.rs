//! Dependencies on Workloads: an address of one, or a way to one. They follow from what the author of that Workload wrote
//! and not from its plan, so that two Workloads may refer to each other.

use std::{collections::BTreeMap, iter};

use orchestra_api::{
    Workload,
    plan::{ExposureTarget, Port},
};
use orchestra_score::model::ServicePort;
use serde_json::Value as Json;

use super::{Instance, params::listed};
use crate::endpoint;

/// The types whose instances follow from Workloads of the namespace.
const ABOUT_WORKLOADS: [&str; 3] = ["route", "service", "service-port"];

/// How many names a message lists.
const NAMED: usize = 10;

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

/// Who wants a service calls it by the id under which it is shared, or by the key: `shared.flags` and `flags` are both the
/// Workload `flags`.
pub fn named(instance: &Instance) -> String {
    let by_key = || instance.dependents.first().map(|dependent| dependent.key.as_str());
    let name = instance.shared_id.as_deref().or_else(by_key).unwrap_or_default();
    name.rsplit('.').next().unwrap_or_default().to_owned()
}

/// That a Workload is waited for, with those that there are.
pub fn absent(workload: &str, others: &[String]) -> String {
    let more = others.len().saturating_sub(NAMED);
    let others = match (listed(others.iter().take(NAMED).map(String::as_str)), more) {
        (none, _) if none.is_empty() => "there are none yet".to_owned(),
        (some, 0) => format!("there are {some}"),
        (some, more) => format!("there are {some} and {more} more"),
    };
    format!("Waiting for the workload `{workload}` in this namespace; {others}.")
}

/// The port that is meant by name or number; where nothing is said, the one that would be published. Otherwise what is
/// wrong.
pub fn port<'p>(
    ports: &'p BTreeMap<String, Port>,
    wanted: Option<&str>,
) -> Result<(&'p str, &'p Port), String> {
    let of_number = |number: fn(&Port) -> u16| {
        let wanted: u16 = wanted?.parse().ok()?;
        ports.iter().find(|(_, port)| number(port) == wanted)
    };
    let found = match wanted {
        Some(name) => ports
            .get_key_value(name)
            .or_else(|| of_number(|port| port.port))
            .or_else(|| of_number(|port| port.target_port)),
        None => {
            endpoint::choose(ports, iter::empty()).into_iter().find_map(|exposure| match exposure.target {
                ExposureTarget::Port(name) => ports.get_key_value(&name),
                ExposureTarget::ClaimKey(_) => None,
            })
        }
    };
    found.map(|(name, port)| (name.as_str(), port)).ok_or_else(|| {
        let declared = match listed(ports.keys().map(String::as_str)) {
            none if none.is_empty() => "it declares no service ports".to_owned(),
            some => format!("it declares {some}"),
        };
        match wanted {
            Some(wanted) => format!("it has no service port `{wanted}`; {declared}."),
            None => format!(
                "which of its service ports is meant is not said; {declared}: add `port: …` to `params`."
            ),
        }
    })
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
