//! Addresses of other Workloads. On this machine every Workload answers on its service
//! ports, under `localhost`.

use orchestra_api::plan::Port;
use orchestra_core::provision::{Bound, Instance, Provision, neighbour};
use orchestra_score::model::Protocol;
use serde_json::json;

use super::{
    bound,
    params::{Params, refused},
};
use crate::{DriverError, Neighbourhood};

/// Under which name Workloads of this machine reach each other.
const HOST: &str = "localhost";

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
        None => neighbour::named(instance),
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

fn address(
    workload: &str,
    wanted: Option<&str>,
    around: &dyn Neighbourhood,
    outputs: impl Fn(&str, &Port) -> Bound,
) -> Provision {
    let Some(ports) = around.neighbour(workload) else {
        return Provision::Pending(neighbour::absent(workload, &around.neighbours()));
    };
    match neighbour::port(&ports, wanted) {
        Ok((name, port)) => {
            let message = format!("Ready to use: the workload `{workload}` at {HOST}:{}.", port.port);
            Provision::Bound(Bound { message, ..outputs(name, port) })
        }
        Err(missing) => Provision::Pending(format!("Waiting for the workload `{workload}`: {missing}")),
    }
}
