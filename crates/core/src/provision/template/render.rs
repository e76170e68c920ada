//! One run of an entry for one instance: from what authors, the platform and earlier runs said to objects and outputs.

use std::collections::{BTreeMap, BTreeSet};

use orchestra_api::plan::Port;
use orchestra_score::model::Protocol;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

use super::{
    Extension, Frame, Target, admit,
    seal::{self, Known, Sealed},
    setting,
};
use crate::{
    provision::{Instance, neighbour, params::Params},
    render::kubernetes::service_name,
    template::{self, Cause, Entry, Given, Service},
};

/// Where templates find what the engine generated.
const GENERATED: &str = "generated";
/// What a parameter is written as that has a secret in it.
const SEGMENTS: &str = "$segments";

/// What is kept of earlier runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Past {
    /// What random values follow from.
    pub seed: Vec<u8>,
    /// The state of the entry.
    pub state: Map<String, Json>,
    /// What the entry shares with other runs of its own.
    pub shared: Map<String, Json>,
    /// What was noted.
    pub record: Record,
}

/// What is noted of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Record {
    /// The Workload that asked for it first; names may follow from it.
    pub workload: String,
    /// The entry it was made by.
    pub uri: String,
    /// What was made, or is about to be.
    pub made: BTreeSet<Item>,
    /// Kinds that stay under the policy `Retain`.
    pub keep: Vec<String>,
    /// What was drawn at random.
    pub drawn: BTreeSet<String>,
}

/// An object that was made.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Item {
    /// Group and version of its kind.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
}

impl Item {
    /// What names an object.
    pub fn of(object: &Json) -> Self {
        let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
        Self {
            api_version: text(&object["apiVersion"]),
            kind: text(&object["kind"]),
            name: text(&object["metadata"]["name"]),
        }
    }
}

/// What a run needs besides the past.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The entry.
    pub entry: &'a Entry,
    /// What it says to this platform.
    pub extension: &'a Extension,
    /// The instance.
    pub instance: &'a Instance,
    /// The name of the Secret that is kept for the instance.
    pub kept: &'a str,
    /// What the engine generated, by name.
    pub generated: &'a BTreeMap<String, String>,
    /// What the namespace has set for all its Workloads.
    pub environment: &'a Map<String, Json>,
    /// The ports of the Workloads of the namespace.
    pub workloads: &'a BTreeMap<String, BTreeMap<String, Port>>,
}

/// What a run gives.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rendered {
    /// The objects to make, in their order.
    pub objects: Vec<Json>,
    /// The outputs.
    pub sealed: Sealed,
    /// All values of the instance that are secret.
    pub secrets: seal::Secrets,
    /// What is to be kept.
    pub past: Past,
    /// What is said of parameters that are not used.
    pub warning: Option<String>,
}

/// Why a run gives nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Something else has to be there first; in a sentence for users.
    Pending(String),
    /// It cannot be had as it is asked for; in a sentence for users.
    Refused(String),
    /// The template or the platform's document is wrong; for those who wrote it.
    Wrong(String),
}

/// Runs an entry.
pub fn render(request: &Request<'_>, past: &Past) -> Result<Rendered, Refusal> {
    let Request { entry, extension, instance, .. } = *request;
    let (params, warning) = params(request)?;
    let workload = if past.record.workload.is_empty() {
        instance.dependents.first().map(|dependent| dependent.workload.clone()).unwrap_or_default()
    } else {
        past.record.workload.clone()
    };
    let mut state = past.state.clone();
    let mut drawn = past.record.drawn.clone();
    if extension.generates.is_some() {
        state.insert(GENERATED.to_owned(), json!(request.generated));
        drawn.extend(request.generated.values().cloned());
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
        shared: past.shared.clone(),
        source_workload: workload.clone(),
        workload_metadata: Some([("name".to_owned(), json!(workload))].into_iter().collect()),
        workload_services: services(request.workloads),
        namespace: instance.namespace.clone(),
        compose: None,
    };
    let given = entry.provision(&inputs, &past.seed).map_err(|failure| failed(instance, &failure))?;
    let Given { mut state, shared, outputs, manifests, drawn: new, .. } = given;
    state.remove(GENERATED);
    drawn.extend(new);
    let frame = frame(request).map_err(Refusal::Wrong)?;
    let objects = admit(&manifests, &frame).map_err(Refusal::Wrong)?;
    let secrets = seal::secrets(&objects).map_err(Refusal::Wrong)?;
    let known = Known { secrets: &secrets, drawn: &drawn, public: &extension.public, kept: request.kept };
    let sealed = seal::seal(&outputs, known).map_err(Refusal::Wrong)?;
    let mut made = past.record.made.clone();
    made.extend(objects.iter().map(Item::of));
    let record = Record { workload, uri: entry.uri.clone(), made, keep: extension.keep.clone(), drawn };
    let past = Past { seed: past.seed.clone(), state, shared, record };
    Ok(Rendered { objects, sealed, secrets, past, warning })
}

/// The template's own words count; everything else is for those who wrote it.
fn failed(instance: &Instance, failure: &template::Failure) -> Refusal {
    match (&failure.cause, &failure.text) {
        // What a Workload lacks may come.
        (Cause::Fail, Some(text)) if neighbour::is_about_workloads(&instance.type_) => {
            Refusal::Pending(text.clone())
        }
        (Cause::Fail, Some(text)) => Refusal::Refused(text.clone()),
        _ => Refusal::Wrong(failure.message.clone()),
    }
}

/// The id of the resource, as Score writes it.
fn identity(instance: &Instance, workload: &str) -> String {
    instance.shared_id.clone().unwrap_or_else(|| {
        let key = instance.dependents.first().map(|dependent| dependent.key.as_str());
        format!("{workload}.{}", key.unwrap_or_default())
    })
}

/// A name that no other instance has, in the form that templates expect.
fn guid(instance: &str) -> String {
    let hash = orchestra_api::name::hash(&["guid", instance]);
    let part = |from: usize, to: usize| hash.get(from..to).unwrap_or_default();
    format!("{}-{}-{}-{}-{}", part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32))
}

/// The services of Workloads, with their ports by name and by number.
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

fn frame(request: &Request<'_>) -> Result<Frame, String> {
    let Request { extension, instance, kept, .. } = *request;
    let given = &instance.entry.params;
    let mut kinds = extension.kinds.clone();
    let more = Params { given: given.clone(), warning: None };
    kinds.extend(more.texts(setting::KINDS).map_err(|_| "`kinds` has to be a list of kinds".to_owned())?);
    let privileged = extension.privileged || given.get(setting::PRIVILEGED) == Some(&json!(true));
    Ok(Frame {
        namespace: instance.namespace.clone(),
        instance: instance.id.clone(),
        kept: kept.to_owned(),
        kinds,
        privileged,
    })
}

/// What templates see as parameters: settings of the backend, then of the platform's document, then what authors say.
fn params(request: &Request<'_>) -> Result<(Map<String, Json>, Option<String>), Refusal> {
    let Request { entry, extension, instance, .. } = *request;
    let secret = instance.params.iter().find(|(_, value)| has_secret(value));
    if let Some((key, _)) = secret {
        return Err(Refusal::Refused(format!(
            "The parameter `{key}` of `{}` has a secret in it, which it does not take here.",
            instance.type_
        )));
    }
    let settings = &extension.settings;
    let mut all: Map<String, Json> =
        settings.iter().filter_map(|key| Some((key.clone(), instance.values.get(key)?.clone()))).collect();
    let of_document = instance.entry.params.iter().filter(|(key, _)| !setting::ALL.contains(&key.as_str()));
    // Other tools do not enforce what an entry says of its params; one that says nothing takes anything.
    let is_checked = !entry.supported_params.is_empty() || !entry.extension.is_empty();
    let mut warning = None;
    let mut asked = instance.params.clone();
    if is_checked {
        for (key, _) in of_document.clone() {
            if !settings.contains(key) && !entry.supported_params.contains(key) {
                let known = settings.iter().chain(&entry.supported_params).map(String::as_str);
                return Err(Refusal::Wrong(format!(
                    "the document gives `{key}` to `{}`, which knows {}",
                    entry.uri,
                    super::super::params::listed(known.chain(setting::ALL))
                )));
            }
        }
        let known: Vec<&str> = entry.supported_params.iter().map(String::as_str).collect();
        let read = Params::read(&instance.type_, &instance.entry, asked, &known).map_err(Refusal::Refused)?;
        warning = read.warning;
        asked = read.given;
        asked.retain(|key, _| entry.supported_params.contains(key));
    }
    all.extend(of_document.map(|(key, value)| (key.clone(), value.clone())));
    all.extend(asked);
    if extension.environment {
        let values = all.entry("values").or_insert_with(|| json!({}));
        if let Some(values) = values.as_object_mut() {
            values.extend(request.environment.clone());
        }
    }
    if let Some(target) = extension.target {
        aim(request, target, &mut all)?;
    }
    Ok((all, warning))
}

/// Finds the Workload and the port that are meant.
fn aim(request: &Request<'_>, target: Target, params: &mut Map<String, Json>) -> Result<(), Refusal> {
    let read = Params { given: params.clone(), warning: None };
    let wanted = read.text("port").map_err(Refusal::Refused)?;
    let instance = request.instance;
    let workload = match target {
        Target::Own => {
            instance.dependents.first().map(|dependent| dependent.workload.clone()).unwrap_or_default()
        }
        Target::Other => {
            read.text("workload").map_err(Refusal::Refused)?.unwrap_or_else(|| neighbour::named(instance))
        }
    };
    let Some(ports) = request.workloads.get(&workload) else {
        let others: Vec<String> = request.workloads.keys().cloned().collect();
        return Err(Refusal::Pending(neighbour::absent(&workload, &others)));
    };
    let (port, _) = neighbour::port(ports, wanted.as_deref()).map_err(|missing| match target {
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
