//! `orchestra install`: the orchestrator on a cluster, or brought up to date there.

pub(super) mod manifests;
pub(super) mod ready;

use std::io::{self, Write as _};

use k8s_openapi::{
    api::{apps::v1::Deployment, core::v1::ConfigMap, discovery::v1::EndpointSlice},
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject, ListParams, Patch, PatchParams},
    core::GroupVersionKind,
};
use orchestra_api::{
    SYSTEM_NAMESPACE,
    config::{CONFIG_KEY, CONFIG_MAP},
};
use serde_json::{Value as Json, json};

use super::{
    cluster::PUBLISHED,
    doctor,
    platform::{self, Platform, Trouble},
    serve::read_document,
    show,
};
use crate::{
    args::{Format, Install},
    exit::{Exit, after_writing},
    ui,
};
use manifests::Settings;

/// The name of what is installed, and of its Deployment and Service.
pub(super) const ORCHESTRA: &str = "orchestra";
/// Under this name the objects are kept.
const MANAGER: &str = "orchestra-install";
/// The document of a platform that nobody has written one for.
const EMPTY: &str = "# The platform's document: where workloads can run, and who provides what they depend on.\n\
     # Empty means what is built in: everything runs on this cluster.\n";

/// Runs the command.
pub(crate) fn run(args: &Install) -> Exit {
    let document = match args.config.as_deref().map(read_document).transpose() {
        Ok(document) => document,
        Err(exit) => return exit,
    };
    platform::run(async {
        match Platform::cluster(&args.cluster).await {
            Ok(cluster) => install(args, &cluster, document).await,
            // The objects can be had without a cluster.
            Err(trouble) if args.dry_run && args.output != Format::Human => {
                ui::say(&format!("warning: no cluster is asked what was said before: {}", trouble.why()));
                printed(&manifests::objects(&said(args)).map_err(Trouble::No)?, args.output)
            }
            Err(trouble) => Err(trouble),
        }
    })
}

/// What is said on the command line.
fn said(args: &Install) -> Settings {
    Settings {
        image: args.image.clone(),
        replicas: args.replicas.map(Into::into),
        server_url: args.server_url.clone(),
        api_ports: Vec::new(),
    }
}

async fn install(args: &Install, cluster: &Platform, document: Option<String>) -> Result<Exit, Trouble> {
    let client = &cluster.client;
    let trouble = |error| cluster.trouble("the orchestrator", error);
    doctor::check_version(cluster).await?;
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), SYSTEM_NAMESPACE);
    let before = deployments.get_opt(ORCHESTRA).await.map_err(trouble)?;
    let before = before.map(|found| Settings::of(&json!(found))).unwrap_or_default();
    let settings = Settings { api_ports: api_ports(client).await, ..said(args).or(before) };
    let mut objects = manifests::objects(&settings).map_err(Trouble::No)?;
    objects.extend(document_of(client, document).await.map_err(trouble)?);
    if args.dry_run {
        if args.output != Format::Human {
            return printed(&objects, args.output);
        }
        for object in &objects {
            let news = foreseen(client, object).await.map_err(trouble)?;
            ui::say(&format!("{news} {}", title(object)));
        }
        return Ok(Exit::Yes);
    }
    for object in &objects {
        // The orchestrator would only wait for them itself.
        if object["kind"] == "Deployment" {
            ready::definitions(client, args.timeout).await?;
        }
        apply(client, object, false).await.map_err(|error| refused(cluster, object, error))?;
        ui::say(&format!("applied {}", title(object)));
    }
    if !args.no_wait {
        ready::orchestrator(client, args.timeout).await?;
        told(client).await;
    }
    if args.output == Format::Human { Ok(Exit::Yes) } else { printed(&objects, args.output) }
}

/// Says where users find it.
async fn told(client: &Client) {
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), SYSTEM_NAMESPACE);
    let published = maps.get_opt(PUBLISHED).await.ok().flatten();
    let data = published.and_then(|map| map.data).unwrap_or_default();
    let url = data.get("url").map(|url| format!(" Its server is at {url}.")).unwrap_or_default();
    ui::say(&format!(
        "The orchestrator is ready.{url} `orchestra doctor` says what else workloads may need."
    ));
}

/// The platform's document as it has to be written: the one that is given, or an empty one if there is none yet.
async fn document_of(client: &Client, given: Option<String>) -> kube::Result<Option<Json>> {
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), SYSTEM_NAMESPACE);
    if given.is_none() && maps.get_opt(CONFIG_MAP).await?.is_some() {
        return Ok(None);
    }
    let text = given.unwrap_or_else(|| EMPTY.to_owned());
    Ok(Some(json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": CONFIG_MAP, "namespace": SYSTEM_NAMESPACE}, "data": {CONFIG_KEY: text},
    })))
}

/// The ports on which the cluster's API really is: what policies of a network look at.
async fn api_ports(client: &Client) -> Vec<u16> {
    let slices: Api<EndpointSlice> = Api::namespaced(client.clone(), "default");
    let of_api = ListParams::default().labels("kubernetes.io/service-name=kubernetes");
    // Whoever may not look gets the usual ones.
    let found = slices.list(&of_api).await.map(|listed| listed.items).unwrap_or_default();
    let ports = found.into_iter().flat_map(|slice| slice.ports.unwrap_or_default());
    ports.filter_map(|port| port.port.and_then(|port| u16::try_from(port).ok())).collect()
}

/// Prints objects for programs: as YAML one document for each, as JSON one list.
fn printed(objects: &[Json], format: Format) -> Result<Exit, Trouble> {
    if format == Format::Json {
        return Ok(show::data(&json!({"apiVersion": "v1", "kind": "List", "items": objects}), format));
    }
    let texts: Result<Vec<String>, _> = objects.iter().map(orchestra_score::yaml::to_yaml).collect();
    let texts =
        texts.map_err(|error| Trouble::No(format!("failed to write the objects as YAML: {error}")))?;
    Ok(after_writing(io::stdout().lock().write_all(texts.join("---\n").as_bytes()), Exit::Yes))
}

/// What would become of an object.
async fn foreseen(client: &Client, object: &Json) -> kube::Result<&'static str> {
    let api = api(client, object);
    let Some(live) = api.get_opt(name(object)).await? else { return Ok("would make") };
    let mut after = json!(apply(client, object, true).await?);
    let mut before = json!(live);
    for object in [&mut before, &mut after] {
        object["metadata"]["managedFields"] = Json::Null;
        object["metadata"]["resourceVersion"] = Json::Null;
        object["metadata"]["generation"] = Json::Null;
    }
    Ok(if before == after { "would keep" } else { "would change" })
}

async fn apply(client: &Client, object: &Json, dry_run: bool) -> kube::Result<DynamicObject> {
    let params = PatchParams { dry_run, ..PatchParams::apply(MANAGER).force() };
    api(client, object).patch(name(object), &params, &Patch::Apply(object)).await
}

fn refused(cluster: &Platform, object: &Json, error: kube::Error) -> Trouble {
    match cluster.trouble(&title(object), error) {
        Trouble::No(why) => Trouble::No(format!(
            "{why}; what was applied before it stays, and the next `orchestra install` goes on"
        )),
        unreachable @ Trouble::Unreachable(_) => unreachable,
    }
}

/// The API of the kind of an object, where it belongs.
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

/// An object as people call it.
pub(super) fn title(object: &Json) -> String {
    let kind = object["kind"].as_str().unwrap_or_default();
    let namespace = object["metadata"]["namespace"].as_str();
    let namespace = namespace.map(|namespace| format!("{namespace}/")).unwrap_or_default();
    format!("{kind} {namespace}{}", name(object))
}

/// Whether a definition is in use.
pub(super) fn is_established(definition: &CustomResourceDefinition) -> bool {
    let conditions = definition.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.into_iter().any(|condition| condition.type_ == "Established" && condition.status == "True")
}
