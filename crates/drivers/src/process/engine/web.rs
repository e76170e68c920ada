//! Names and routes: every name under `localhost` is this machine, where the reverse proxy leads to Workloads.

use orchestra_core::provision::{Bound, Instance, Provision, neighbour};
use serde_json::json;

use super::{
    bound,
    means::{Id, Proxy},
    params::{Params, refused},
};
use crate::{
    DriverError, Neighbourhood,
    certificate::is_name,
    process::{proxy::Rule, things::Thing},
};

/// What routes know.
pub(super) const ROUTE: &[&str] = &["host", "path", "port"];
/// The top of all names of this machine.
const LOCALHOST: &str = "localhost";
/// The namespace that need not be told.
const DEFAULT: &str = "default";

pub(super) fn dns(instance: &Instance, proxy: &dyn Proxy) -> Provision {
    let host = name(instance);
    let url = format!("http://{host}:{}", proxy.port());
    let message = format!("Ready to use: `{host}` is this machine.");
    Provision::Bound(Bound { message, ..bound([("host", json!(host)), ("url", json!(url))]) })
}

/// The name of what an instance is for: its id, or the Workload.
fn name(instance: &Instance) -> String {
    let workload = || instance.dependents.first().map(|dependent| dependent.workload.as_str());
    let name = instance.shared_id.as_deref().or_else(workload).unwrap_or_default();
    match instance.namespace.as_str() {
        DEFAULT => format!("{name}.{LOCALHOST}"),
        namespace => format!("{name}.{namespace}.{LOCALHOST}"),
    }
}

/// What becomes of a route.
pub(super) enum Laid {
    /// It is there.
    Open(Provision, Thing),
    /// Another instance holds the place.
    Taken { holder: Id, place: String },
}

/// Installs a route.
pub(super) fn route(
    id: &Id,
    instance: &Instance,
    params: &Params,
    around: &dyn Neighbourhood,
    proxy: &dyn Proxy,
) -> Result<Laid, DriverError> {
    let host = params.text("host")?.unwrap_or_else(|| name(instance)).to_lowercase();
    let path = params.text("path")?.unwrap_or_else(|| "/".to_owned());
    if !is_name(&host) || host.starts_with('*') {
        return Err(refused(format!(
            "The parameter `host` is {host:?}, which is no name of a host: write one such as `shop.localhost`."
        )));
    }
    if !path.starts_with('/') {
        return Err(refused(format!("The parameter `path` is {path:?}: it has to begin with `/`.")));
    }
    let workload = instance.dependents.first().map_or("", |dependent| dependent.workload.as_str());
    let ports = around.neighbour(workload).unwrap_or_default();
    let wanted = params.text("port")?;
    let (_, port) = neighbour::port(&ports, wanted.as_deref()).map_err(|missing| {
        refused(format!("The route cannot lead to the workload `{workload}`: {missing}"))
    })?;
    let rule = Rule { host: host.clone(), path: path.clone(), exact: false, port: port.target_port };
    if let Err(holder) = proxy.set(id, vec![rule]) {
        return Ok(Laid::Taken { holder, place: format!("`{host}` with the path `{path}`") });
    }
    let address = format!("http://{host}:{}{path}", proxy.port());
    let is_local = host == LOCALHOST || host.ends_with(&format!(".{LOCALHOST}"));
    let hint = if is_local {
        String::new()
    } else {
        format!(" Add `127.0.0.1 {host}` to `/etc/hosts` to reach it.")
    };
    let message = format!("Answers at {address}.{hint}");
    Ok(Laid::Open(Provision::Bound(Bound { message, ..Bound::default() }), Thing::Route(address)))
}
