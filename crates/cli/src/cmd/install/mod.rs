//! `orchestra install`: installs or upgrades the orchestrator on a cluster.

pub(super) mod manifests;
pub(super) mod ready;

use k8s_openapi::{
    api::{apps::v1::Deployment, core::v1::ConfigMap, discovery::v1::EndpointSlice},
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject, ListParams, Patch, PatchParams},
    core::GroupVersionKind,
};
use orchestra_api::{SYSTEM_NAMESPACE, config::CONFIG_MAP};
use orchestra_core::config::PlatformKind;
use serde_json::{Value as Json, json};

use super::{
    cluster::SERVER_CONFIG_MAP,
    config, doctor,
    platform::{self, Platform},
    print,
    serve::read_config,
    show,
};
use crate::{
    args::{Format, Install},
    error::CliError,
    exit::Exit,
    ui,
};
use manifests::Settings;

/// Name of the Deployment and the Service.
pub(super) const ORCHESTRA: &str = "orchestra";
/// Field manager of the objects.
const FIELD_MANAGER: &str = "orchestra-install";
/// Orchestrator config of a first installation.
const DEFAULT_CONFIG: &str = "# The orchestrator config: backends to run workloads on, and provisioners of their resources.\n\
     # Without content, the built-in defaults apply: everything runs on this cluster.\n";

pub(crate) fn run(args: &Install) -> Result<Exit, CliError> {
    let config = args.config.as_deref().map(|path| read_config(path, PlatformKind::CLUSTER)).transpose()?;
    platform::block_on(async {
        match Platform::cluster(&args.cluster).await {
            Ok(cluster) => install(args, &cluster, config).await,
            // Printing the objects needs no cluster.
            Err(error) if args.dry_run && args.output != Format::Human => {
                ui::print_status(&format!(
                    "warning: options of a previous install are not included: {error}"
                ));
                print_objects(&manifests::objects(&settings(args))?, args.output)
            }
            Err(error) => Err(error),
        }
    })
}

/// Options of the command line.
fn settings(args: &Install) -> Settings {
    Settings {
        image: args.image.clone(),
        replicas: args.replicas.map(Into::into),
        server_url: args.server_url.clone(),
        api_ports: Vec::new(),
    }
}

async fn install(args: &Install, cluster: &Platform, config: Option<String>) -> Result<Exit, CliError> {
    let client = &cluster.client;
    let api_error = |error| cluster.api_error("the orchestrator", error);
    doctor::require_version(cluster).await?;
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), SYSTEM_NAMESPACE);
    let previous = deployments.get_opt(ORCHESTRA).await.map_err(api_error)?;
    let previous = previous.map(|found| Settings::of(&json!(found))).unwrap_or_default();
    let settings = Settings { api_ports: api_ports(client).await, ..settings(args).or(previous) };
    let mut objects = manifests::objects(&settings)?;
    objects.extend(config_map(client, config).await.map_err(api_error)?);
    if args.dry_run {
        if args.output != Format::Human {
            return print_objects(&objects, args.output);
        }
        for object in &objects {
            let outcome = dry_run(client, object).await.map_err(api_error)?;
            ui::print_status(&format!("{outcome} {}", title(object)));
        }
        return Ok(Exit::Success);
    }
    for object in &objects {
        // Without the CRDs, the orchestrator would not become ready.
        if object["kind"] == "Deployment" {
            ready::crds(client, args.timeout).await?;
        }
        apply(client, object, false).await.map_err(|error| apply_error(cluster, object, error))?;
        ui::print_status(&format!("applied {}", title(object)));
    }
    if !args.no_wait {
        ready::orchestrator(client, args.timeout).await?;
        print_ready(client).await;
    }
    if args.output == Format::Human { Ok(Exit::Success) } else { print_objects(&objects, args.output) }
}

/// Prints the address of the server.
async fn print_ready(client: &Client) {
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), SYSTEM_NAMESPACE);
    let published = maps.get_opt(SERVER_CONFIG_MAP).await.ok().flatten();
    let data = published.and_then(|map| map.data).unwrap_or_default();
    let url = data.get("url").map(|url| format!(" Its server is at {url}.")).unwrap_or_default();
    ui::print_status(&format!("The orchestrator is ready.{url} Check the cluster with `orchestra doctor`."));
}

/// Config map of the orchestrator config: from `--config`, or the default if there is none yet.
async fn config_map(client: &Client, given: Option<String>) -> kube::Result<Option<Json>> {
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), SYSTEM_NAMESPACE);
    if given.is_none() && maps.get_opt(CONFIG_MAP).await?.is_some() {
        return Ok(None);
    }
    let text = given.unwrap_or_else(|| DEFAULT_CONFIG.to_owned());
    Ok(Some(config::config_map(&text)))
}

/// Real ports of the API server, which network policies apply to.
async fn api_ports(client: &Client) -> Vec<u16> {
    let slices: Api<EndpointSlice> = Api::namespaced(client.clone(), "default");
    let of_api = ListParams::default().labels("kubernetes.io/service-name=kubernetes");
    // Without permission to list them, the usual ports remain.
    let found = slices.list(&of_api).await.map(|listed| listed.items).unwrap_or_default();
    let ports = found.into_iter().flat_map(|slice| slice.ports.unwrap_or_default());
    ports.filter_map(|port| port.port.and_then(|port| u16::try_from(port).ok())).collect()
}

/// Prints objects for programs: YAML documents, or a list as JSON.
fn print_objects(objects: &[Json], format: Format) -> Result<Exit, CliError> {
    if format == Format::Json {
        return show::value(&json!({"apiVersion": "v1", "kind": "List", "items": objects}), format);
    }
    let texts: Result<Vec<String>, _> = objects.iter().map(orchestra_score::yaml::to_yaml).collect();
    print(&texts.map_err(|error| CliError::Encode(error.into()))?.join("---\n"))
}

/// Outcome of applying an object.
async fn dry_run(client: &Client, object: &Json) -> kube::Result<&'static str> {
    let api = api(client, object);
    let Some(live) = api.get_opt(name(object)).await? else { return Ok("would create") };
    let mut after = json!(apply(client, object, true).await?);
    let mut before = json!(live);
    for object in [&mut before, &mut after] {
        object["metadata"]["managedFields"] = Json::Null;
        object["metadata"]["resourceVersion"] = Json::Null;
        object["metadata"]["generation"] = Json::Null;
    }
    Ok(if before == after { "unchanged" } else { "would change" })
}

async fn apply(client: &Client, object: &Json, dry_run: bool) -> kube::Result<DynamicObject> {
    let params = PatchParams { dry_run, ..PatchParams::apply(FIELD_MANAGER).force() };
    api(client, object).patch(name(object), &params, &Patch::Apply(object)).await
}

fn apply_error(cluster: &Platform, object: &Json, error: kube::Error) -> CliError {
    match cluster.api_error(&title(object), error) {
        unreachable @ CliError::Unreachable { .. } => unreachable,
        error => CliError::Install(Box::new(error)),
    }
}

/// API of an object's kind and namespace.
pub(super) fn api(client: &Client, object: &Json) -> Api<DynamicObject> {
    let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
    let api_version = text(&object["apiVersion"]);
    let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, &text(&object["kind"])));
    match object["metadata"]["namespace"].as_str() {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    }
}

pub(super) fn name(object: &Json) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

/// Kind, namespace and name of an object.
pub(super) fn title(object: &Json) -> String {
    let kind = object["kind"].as_str().unwrap_or_default();
    let namespace = object["metadata"]["namespace"].as_str();
    let namespace = namespace.map(|namespace| format!("{namespace}/")).unwrap_or_default();
    format!("{kind} {namespace}{}", name(object))
}

/// True if a CRD is established.
pub(super) fn is_established(crd: &CustomResourceDefinition) -> bool {
    let conditions = crd.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.into_iter().any(|condition| condition.type_ == "Established" && condition.status == "True")
}
