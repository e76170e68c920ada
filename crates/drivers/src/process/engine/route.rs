//! Host names and routes: every name under `localhost` resolves to this machine, where the reverse proxy routes to Workloads.

use orchestra_core::provision::{Bound, Instance, Provision, service_ref};
use serde_json::json;

use super::{
    bound,
    deps::Proxy,
    params::{Params, refused},
};
use crate::{
    DriverError, NamespacedName, ProvisionContext,
    certificate::is_name,
    process::{local_bindings::LocalBinding, proxy::Rule},
};

/// Parameters of routes.
pub(super) const PARAMS: &[&str] = &["host", "path", "port"];
/// Top-level domain of this machine.
const LOCALHOST: &str = "localhost";
/// Namespace that host names leave out.
const DEFAULT: &str = "default";

pub(super) fn dns(instance: &Instance, proxy: &dyn Proxy) -> Provision {
    let host = name(instance);
    let url = format!("http://{host}:{}", proxy.port());
    let message = format!("Ready to use: `{host}` resolves to this machine.");
    Provision::Bound(Bound { message, ..bound([("host", json!(host)), ("url", json!(url))]) })
}

/// Host name of an instance: of its id, or of the Workload.
fn name(instance: &Instance) -> String {
    let workload = || instance.dependents.first().map(|dependent| dependent.workload.as_str());
    let name = instance.shared_id.as_deref().or_else(workload).unwrap_or_default();
    match instance.namespace.as_str() {
        DEFAULT => format!("{name}.{LOCALHOST}"),
        namespace => format!("{name}.{namespace}.{LOCALHOST}"),
    }
}

/// Outcome of a route.
pub(super) enum RouteOutcome {
    /// It is installed.
    Installed(Provision, LocalBinding),
    /// Another instance has the host and path.
    Conflict { holder: NamespacedName, place: String },
}

/// Installs a route.
pub(super) fn route(
    id: &NamespacedName,
    instance: &Instance,
    params: &Params,
    ctx: &dyn ProvisionContext,
    proxy: &dyn Proxy,
) -> Result<RouteOutcome, DriverError> {
    let host = params.text("host")?.unwrap_or_else(|| name(instance)).to_lowercase();
    let path = params.text("path")?.unwrap_or_else(|| "/".to_owned());
    if !is_name(&host) || host.starts_with('*') {
        return Err(refused(format!(
            "The parameter `host` is {host:?}, which is not a valid host name: write one such as `shop.localhost`."
        )));
    }
    if !path.starts_with('/') {
        return Err(refused(format!("The parameter `path` is {path:?}: it must begin with `/`.")));
    }
    let workload = instance.dependents.first().map_or("", |dependent| dependent.workload.as_str());
    let ports = ctx.workload_ports(workload).unwrap_or_default();
    let wanted = params.text("port")?;
    let (_, port) = service_ref::port(&ports, wanted.as_deref()).map_err(|missing| {
        refused(format!("The route has no target in the workload `{workload}`: {missing}"))
    })?;
    let rule = Rule { host: host.clone(), path: path.clone(), exact: false, port: port.target_port };
    if let Err(holder) = proxy.set(id, vec![rule]) {
        return Ok(RouteOutcome::Conflict { holder, place: format!("`{host}` with the path `{path}`") });
    }
    let address = format!("http://{host}:{}{path}", proxy.port());
    let is_local = host == LOCALHOST || host.ends_with(&format!(".{LOCALHOST}"));
    let hint = if is_local {
        String::new()
    } else {
        format!(" Add `127.0.0.1 {host}` to `/etc/hosts` to reach it.")
    };
    let message = format!("Answers at {address}.{hint}");
    Ok(RouteOutcome::Installed(
        Provision::Bound(Bound { message, ..Bound::default() }),
        LocalBinding::Route(address),
    ))
}
