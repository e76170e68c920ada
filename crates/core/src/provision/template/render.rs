//! Rendering of an entry for one instance: from parameters, settings and saved state to objects and outputs.

use std::collections::{BTreeMap, BTreeSet};

use orchestra_api::plan::Port;
use orchestra_score::model::Protocol;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

use super::{
    AdmissionRules, Extension, Target, TemplateError, admit,
    seal::{self, Sealed, SecretContext},
    setting,
};
use crate::{
    claims::SEGMENTS,
    provision::{
        Instance,
        params::{ParamError, Params, listed},
        service_ref,
    },
    render::kubernetes::service_name,
    template::{self, Cause, Entry, Given, Service},
};

/// Key of generated values in the state.
const GENERATED: &str = "generated";

/// Saved state of earlier runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SavedState {
    /// Seed of random values.
    pub seed: Vec<u8>,
    /// State of the entry.
    pub state: Map<String, Json>,
    /// Shared state of the entry.
    pub shared: Map<String, Json>,
    /// Record of the last run.
    pub record: Record,
}

/// Record of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Record {
    /// First Workload with the resource; names may depend on it.
    pub workload: String,
    /// URI of the entry.
    pub uri: String,
    /// Objects that were or will be created.
    #[serde(rename = "made")]
    pub objects: BTreeSet<Item>,
    /// Kinds that the policy `Retain` keeps.
    pub keep: Vec<String>,
    /// Generated random values.
    #[serde(rename = "drawn")]
    pub random_values: BTreeSet<String>,
}

/// Reference to a created object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Item {
    /// API version.
    pub api_version: String,
    /// Kind.
    pub kind: String,
    /// Name.
    pub name: String,
}

impl Item {
    /// Reference to an object.
    pub fn of(object: &Json) -> Self {
        let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
        Self {
            api_version: text(&object["apiVersion"]),
            kind: text(&object["kind"]),
            name: text(&object["metadata"]["name"]),
        }
    }
}

/// Inputs of a run, besides the saved state.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Entry.
    pub entry: &'a Entry,
    /// Its extension.
    pub extension: &'a Extension,
    /// Instance.
    pub instance: &'a Instance,
    /// Name of the Secret of the instance.
    pub secret_name: &'a str,
    /// Generated values, by name.
    pub generated: &'a BTreeMap<String, String>,
    /// Environment of the namespace.
    pub environment: &'a Map<String, Json>,
    /// Ports of the Workloads of the namespace.
    pub workloads: &'a BTreeMap<String, BTreeMap<String, Port>>,
}

/// Result of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rendered {
    /// Objects to create, in order.
    pub objects: Vec<Json>,
    /// Outputs.
    pub sealed: Sealed,
    /// All secret values of the instance.
    pub secrets: seal::Secrets,
    /// State to save.
    pub saved: SavedState,
    /// Warning about unused parameters.
    pub warning: Option<String>,
}

/// Failure of a run.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// A dependency is missing; a sentence for users.
    #[error("{0}")]
    Pending(String),
    /// The request is invalid; a sentence for users.
    #[error("{0}")]
    Refused(String),
    /// A parameter is invalid.
    #[error(transparent)]
    Param(#[from] ParamError),
    /// The template or the orchestrator config is invalid; a message for its author.
    #[error(transparent)]
    InvalidTemplate(#[from] TemplateError),
}

/// Runs an entry.
pub fn render(request: &Request<'_>, saved: &SavedState) -> Result<Rendered, Refusal> {
    let Request { entry, extension, instance, .. } = *request;
    let (params, warning) = params(request)?;
    let workload = if saved.record.workload.is_empty() {
        instance.dependents.first().map(|dependent| dependent.workload.clone()).unwrap_or_default()
    } else {
        saved.record.workload.clone()
    };
    let mut state = saved.state.clone();
    let mut random_values = saved.record.random_values.clone();
    if extension.generates.is_some() {
        state.insert(GENERATED.to_owned(), json!(request.generated));
        random_values.extend(request.generated.values().cloned());
    }
    let id = identity(instance, &workload);
    let inputs = template::Inputs {
        uid: format!("{}.{}#{id}", instance.type_, instance.class),
        guid: guid(&instance.id),
        type_: instance.type_.clone(),
        class: instance.class.clone(),
        id,
        params: Some(params),
        metadata: Some(instance.metadata.clone()),
        state,
        shared: saved.shared.clone(),
        source_workload: workload.clone(),
        workload_metadata: Some([("name".to_owned(), json!(workload))].into_iter().collect()),
        workload_services: services(request.workloads),
        namespace: instance.namespace.clone(),
        compose: None,
    };
    let given = entry.provision(&inputs, &saved.seed).map_err(|failure| failed(instance, failure))?;
    let Given { mut state, shared, outputs, manifests, random_values: new, .. } = given;
    state.remove(GENERATED);
    random_values.extend(new);
    let rules = admission_rules(request)?;
    let objects = admit(&manifests, &rules)?;
    let secrets = seal::secrets(&objects)?;
    let context = SecretContext {
        secrets: &secrets,
        random_values: &random_values,
        public: &extension.public,
        secret_name: request.secret_name,
    };
    let sealed = seal::seal(&outputs, context)?;
    let mut created = saved.record.objects.clone();
    created.extend(objects.iter().map(Item::of));
    let record = Record {
        workload,
        uri: entry.uri.clone(),
        objects: created,
        keep: extension.keep.clone(),
        random_values,
    };
    let saved = SavedState { seed: saved.seed.clone(), state, shared, record };
    Ok(Rendered { objects, sealed, secrets, saved, warning })
}

/// The text of `fail` is for users; any other error is for the author of the template.
fn failed(instance: &Instance, failure: template::Failure) -> Refusal {
    match (&failure.cause, &failure.text) {
        // Another Workload may still appear.
        (Cause::Fail, Some(text)) if service_ref::refers_to_workloads(&instance.type_) => {
            Refusal::Pending(text.clone())
        }
        (Cause::Fail, Some(text)) => Refusal::Refused(text.clone()),
        _ => Refusal::InvalidTemplate(failure.into()),
    }
}

/// Id of the resource in Score's notation.
fn identity(instance: &Instance, workload: &str) -> String {
    instance.shared_id.clone().unwrap_or_else(|| {
        let key = instance.dependents.first().map(|dependent| dependent.key.as_str());
        format!("{workload}.{}", key.unwrap_or_default())
    })
}

/// Unique id of the instance, in the format that templates expect.
fn guid(instance: &str) -> String {
    let hash = orchestra_api::name::hash(&["guid", instance]);
    let part = |from: usize, to: usize| hash.get(from..to).unwrap_or_default();
    format!("{}-{}-{}-{}-{}", part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32))
}

/// Services of Workloads, with their ports by name and number.
fn services(workloads: &BTreeMap<String, BTreeMap<String, Port>>) -> BTreeMap<String, Service> {
    let service = |(workload, ports): (&String, &BTreeMap<String, Port>)| {
        let by_name = ports.iter().map(|(name, port)| (name.clone(), declared(name, port)));
        let by_number = ports.iter().map(|(name, port)| (port.port.to_string(), declared(name, port)));
        let ports = by_number.chain(by_name).collect();
        (workload.clone(), Service { service_name: service_name(workload), ports })
    };
    workloads.iter().map(service).collect()
}

fn declared(name: &str, port: &Port) -> template::Port {
    let protocol = match port.protocol {
        Protocol::Tcp => "TCP",
        Protocol::Udp => "UDP",
    };
    template::Port {
        name: name.to_owned(),
        port: port.port.into(),
        target_port: port.target_port.into(),
        protocol: protocol.to_owned(),
    }
}

fn admission_rules(request: &Request<'_>) -> Result<AdmissionRules, TemplateError> {
    let Request { extension, instance, secret_name, .. } = *request;
    let given = &instance.entry.params;
    let mut kinds = extension.kinds.clone();
    let more = Params { given: given.clone(), warning: None };
    kinds.extend(more.texts(setting::KINDS).map_err(|_| TemplateError::InvalidKinds)?);
    let privileged = extension.privileged || given.get(setting::PRIVILEGED) == Some(&json!(true));
    Ok(AdmissionRules {
        namespace: instance.namespace.clone(),
        instance: instance.id.clone(),
        secret_name: secret_name.to_owned(),
        kinds,
        privileged,
    })
}

/// Parameters of templates: settings of the backend, then of the config, then of the author.
fn params(request: &Request<'_>) -> Result<(Map<String, Json>, Option<String>), Refusal> {
    let Request { entry, extension, instance, .. } = *request;
    let secret = instance.params.iter().find(|(_, value)| has_secret(value));
    if let Some((key, _)) = secret {
        return Err(ParamError::Secret { param: key.clone(), type_: instance.type_.clone() }.into());
    }
    let settings = &extension.settings;
    let mut all: Map<String, Json> =
        settings.iter().filter_map(|key| Some((key.clone(), instance.values.get(key)?.clone()))).collect();
    let of_config = instance.entry.params.iter().filter(|(key, _)| !setting::ALL.contains(&key.as_str()));
    // Other tools do not enforce the declared params; an entry that declares none accepts any.
    let is_checked = !entry.supported_params.is_empty() || !entry.extension.is_empty();
    let mut warning = None;
    let mut params = instance.params.clone();
    if is_checked {
        for (key, _) in of_config.clone() {
            if !settings.contains(key) && !entry.supported_params.contains(key) {
                let known = settings.iter().chain(&entry.supported_params).map(String::as_str);
                return Err(Refusal::InvalidTemplate(TemplateError::UnknownParam {
                    param: key.clone(),
                    uri: entry.uri.clone(),
                    known: listed(known.chain(setting::ALL)),
                }));
            }
        }
        let known: Vec<&str> = entry.supported_params.iter().map(String::as_str).collect();
        let read = Params::read(&instance.type_, &instance.entry, params, &known)?;
        warning = read.warning;
        params = read.given;
        params.retain(|key, _| entry.supported_params.contains(key));
    }
    all.extend(of_config.map(|(key, value)| (key.clone(), value.clone())));
    all.extend(params);
    if extension.environment {
        let values = all.entry("values").or_insert_with(|| json!({}));
        if let Some(values) = values.as_object_mut() {
            values.extend(request.environment.clone());
        }
    }
    if let Some(target) = extension.target {
        resolve_target(request, target, &mut all)?;
    }
    Ok((all, warning))
}

/// Resolves the target Workload and its port.
fn resolve_target(
    request: &Request<'_>,
    target: Target,
    params: &mut Map<String, Json>,
) -> Result<(), Refusal> {
    let read = Params { given: params.clone(), warning: None };
    let wanted = read.text("port")?;
    let instance = request.instance;
    let workload = match target {
        Target::Own => {
            instance.dependents.first().map(|dependent| dependent.workload.clone()).unwrap_or_default()
        }
        Target::Other => read.text("workload")?.unwrap_or_else(|| service_ref::named(instance)),
    };
    let Some(ports) = request.workloads.get(&workload) else {
        let others: Vec<String> = request.workloads.keys().cloned().collect();
        return Err(Refusal::Pending(service_ref::absent(&workload, &others)));
    };
    let (port, _) = service_ref::port(ports, wanted.as_deref()).map_err(|missing| match target {
        Target::Own => {
            Refusal::Refused(format!("The route cannot lead to the workload `{workload}`: {missing}"))
        }
        Target::Other => Refusal::Pending(format!("Waiting for the workload `{workload}`: {missing}")),
    })?;
    params.insert("port".to_owned(), json!(port));
    params.insert("workload".to_owned(), json!(workload));
    Ok(())
}

fn has_secret(value: &Json) -> bool {
    match value {
        Json::Object(fields) => fields.contains_key(SEGMENTS) || fields.values().any(has_secret),
        Json::Array(items) => items.iter().any(has_secret),
        _ => false,
    }
}

#[cfg(test)]
#[path = "render_tests.rs"]
mod tests;
