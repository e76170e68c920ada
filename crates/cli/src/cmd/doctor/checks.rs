//! Single checks.

use std::{error::Error, time::Duration};

use http::Request;
use k8s_openapi::{
    api::{
        apps::v1::Deployment, coordination::v1::Lease, core::v1::ConfigMap, networking::v1::IngressClass,
        storage::v1::StorageClass,
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
    jiff::Timestamp,
};
use kube::{Api, Client, ResourceExt, api::ListParams, client::Body};
use orchestra_api::{
    SYSTEM_NAMESPACE,
    config::{CONFIG_KEY, CONFIG_MAP},
    crd,
};
use orchestra_core::config::{self, PlatformKind};
use tokio::time::timeout;

use super::{
    super::{
        cluster::LEASE,
        install::{ORCHESTRA, is_established, ready::missing},
        platform::Platform,
    },
    Check, permissions,
};
use crate::error::root_cause;

/// Age in seconds after which a lease counts as abandoned: leaders renew it every second, and clocks may differ.
const LEASE_MAX_AGE_SECONDS: i64 = 15;
/// Timeout of a request to the server.
const SERVER_TIMEOUT: Duration = Duration::from_secs(5);
const INSTALL: &str = "run `orchestra install`";

/// Runs all checks.
pub(super) async fn all(cluster: &Platform) -> Vec<Check> {
    let client = &cluster.client;
    vec![
        kinds(client).await,
        document(client).await,
        orchestrator(client).await,
        leader(client).await,
        permissions::of_orchestrator(client).await,
        permissions::of_caller(client, &cluster.namespace).await,
        server(cluster).await,
        ingress(client).await,
        storage(client).await,
        gateway(client).await,
    ]
}

async fn kinds(client: &Client) -> Check {
    let name = "kinds";
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    let (mut absent, mut different) = (Vec::new(), Vec::new());
    for wanted in crd::all() {
        match api.get_opt(&wanted.name_any()).await {
            Ok(Some(live)) if !is_established(&live) => absent.push(wanted.name_any()),
            Ok(Some(live)) if !is_current(&live, &wanted) => different.push(wanted.name_any()),
            Ok(Some(_)) => {}
            Ok(None) => absent.push(wanted.name_any()),
            Err(error) => return Check::unknown(name, &error),
        }
    }
    match (&absent[..], &different[..]) {
        ([], []) => Check::ok(name, "all CRDs are installed, in the version of this program"),
        ([], different) => Check::warn(
            name,
            format!("CRDs of another version than this program: {}", different.join(", ")),
            "run `orchestra install`, or use the version of `orchestra` that is installed",
        ),
        (absent, _) => Check::fail(name, format!("missing CRDs: {}", absent.join(", ")), INSTALL),
    }
}

/// True if a CRD has the schemas of this program.
fn is_current(live: &CustomResourceDefinition, wanted: &CustomResourceDefinition) -> bool {
    let schemas = |definition: &CustomResourceDefinition| -> Vec<_> {
        definition
            .spec
            .versions
            .iter()
            .map(|version| (version.name.clone(), version.schema.clone()))
            .collect()
    };
    schemas(live) == schemas(wanted)
}

async fn document(client: &Client) -> Check {
    let name = "document";
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), SYSTEM_NAMESPACE);
    match maps.get_opt(CONFIG_MAP).await {
        Ok(None) => Check::ok(name, "no orchestrator config; the built-in defaults apply"),
        Ok(Some(map)) => {
            let text = map.data.and_then(|mut data| data.remove(CONFIG_KEY)).unwrap_or_default();
            match config::check_for(PlatformKind::CLUSTER, &text) {
                Ok(config) => {
                    let profiles: Vec<&str> = config.profiles().keys().map(String::as_str).collect();
                    Check::ok(name, format!("valid orchestrator config, profiles: {}", profiles.join(", ")))
                }
                Err(faults) => {
                    let first = faults.first().map(ToString::to_string).unwrap_or_default();
                    Check::fail(
                        name,
                        format!(
                            "invalid orchestrator config ({} errors), the last valid one is in force: {first}",
                            faults.len()
                        ),
                        "list all errors with `orchestra config check`",
                    )
                }
            }
        }
        Err(error) => Check::unknown(name, &error),
    }
}

async fn orchestrator(client: &Client) -> Check {
    let name = "orchestrator";
    let api: Api<Deployment> = Api::namespaced(client.clone(), SYSTEM_NAMESPACE);
    match api.get_opt(ORCHESTRA).await {
        Ok(None) => Check::fail(name, "not installed", INSTALL),
        Ok(Some(deployment)) => match missing(&deployment) {
            None => {
                let ready = deployment.status.and_then(|status| status.available_replicas).unwrap_or(0);
                Check::ok(name, format!("{ready} replicas are ready"))
            }
            Some(missing) => Check::fail(
                name,
                format!("waiting for {missing}"),
                "see `kubectl -n score-system describe pods` and `kubectl -n score-system logs deployment/orchestra`",
            ),
        },
        Err(error) => Check::unknown(name, &error),
    }
}

async fn leader(client: &Client) -> Check {
    let name = "leader";
    let api: Api<Lease> = Api::namespaced(client.clone(), SYSTEM_NAMESPACE);
    let no_leader = |message: String| {
        Check::fail(name, message, "see `kubectl -n score-system logs deployment/orchestra`")
    };
    match api.get_opt(LEASE).await {
        Ok(lease) => {
            let spec = lease.and_then(|lease| lease.spec).unwrap_or_default();
            let holder = spec.holder_identity.filter(|holder| !holder.is_empty());
            let age = spec.renew_time.map(|renewed| Timestamp::now().as_second() - renewed.0.as_second());
            match (holder, age) {
                (Some(holder), Some(age)) if age <= LEASE_MAX_AGE_SECONDS => {
                    Check::ok(name, format!("{holder} leads"))
                }
                (Some(holder), Some(age)) => {
                    no_leader(format!("no leader: {holder} renewed the lease {age}s ago"))
                }
                _ => no_leader("no leader".to_owned()),
            }
        }
        Err(error) => Check::unknown(name, &error),
    }
}

async fn server(cluster: &Platform) -> Check {
    let name = "server";
    let server = match cluster.server.endpoint(&cluster.client).await {
        Ok(server) => server,
        Err(error) => {
            return Check::warn(name, error.to_string(), "`orchestra plan`, `explain` and `logs` need it");
        }
    };
    let Some(url) = server.url else {
        return Check::fail(name, "no address is published", INSTALL);
    };
    let readyz = async {
        let request = Request::get("/orchestra/readyz").body(Body::empty())?;
        let response = server.client.send(request).await?;
        let is_ready = response.status().is_success();
        let bytes = response.into_body().collect_bytes().await?;
        Ok::<_, Box<dyn Error>>((is_ready, String::from_utf8_lossy(&bytes).trim().to_owned()))
    };
    let remedy = "publish it with `orchestra install --server-url URL`, or forward its port with `kubectl -n score-system port-forward service/orchestra 8443:443`";
    match timeout(SERVER_TIMEOUT, readyz).await {
        Ok(Ok((true, _))) => Check::ok(name, format!("ready at {url}")),
        Ok(Ok((false, message))) => Check::warn(
            name,
            format!("{url} is not ready: {message}"),
            "wait, or see `kubectl -n score-system logs deployment/orchestra`",
        ),
        Ok(Err(error)) => {
            Check::warn(name, format!("cannot reach {url} from here: {}", root_cause(&*error)), remedy)
        }
        Err(_) => Check::warn(name, format!("{url} does not answer from here"), remedy),
    }
}

async fn ingress(client: &Client) -> Check {
    let name = "ingress";
    let api: Api<IngressClass> = Api::all(client.clone());
    match api.list(&ListParams::default()).await {
        Ok(classes) if classes.items.is_empty() => Check::warn(
            name,
            "no ingress class",
            "install an ingress controller, or expose workloads by LoadBalancer or NodePort",
        ),
        Ok(classes) => classes_check(
            name,
            "ingress",
            classes.iter().map(|class| {
                let default = class.annotations().get("ingressclass.kubernetes.io/is-default-class");
                (class.name_any(), default.is_some_and(|value| value == "true"))
            }),
        ),
        Err(error) => Check::unknown(name, &error),
    }
}

async fn storage(client: &Client) -> Check {
    let name = "storage";
    let api: Api<StorageClass> = Api::all(client.clone());
    match api.list(&ListParams::default()).await {
        Ok(classes) if classes.items.is_empty() => Check::warn(
            name,
            "no storage class: volumes and databases cannot be provisioned",
            "install one and make it the default",
        ),
        Ok(classes) => classes_check(
            name,
            "storage",
            classes.iter().map(|class| {
                let default = class.annotations().get("storageclass.kubernetes.io/is-default-class");
                (class.name_any(), default.is_some_and(|value| value == "true"))
            }),
        ),
        Err(error) => Check::unknown(name, &error),
    }
}

/// Check for a default class.
fn classes_check(name: &'static str, what: &str, classes: impl Iterator<Item = (String, bool)>) -> Check {
    let classes: Vec<(String, bool)> = classes.collect();
    let names: Vec<&str> = classes.iter().map(|(name, _)| name.as_str()).collect();
    let names = names.join(", ");
    match classes.iter().find(|(_, is_default)| *is_default) {
        Some((default, _)) => Check::ok(name, format!("{names} (default: {default})")),
        None => Check::warn(
            name,
            format!("no default among {names}"),
            format!("make one the default {what} class, or set one in the orchestrator config"),
        ),
    }
}

async fn gateway(client: &Client) -> Check {
    let name = "gateway";
    match client.list_api_groups().await {
        Ok(groups) => {
            let found = groups.groups.iter().find(|group| group.name == "gateway.networking.k8s.io");
            Check::ok(
                name,
                found.map_or(
                    "Gateway API not installed; only routes that select it need it",
                    |_| "Gateway API installed",
                ),
            )
        }
        Err(error) => Check::unknown(name, &error),
    }
}
