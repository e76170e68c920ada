//! Dependencies on other Workloads: their addresses and routes. They follow from the document of that Workload and not from
//! its plan, so two Workloads may refer to each other.

use std::{collections::BTreeMap, error::Error, fmt, iter};

use orchestra_api::{
    Workload,
    plan::{ExposureTarget, Port},
};
use orchestra_score::model::ServicePort;
use serde_json::Value as Json;

use super::{Instance, params::listed};
use crate::endpoint;

/// Types whose instances depend on Workloads of the namespace.
const ABOUT_WORKLOADS: [&str; 3] = ["route", "service", "service-port"];

/// Maximum number of names in a message.
const MAX_NAMES: usize = 10;

/// True if instances of a type are reconciled when a Workload of their namespace is created, deleted, or changes its ports.
pub fn refers_to_workloads(type_: &str) -> bool {
    ABOUT_WORKLOADS.contains(&type_)
}

/// Ports of a Workload, by name. `None` if it is being deleted.
pub fn ports(workload: &Workload) -> Option<BTreeMap<String, Port>> {
    if workload.metadata.deletion_timestamp.is_some() {
        return None;
    }
    let declared = workload.spec.0.get("service").and_then(|service| service.get("ports"));
    let declared = declared.and_then(Json::as_object).into_iter().flatten();
    // An invalid port is reported to the author of that Workload, not here.
    let read = declared.filter_map(|(name, port)| {
        let port: ServicePort = serde_json::from_value(port.clone()).ok()?;
        let target_port = port.target_port.unwrap_or(port.port);
        let protocol = port.protocol.unwrap_or_default();
        Some((name.clone(), Port { port: port.port, target_port, protocol }))
    });
    Some(read.collect())
}

/// Workload that a service refers to, by its id or else by its key: `shared.flags` and `flags` are both the Workload
/// `flags`.
pub fn named(instance: &Instance) -> String {
    let by_key = || instance.dependents.first().map(|dependent| dependent.key.as_str());
    let name = instance.shared_id.as_deref().or_else(by_key).unwrap_or_default();
    name.rsplit('.').next().unwrap_or_default().to_owned()
}

/// Message about a missing Workload, with the existing ones.
pub fn absent(workload: &str, others: &[String]) -> String {
    let more = others.len().saturating_sub(MAX_NAMES);
    let others = match (listed(others.iter().take(MAX_NAMES).map(String::as_str)), more) {
        (none, _) if none.is_empty() => "there are no workloads yet".to_owned(),
        (some, 0) => format!("existing workloads: {some}"),
        (some, more) => format!("existing workloads: {some} and {more} more"),
    };
    format!("Waiting for the workload `{workload}` in this namespace; {others}.")
}

/// Error of a missing port; the end of a sentence for users.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortError {
    wanted: Option<String>,
    declared: Vec<String>,
}

impl fmt::Display for PortError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let declared = match listed(self.declared.iter().map(String::as_str)) {
            none if none.is_empty() => "it declares no service ports".to_owned(),
            some => format!("it declares {some}"),
        };
        match &self.wanted {
            Some(wanted) => write!(f, "it has no service port `{wanted}`; {declared}."),
            None => write!(f, "it has no default service port; {declared}: add `port: …` to `params`."),
        }
    }
}

impl Error for PortError {}

/// Port by name or number; without one, the port that would be published.
pub fn port<'p>(
    ports: &'p BTreeMap<String, Port>,
    wanted: Option<&str>,
) -> Result<(&'p str, &'p Port), PortError> {
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
    found.map(|(name, port)| (name.as_str(), port)).ok_or_else(|| PortError {
        wanted: wanted.map(ToOwned::to_owned),
        declared: ports.keys().cloned().collect(),
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
    fn ports_are_read_as_declared_and_invalid_ones_are_skipped() {
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
    fn a_deleted_workload_has_no_ports() {
        let deleted = json!({"name": "shop", "deletionTimestamp": "2026-01-01T00:00:00Z"});
        assert_eq!(ports(&workload(&deleted, &json!({}))), None);
    }
}
