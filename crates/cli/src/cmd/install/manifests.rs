//! The objects of an installation. They are the files under `deploy`, which kustomize and the chart use too, with what
//! is said on the command line put into them.

use orchestra_api::crd;
use orchestra_score::{Source, SourceId, yaml};
use serde_json::{Value as Json, json};

macro_rules! files {
    ($($path:literal),* $(,)?) => {
        &[$(($path, include_str!(concat!("../../../../../deploy/", $path)))),*]
    };
}

/// The files, in the order in which they are applied; the definitions of the kinds come after the first.
pub(crate) const FILES: &[(&str, &str)] = files![
    "namespace.yaml",
    "rbac/user.yaml",
    "rbac/platform.yaml",
    "rbac/workload-controller.yaml",
    "rbac/claim-controller.yaml",
    "rbac/plan-controller.yaml",
    "rbac/policy-controller.yaml",
    "rbac/server.yaml",
    "rbac/runtime-kubernetes.yaml",
    "rbac/engine-template.yaml",
    "rbac/settings.yaml",
    "rbac/serving.yaml",
    "rbac/templates.yaml",
    "rbac/published.yaml",
    "rbac/external-provisioner.yaml",
    "rbac/external-runtime.yaml",
    "rbac/orchestrator.yaml",
    "orchestrator/service.yaml",
    "orchestrator/networkpolicy.yaml",
    "orchestrator/poddisruptionbudget.yaml",
    "orchestrator/deployment.yaml",
];

/// The name of an image that nobody has named otherwise.
const IMAGE: &str = "orchestra:";

/// What can be said about an installation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Settings {
    /// The image.
    pub(crate) image: Option<String>,
    /// How many processes.
    pub(crate) replicas: Option<u16>,
    /// Where users reach the server.
    pub(crate) server_url: Option<String>,
    /// Ports of the cluster's API beside those it usually has.
    pub(crate) api_ports: Vec<u16>,
}

impl Settings {
    /// What an installation says of itself. An image that nobody named is not kept: it goes with the version.
    pub(crate) fn of(deployment: &Json) -> Self {
        let container = &deployment["spec"]["template"]["spec"]["containers"][0];
        let image = container["image"].as_str().filter(|image| !image.starts_with(IMAGE));
        let arguments = container["args"].as_array().into_iter().flatten().filter_map(Json::as_str);
        let replicas = deployment["spec"]["replicas"].as_u64().and_then(|number| u16::try_from(number).ok());
        Self {
            image: image.map(ToOwned::to_owned),
            replicas: replicas.filter(|number| *number > 0),
            server_url: arguments
                .filter_map(|argument| argument.strip_prefix("--server-url="))
                .next_back()
                .map(ToOwned::to_owned),
            api_ports: Vec::new(),
        }
    }

    /// These, and where they say nothing, those.
    pub(crate) fn or(self, before: Self) -> Self {
        Self {
            image: self.image.or(before.image),
            replicas: self.replicas.or(before.replicas),
            server_url: self.server_url.or(before.server_url),
            api_ports: self.api_ports,
        }
    }
}

/// All objects, in the order in which they are applied.
pub(crate) fn objects(settings: &Settings) -> Result<Vec<Json>, String> {
    let mut all = Vec::new();
    for (path, text) in FILES {
        all.extend(documents(path, text)?);
        if *path == "namespace.yaml" {
            all.extend(definitions()?);
        }
    }
    for object in &mut all {
        match object["kind"].as_str() {
            Some("Deployment") => settle(object, settings),
            Some("NetworkPolicy") => open(object, &settings.api_ports),
            _ => {}
        }
    }
    Ok(all)
}

/// The definitions of the kinds.
fn definitions() -> Result<Vec<Json>, String> {
    let all = crd::all().into_iter();
    all.map(|definition| serde_json::to_value(definition).map_err(|error| error.to_string())).collect()
}

/// The documents of a file.
pub(crate) fn documents(path: &str, text: &str) -> Result<Vec<Json>, String> {
    let parse = |document: &str| {
        let (node, findings) = yaml::parse(&Source::new(path, document), SourceId(0));
        let error = findings.into_sorted().into_iter().find(orchestra_score::Diagnostic::is_error);
        match (node, error) {
            (Some(node), None) => Ok(node.to_json()),
            (_, error) => Err(format!("{path}: {}", error.map(|error| error.message).unwrap_or_default())),
        }
    };
    text.split("\n---\n").map(parse).collect()
}

fn settle(deployment: &mut Json, settings: &Settings) {
    let Settings { image, replicas, server_url, .. } = settings;
    if let Some(replicas) = replicas {
        deployment["spec"]["replicas"] = json!(replicas);
    }
    let container = &mut deployment["spec"]["template"]["spec"]["containers"][0];
    if let Some(image) = image {
        container["image"] = json!(image);
    }
    if let (Some(url), Some(arguments)) = (server_url, container["args"].as_array_mut()) {
        arguments.push(json!(format!("--server-url={url}")));
    }
}

/// Lets the orchestrator out to more ports.
fn open(policy: &mut Json, ports: &[u16]) {
    let rules = policy["spec"]["egress"].as_array_mut();
    let to_api = rules.and_then(|rules| rules.last_mut()).and_then(|rule| rule["ports"].as_array_mut());
    let Some(known) = to_api else { return };
    for port in ports {
        let rule = json!({"protocol": "TCP", "port": port});
        if !known.contains(&rule) {
            known.push(rule);
        }
    }
}

#[cfg(test)]
mod tests;
