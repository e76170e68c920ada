//! Addresses of other Workloads. On this machine every Workload listens on its service ports, under `localhost`.

use orchestra_api::plan::Port;
use orchestra_core::{
    endpoint,
    provision::{Bound, Instance, Provision, service_ref},
};
use orchestra_score::model::Protocol;
use serde_json::json;

use super::{
    bound,
    params::{Params, refused},
};
use crate::{DriverError, ProvisionContext};

/// Host name of all Workloads of this machine.
const HOST: &str = "localhost";

/// Parameters of both types.
pub(super) const PARAMS: &[&str] = &["port", "workload"];

/// Address and URL of a Workload.
pub(super) fn service(
    instance: &Instance,
    params: &Params,
    ctx: &dyn ProvisionContext,
) -> Result<Provision, DriverError> {
    let workload = match params.text("workload")? {
        Some(workload) => workload,
        None => service_ref::named(instance),
    };
    Ok(address(&workload, params.text("port")?.as_deref(), ctx, |name, port| {
        let url = format!("{}://{HOST}:{}", endpoint::scheme(name, port), port.port);
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

/// Address of a port of a Workload.
pub(super) fn service_port(params: &Params, ctx: &dyn ProvisionContext) -> Result<Provision, DriverError> {
    let Some(workload) = params.text("workload")? else {
        return Err(refused("The parameter `workload` is required: add `workload: …` to `params`."));
    };
    Ok(address(&workload, params.text("port")?.as_deref(), ctx, |_, port| {
        bound([("hostname", json!(HOST)), ("port", json!(port.port))])
    }))
}

fn address(
    workload: &str,
    wanted: Option<&str>,
    ctx: &dyn ProvisionContext,
    outputs: impl Fn(&str, &Port) -> Bound,
) -> Provision {
    let Some(ports) = ctx.workload_ports(workload) else {
        return Provision::Pending(service_ref::absent(workload, &ctx.workload_names()));
    };
    match service_ref::port(&ports, wanted) {
        Ok((name, port)) => {
            let message = format!("Ready to use: the workload `{workload}` at {HOST}:{}.", port.port);
            Provision::Bound(Bound { message, ..outputs(name, port) })
        }
        Err(missing) => Provision::Pending(format!("Waiting for the workload `{workload}`: {missing}")),
    }
}
