//! The single looks.

use std::time::Duration;

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
use orchestra_core::config::{self, Ground};
use tokio::time::timeout;

use super::{
    super::{
        cluster::LEASE,
        install::{ORCHESTRA, is_established, ready::missing},
        platform::{Platform, root_cause},
    },
    Check, rights,
};

/// After how long a lease that nobody renewed belongs to nobody.
const ABANDONED: i64 = 15;
/// How long the server may take to answer.
const ANSWER: Duration = Duration::from_secs(5);
const INSTALL: &str = "run `orchestra install`";

/// All looks, one after another.
pub(super) async fn all(cluster: &Platform) -> Vec<Check> {
    let client = &cluster.client;
    vec![
        kinds(client).await,
        document(client).await,
        orchestrator(client).await,
        leader(client).await,
        rights::of_orchestrator(client).await,
        rights::of_caller(client, &cluster.namespace).await,
        server(cluster).await,
        ingress(client).await,
        storage(client).await,
        gateway(client).await,
    ]
}

async fn kinds(client: &Client) -> Check {
    let name = "kinds";
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    let (mut absent, mut old) = (Vec::new(), Vec::new());
    for wanted in crd::all() {
        match api.get_opt(&wanted.name_any()).await {
            Ok(Some(live)) if !is_established(&live) => absent.push(wanted.name_any()),
            Ok(Some(live)) if !is_current(&live, &wanted) => old.push(wanted.name_any()),
            Ok(Some(_)) => {}
            Ok(None) => absent.push(wanted.name_any()),
            Err(error) => return Check::unknown(name, &error),
        }
    }
    match (&absent[..], &old[..]) {
        ([], []) => Check::ok(name, "all are there, as this program knows them"),
        ([], old) => Check::warn(
            name,
            format!("they are of another version than this program: {}", old.join(", ")),
            "run `orchestra install`, or use the program of the version that is installed",
        ),
        (absent, _) => Check::fail(name, format!("they are missing: {}", absent.join(", ")), INSTALL),
    }
}

/// Whether a definition has the schema that this program knows.
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
        Ok(None) => Check::ok(name, "there is none, and so everything is as it is built in"),
        Ok(Some(map)) => {
            let text = map.data.and_then(|mut data| data.remove(CONFIG_KEY)).unwrap_or_default();
            match config::check_on(Ground::Cluster, &text) {
                Ok(config) => {
                    let profiles: Vec<&str> = config.profiles().keys().map(String::as_str).collect();
                    Check::ok(name, format!("it is valid, with the profiles {}", profiles.join(", ")))
                }
                Err(faults) => {
                    let first = faults.first().map(ToString::to_string).unwrap_or_default();
                    Check::fail(
                        name,
                        format!("it has {} faults, and the last good one is in force: {first}", faults.len()),
                        "`orchestra config check` says them all",
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
        Ok(None) => Check::fail(name, "it is not installed", INSTALL),
        Ok(Some(deployment)) => match missing(&deployment) {
            None => {
                let ready = deployment.status.and_then(|status| status.available_replicas).unwrap_or(0);
                Check::ok(name, format!("{ready} are ready"))
            }
            Some(missing) => Check::fail(
                name,
                format!("it waits for {missing}"),
                "look at it with `kubectl -n score-system describe pods` and `kubectl -n score-system logs deployment/orchestra`",
            ),
        },
        Err(error) => Check::unknown(name, &error),
    }
}

async fn leader(client: &Client) -> Check {
    let name = "leader";
    let api: Api<Lease> = Api::namespaced(client.clone(), SYSTEM_NAMESPACE);
    let nobody =
        |message: String| Check::fail(name, message, "see whether the orchestrator runs, and what it logs");
    match api.get_opt(LEASE).await {
        Ok(lease) => {
            let spec = lease.and_then(|lease| lease.spec).unwrap_or_default();
            let holder = spec.holder_identity.filter(|holder| !holder.is_empty());
            let age = spec.renew_time.map(|renewed| Timestamp::now().as_second() - renewed.0.as_second());
            match (holder, age) {
                (Some(holder), Some(age)) if age <= ABANDONED => Check::ok(name, format!("{holder} works")),
                (Some(holder), Some(age)) => {
                    nobody(format!("{holder} gave its last sign of life {age}s ago"))
                }
                _ => nobody("nobody works".to_owned()),
            }
        }
        Err(error) => Check::unknown(name, &error),
    }
}

async fn server(cluster: &Platform) -> Check {
    let name = "server";
    let server = match cluster.questions.server(&cluster.client).await {
        Ok(server) => server,
        Err(trouble) => return Check::warn(name, trouble.why(), "plan, explain and logs need it"),
    };
    let Some(url) = server.url else {
        return Check::fail(name, "no address is published", INSTALL);
    };
    let request = Request::get("/orchestra/readyz").body(Body::empty());
    let asked = async {
        let answer = server.client.send(request.map_err(|error| error.to_string())?).await;
        let answer = answer.map_err(|error| root_cause(&error))?;
        let is_ready = answer.status().is_success();
        let bytes = answer.into_body().collect_bytes().await.map_err(|error| error.to_string())?;
        Ok::<_, String>((is_ready, String::from_utf8_lossy(&bytes).trim().to_owned()))
    };
    let remedy = "have it published with `orchestra install --server-url URL`, or forward it: `kubectl -n score-system port-forward service/orchestra 8443:443`";
    match timeout(ANSWER, asked).await {
        Ok(Ok((true, _))) => Check::ok(name, format!("it answers at {url}")),
        Ok(Ok((false, said))) => {
            Check::warn(name, format!("{url} is not ready: {said}"), "wait, or look at its logs")
        }
        Ok(Err(why)) => Check::warn(name, format!("{url} cannot be reached from here: {why}"), remedy),
        Err(_) => Check::warn(name, format!("{url} does not answer from here"), remedy),
    }
}

async fn ingress(client: &Client) -> Check {
    let name = "ingress";
    let api: Api<IngressClass> = Api::all(client.clone());
    match api.list(&ListParams::default()).await {
        Ok(classes) if classes.items.is_empty() => Check::warn(
            name,
            "there is no ingress class",
            "install an ingress controller, or let workloads be reached by LoadBalancer or NodePort",
        ),
        Ok(classes) => named(
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
            "there is no storage class, and so no volumes and no databases",
            "install one, and make it the default",
        ),
        Ok(classes) => named(
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

/// Classes of something, of which one should be the default.
fn named(name: &'static str, what: &str, classes: impl Iterator<Item = (String, bool)>) -> Check {
    let classes: Vec<(String, bool)> = classes.collect();
    let names: Vec<&str> = classes.iter().map(|(name, _)| name.as_str()).collect();
    let names = names.join(", ");
    match classes.iter().find(|(_, is_default)| *is_default) {
        Some((default, _)) => Check::ok(name, format!("{names}; {default} is the default")),
        None => Check::warn(
            name,
            format!("of {names} none is the default"),
            format!("make one the default {what} class, or name one in the platform's document"),
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
                    "there is no Gateway API; only routes that ask for it need one",
                    |_| "there is the Gateway API",
                ),
            )
        }
        Err(error) => Check::unknown(name, &error),
    }
}
