//! Single checks.

use std::time::Duration;

use http::Request;
use k8s_openapi::{
    api::{
        apps::v1::Deployment, coordination::v1::Lease, networking::v1::IngressClass,
        storage::v1::StorageClass,
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1::{
        CustomResourceDefinition, CustomResourceDefinitionVersion,
    },
    jiff::Timestamp,
};
use kube::{Api, Client, ResourceExt, api::ListParams, client::Body};
use orchestra_api::{SYSTEM_NAMESPACE, config::CONFIG_MAP, crd};
use orchestra_core::config::{Config, InForce, PlatformKind};
use orchestra_server::config_in_force;
use tokio::time::timeout;

use super::{
    super::{
        cluster::LEASE,
        install::{
            ORCHESTRA, is_established,
            ready::{missing, rollout},
        },
        platform::Platform,
    },
    Check, permissions,
};
use crate::error::root_cause;

/// Difference to the clock of the leader that a check of its lease tolerates, in seconds.
const MAX_CLOCK_SKEW_SECONDS: i64 = 10;
/// Timeout of a request to the server.
const SERVER_TIMEOUT: Duration = Duration::from_secs(5);
const INSTALL: &str = "run `orchestra install`";

/// Runs all checks.
pub(super) async fn all(cluster: &Platform) -> Vec<Check> {
    let client = &cluster.client;
    vec![
        crds(client).await,
        config(client).await,
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

async fn crds(client: &Client) -> Check {
    let name = "crds";
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
    let versions = |definition: &CustomResourceDefinition| -> Vec<_> {
        let versions = definition.spec.versions.iter();
        let of_version = |version: &CustomResourceDefinitionVersion| {
            (version.name.clone(), version.schema.clone(), version.selectable_fields.clone())
        };
        versions.map(of_version).collect()
    };
    versions(live) == versions(wanted)
}

async fn config(client: &Client) -> Check {
    let name = "config";
    let platform = PlatformKind::CLUSTER;
    match config_in_force(client, platform).await {
        Ok(InForce { config, problem: None }) => {
            let origin = if *config == Config::builtin_for(platform) { "built-in" } else { "valid" };
            let profiles: Vec<&str> = config.profiles().keys().map(String::as_str).collect();
            Check::ok(name, format!("{origin} orchestrator config, profiles: {}", profiles.join(", ")))
        }
        Ok(InForce { problem: Some(problem), .. }) => Check::fail(
            name,
            format!("invalid orchestrator config, the last good one stays in force: {problem}"),
            format!("correct the config map {SYSTEM_NAMESPACE}/{CONFIG_MAP}"),
        ),
        Err(error) => Check::unknown(name, &error),
    }
}

async fn orchestrator(client: &Client) -> Check {
    let name = "orchestrator";
    let api: Api<Deployment> = Api::namespaced(client.clone(), SYSTEM_NAMESPACE);
    match api.get_opt(ORCHESTRA).await {
        Ok(None) => Check::fail(name, "not installed", INSTALL),
        Ok(Some(deployment)) => {
            let rollout = rollout(&deployment);
            match missing(&rollout) {
                None => Check::ok(name, format!("{} replicas are ready", rollout.available)),
                Some(missing) => Check::fail(
                    name,
                    format!("waiting for {missing}"),
                    "see `kubectl -n score-system describe pods` and `kubectl -n score-system logs deployment/orchestra`",
                ),
            }
        }
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
            let max_age = i64::from(spec.lease_duration_seconds.unwrap_or_default()) + MAX_CLOCK_SKEW_SECONDS;
            let age = spec.renew_time.map(|renewed| Timestamp::now().as_second() - renewed.0.as_second());
            match (holder, age) {
                (Some(holder), Some(age)) if age <= max_age => Check::ok(name, format!("{holder} leads")),
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
        let request =
            Request::get("/orchestra/readyz").body(Body::empty()).map_err(kube::Error::HttpError)?;
        let response = server.client.send(request).await?;
        let is_ready = response.status().is_success();
        let bytes = response.into_body().collect_bytes().await?;
        Ok::<_, kube::Error>((is_ready, String::from_utf8_lossy(&bytes).trim().to_owned()))
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
            Check::warn(name, format!("cannot reach {url} from here: {}", root_cause(&error)), remedy)
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

#[cfg(test)]
mod tests {
    use http::Response;
    use orchestra_api::config::CONFIG_KEY;
    use serde_json::{Value as Json, json};

    use super::{super::Verdict, *};

    const CUSTOM: &str = "
apiVersion: score.dev/v1b1
kind: OrchestratorConfig
spec: {profiles: [{name: web, backends: [{backendId: a, runtimeClass: others}]}]}
";

    /// Check of a cluster with these config maps.
    async fn config_check(map: Option<Json>, stored: Option<Json>) -> Check {
        let service = tower::service_fn(move |request: Request<Body>| {
            let data = if request.uri().path().ends_with(CONFIG_MAP) { map.clone() } else { stored.clone() };
            async move {
                let (status, body) = match data {
                    Some(data) => (200, json!({"metadata": {}, "data": data})),
                    None => (
                        404,
                        json!({"kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404}),
                    ),
                };
                Response::builder().status(status).body(Body::from(body.to_string().into_bytes()))
            }
        });
        config(&Client::new(service, "default")).await
    }

    #[tokio::test]
    async fn a_config_map_that_keeps_the_last_good_config_in_force_fails() {
        let custom = || Some(json!({CONFIG_KEY: CUSTOM}));
        for (map, stored, verdict, message) in [
            (None, None, Verdict::Ok, "built-in"),
            (custom(), None, Verdict::Ok, "profiles: web"),
            (Some(json!({CONFIG_KEY: ""})), custom(), Verdict::Ok, "profiles: batch-job, web-service"),
            (Some(json!({})), custom(), Verdict::Fail, "key `config.yaml` is missing"),
            (None, custom(), Verdict::Fail, "config map is missing"),
            (Some(json!({CONFIG_KEY: "kind: x"})), custom(), Verdict::Fail, "`apiVersion` is missing"),
        ] {
            let check = config_check(map.clone(), stored).await;
            assert_eq!(check.verdict, verdict, "{map:?}: {check:?}");
            assert!(check.message.contains(message), "{map:?}: {check:?}");
        }
    }
}
