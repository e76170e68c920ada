//! Addresses of other Workloads, and which port of one is meant. On this machine every Workload answers on its service
//! ports, under `localhost`.

use std::{collections::BTreeMap, iter};

use orchestra_api::plan::{ExposureTarget, Port};
use orchestra_core::{
    endpoint,
    provision::{Bound, Instance, Provision},
};
use orchestra_score::model::Protocol;
use serde_json::json;

use super::{
    bound,
    params::{Params, listed, refused},
};
use crate::{DriverError, Neighbourhood};

/// Under which name Workloads of this machine reach each other.
const HOST: &str = "localhost";
/// How many names a message lists.
const NAMED: usize = 10;

/// What both types know.
pub(super) const PARAMS: &[&str] = &["port", "workload"];

/// The address of a Workload, and what to call it.
pub(super) fn service(
    instance: &Instance,
    params: &Params,
    around: &dyn Neighbourhood,
) -> Result<Provision, DriverError> {
    let workload = match params.text("workload")? {
        Some(workload) => workload,
        None => named(instance),
    };
    Ok(address(&workload, params.text("port")?.as_deref(), around, |name, port| {
        let url = format!("{}://{HOST}:{}", if name == "https" { "https" } else { "http" }, port.port);
        let mut outputs = vec![
            ("name", json!(HOST)),
            ("host", json!(HOST)),
            ("hostname", json!(HOST)),
            ("port", json!(port.port)),
        ];
        if port.protocol == Protocol::Tcp {
            outputs.extend([("url", json!(url)), ("endpoint", json!(url))]);
        }
        bound(outputs)
    }))
}

/// The address of a port of a Workload.
pub(super) fn service_port(params: &Params, around: &dyn Neighbourhood) -> Result<Provision, DriverError> {
    let Some(workload) = params.text("workload")? else {
        return Err(refused("Which workload is meant is not said: add `workload: …` to `params`."));
    };
    Ok(address(&workload, params.text("port")?.as_deref(), around, |_, port| {
        bound([("hostname", json!(HOST)), ("port", json!(port.port))])
    }))
}

/// Who wants a service calls it by the id under which it is shared, or by the key: `shared.flags` and `flags` are both the
/// Workload `flags`.
fn named(instance: &Instance) -> String {
    let by_key = || instance.dependents.first().map(|dependent| dependent.key.as_str());
    let name = instance.shared_id.as_deref().or_else(by_key).unwrap_or_default();
    name.rsplit('.').next().unwrap_or_default().to_owned()
}

fn address(
    workload: &str,
    wanted: Option<&str>,
    around: &dyn Neighbourhood,
    outputs: impl Fn(&str, &Port) -> Bound,
) -> Provision {
    let Some(ports) = around.neighbour(workload) else {
        let others = around.neighbours();
        let more = others.len().saturating_sub(NAMED);
        let others = match (listed(others.iter().take(NAMED).map(String::as_str)), more) {
            (none, _) if none.is_empty() => "there are none yet".to_owned(),
            (some, 0) => format!("there are {some}"),
            (some, more) => format!("there are {some} and {more} more"),
        };
        return Provision::Pending(format!(
            "Waiting for the workload `{workload}` in this namespace; {others}."
        ));
    };
    match port(&ports, wanted) {
        Ok((name, port)) => {
            let message = format!("Ready to use: the workload `{workload}` at {HOST}:{}.", port.port);
            Provision::Bound(Bound { message, ..outputs(name, port) })
        }
        Err(missing) => Provision::Pending(format!("Waiting for the workload `{workload}`: {missing}")),
    }
}

/// The port that is meant by name or number; where nothing is said, the one that would be published. Otherwise what is
/// wrong.
pub(super) fn port<'p>(
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
