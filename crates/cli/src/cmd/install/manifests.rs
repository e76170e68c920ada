//! Objects of an installation: the files under `deploy`, which kustomize and the chart use too, with the options of the
//! command line.

use orchestra_api::crd;
use orchestra_score::{Source, SourceId, yaml};
use serde_json::{Value as Json, json};

macro_rules! files {
    ($($path:literal),* $(,)?) => {
        &[$(($path, include_str!(concat!("../../../../../deploy/", $path)))),*]
    };
}

/// Files in the order of application; the CRDs follow the first.
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

/// Prefix of the default image.
const DEFAULT_IMAGE: &str = "orchestra:";

/// Error of an embedded manifest.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ManifestError {
    #[error("{path}: {message}")]
    Parse { path: String, message: String },
    #[error("cannot encode a CRD: {0}")]
    Encode(#[from] serde_json::Error),
}

/// Options of an installation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(crate) image: Option<String>,
    pub(crate) replicas: Option<u16>,
    /// Published address of the server.
    pub(crate) server_url: Option<String>,
    /// Ports of the API server beside the usual ones.
    pub(crate) api_ports: Vec<u16>,
}

impl Settings {
    /// Options of an existing installation. The default image is left out: it follows the version.
    pub(crate) fn of(deployment: &Json) -> Self {
        let container = &deployment["spec"]["template"]["spec"]["containers"][0];
        let image = container["image"].as_str().filter(|image| !image.starts_with(DEFAULT_IMAGE));
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

    /// These options, with those of the previous installation as defaults.
    pub(crate) fn or(self, previous: Self) -> Self {
        Self {
            image: self.image.or(previous.image),
            replicas: self.replicas.or(previous.replicas),
            server_url: self.server_url.or(previous.server_url),
            api_ports: self.api_ports,
        }
    }
}

/// All objects, in the order of application.
pub(crate) fn objects(settings: &Settings) -> Result<Vec<Json>, ManifestError> {
    let mut all = Vec::new();
    for (path, text) in FILES {
        all.extend(documents(path, text)?);
        if *path == "namespace.yaml" {
            all.extend(crds()?);
        }
    }
    for object in &mut all {
        match object["kind"].as_str() {
            Some("Deployment") => apply_settings(object, settings),
            Some("NetworkPolicy") => allow_egress(object, &settings.api_ports),
            _ => {}
        }
    }
    Ok(all)
}

fn crds() -> Result<Vec<Json>, ManifestError> {
    crd::all().into_iter().map(|crd| Ok(serde_json::to_value(crd)?)).collect()
}

/// YAML documents of a file.
pub(crate) fn documents(path: &str, text: &str) -> Result<Vec<Json>, ManifestError> {
    let parse = |document: &str| {
        let (node, findings) = yaml::parse(&Source::new(path, document), SourceId(0));
        let error = findings.into_sorted().into_iter().find(orchestra_score::Diagnostic::is_error);
        match (node, error) {
            (Some(node), None) => Ok(node.to_json()),
            (_, error) => {
                let message = error.map(|error| error.message).unwrap_or_default();
                Err(ManifestError::Parse { path: path.to_owned(), message })
            }
        }
    };
    text.split("\n---\n").map(parse).collect()
}

fn apply_settings(deployment: &mut Json, settings: &Settings) {
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

/// Allows egress to more ports of the API server.
fn allow_egress(policy: &mut Json, ports: &[u16]) {
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
