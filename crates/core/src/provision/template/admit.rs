//! Which objects an entry may make. They are looked at after rendering, so that nothing that somebody wrote into a
//! parameter can lead past it: forced into the namespace of the Workload, of kinds that the entry may make, never of the
//! whole cluster, and without privileges of the machines.

use std::fmt;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use orchestra_api::label;
use serde_json::{Map, Value as Json, json};

/// Where rendered objects belong, and what they may be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// The namespace of the Workload.
    pub namespace: String,
    /// The identity of the instance.
    pub instance: String,
    /// The name of the Secret that the engine keeps for the instance; no object may take its place.
    pub kept: String,
    /// Kinds besides those that every entry may make: `Component.dapr.io`, `Role.rbac.authorization.k8s.io`.
    pub kinds: Vec<String>,
    /// Whether privileges of the machines may be asked for.
    pub privileged: bool,
}

/// A kind of objects: group and version, and its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kind {
    /// `v1`, `apps/v1`.
    pub api_version: String,
    /// `StatefulSet`.
    pub kind: String,
}

impl Kind {
    /// A kind by its words.
    pub fn new(api_version: &str, kind: &str) -> Self {
        Self { api_version: api_version.to_owned(), kind: kind.to_owned() }
    }

    /// The kind of an object.
    pub fn of(object: &Json) -> Option<Self> {
        Some(Self::new(object.get("apiVersion")?.as_str()?, object.get("kind")?.as_str()?))
    }

    /// Its group; empty for the oldest kinds.
    pub fn group(&self) -> &str {
        self.api_version.split_once('/').map_or("", |(group, _)| group)
    }
}

/// As inventories name it: `StatefulSet.apps`, `Service`.
impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.group() {
            "" => f.write_str(&self.kind),
            group => write!(f, "{}.{group}", self.kind),
        }
    }
}

/// What every entry may make, in the order in which it is made.
pub const KINDS: [(&str, &str); 11] = [
    ("v1", "ServiceAccount"),
    ("v1", "Secret"),
    ("v1", "ConfigMap"),
    ("v1", "PersistentVolumeClaim"),
    ("networking.k8s.io/v1", "NetworkPolicy"),
    ("v1", "Service"),
    ("apps/v1", "StatefulSet"),
    ("apps/v1", "Deployment"),
    ("batch/v1", "Job"),
    ("networking.k8s.io/v1", "Ingress"),
    ("gateway.networking.k8s.io/v1", "HTTPRoute"),
];

/// Kinds of the whole cluster, which no entry may make.
const OF_THE_CLUSTER: [&str; 22] = [
    "APIService",
    "CSIDriver",
    "CSINode",
    "CertificateSigningRequest",
    "ClusterRole",
    "ClusterRoleBinding",
    "CustomResourceDefinition",
    "FlowSchema",
    "GatewayClass",
    "IngressClass",
    "MutatingAdmissionPolicy",
    "MutatingWebhookConfiguration",
    "Namespace",
    "Node",
    "PersistentVolume",
    "PriorityClass",
    "PriorityLevelConfiguration",
    "RuntimeClass",
    "StorageClass",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "ValidatingWebhookConfiguration",
];

/// The objects to make, in their order and marked as ours; or what is wrong with one, for those who wrote the template.
pub fn admit(manifests: &[Json], frame: &Frame) -> Result<Vec<Json>, String> {
    let mut admitted: Vec<(usize, Json)> = Vec::new();
    for (index, manifest) in manifests.iter().enumerate() {
        let object = one(manifest, frame).map_err(|wrong| format!("manifest {}: {wrong}", index + 1))?;
        // As with the reference, the last one of a name counts.
        admitted.retain(|(_, other)| !is_same(other, &object));
        admitted.push((rank(&object), object));
    }
    admitted.sort_by_key(|(rank, _)| *rank);
    Ok(admitted.into_iter().map(|(_, object)| object).collect())
}

fn is_same(one: &Json, other: &Json) -> bool {
    one["kind"] == other["kind"]
        && one["apiVersion"] == other["apiVersion"]
        && one["metadata"]["name"] == other["metadata"]["name"]
}

fn rank(object: &Json) -> usize {
    let is =
        |(api_version, kind): &(&str, &str)| object["apiVersion"] == *api_version && object["kind"] == *kind;
    KINDS.iter().position(is).unwrap_or(KINDS.len())
}

fn one(manifest: &Json, frame: &Frame) -> Result<Json, String> {
    let kind = Kind::of(manifest).ok_or("it has no `apiVersion` or no `kind`")?;
    if OF_THE_CLUSTER.contains(&kind.kind.as_str()) {
        return Err(format!(
            "a {} belongs to the whole cluster, and templates make nothing there",
            kind.kind
        ));
    }
    if !may_make(&kind, frame) {
        return Err(format!(
            "it makes a {kind}, which it may not: add `kinds: [{kind}]` to the params of its entry, or to `x-orchestra`"
        ));
    }
    let mut object = manifest.as_object().cloned().unwrap_or_default();
    object.remove("status");
    let metadata = object.entry("metadata").or_insert_with(|| json!({}));
    let metadata = metadata.as_object_mut().ok_or("its `metadata` is no map")?;
    let name = metadata.get("name").and_then(Json::as_str).unwrap_or_default().to_owned();
    if name.is_empty() {
        return Err(format!("the {kind} has no `metadata.name`"));
    }
    if kind == Kind::new("v1", "Secret") && name == frame.kept {
        return Err(format!("the Secret `{name}` is the one that the platform itself keeps"));
    }
    for foreign in ["ownerReferences", "finalizers", "generateName"] {
        if metadata.contains_key(foreign) {
            return Err(format!("the {kind} `{name}` has `metadata.{foreign}`, which is the platform's"));
        }
    }
    for server in ["uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"] {
        metadata.remove(server);
    }
    metadata.insert("namespace".to_owned(), json!(frame.namespace));
    mark(metadata, frame, true);
    let selected = object
        .get("spec")
        .is_some_and(|spec| spec["selector"]["matchLabels"].get(label::MANAGED_BY).is_some());
    if let Some(template) = object.get_mut("spec").and_then(|spec| spec.get_mut("template")) {
        mark_inner(template, frame, !selected);
    }
    let volumes = object.get_mut("spec").and_then(|spec| spec.get_mut("volumeClaimTemplates"));
    for volume in volumes.and_then(Json::as_array_mut).into_iter().flatten() {
        mark_inner(volume, frame, true);
    }
    if kind == Kind::new("v1", "Secret") {
        as_data(&mut object).map_err(|wrong| format!("the Secret `{name}` {wrong}"))?;
    }
    let object = Json::Object(object);
    let is_data = kind.group().is_empty() && ["Secret", "ConfigMap"].contains(&kind.kind.as_str());
    if !frame.privileged
        && !is_data
        && let Some(wish) = privilege(&object)
    {
        return Err(format!(
            "the {kind} `{name}` asks for `{wish}`, a privilege of the machine: add `privileged: true` to the params of its entry, or to `x-orchestra`"
        ));
    }
    Ok(object)
}

/// Writes what is given as text the way in which the cluster keeps it, so that both can be compared.
fn as_data(secret: &mut Map<String, Json>) -> Result<(), &'static str> {
    let Some(texts) = secret.remove("stringData") else { return Ok(()) };
    let texts = texts.as_object().cloned().unwrap_or_default();
    let data = secret.entry("data").or_insert_with(|| json!({}));
    let data = data.as_object_mut().ok_or("has `data` that is no map")?;
    for (key, text) in texts {
        let text = text.as_str().ok_or("has something other than texts in `stringData`")?;
        data.insert(key, json!(STANDARD.encode(text)));
    }
    Ok(())
}

fn may_make(kind: &Kind, frame: &Frame) -> bool {
    let is_usual = KINDS.iter().any(|(api_version, name)| {
        kind.kind == *name && kind.group() == Kind::new(api_version, name).group()
    });
    is_usual || frame.kinds.iter().any(|allowed| *allowed == kind.to_string())
}

/// Marks what is inside of an object and becomes one of its own.
fn mark_inner(part: &mut Json, frame: &Frame, whole: bool) {
    let Some(part) = part.as_object_mut() else { return };
    let metadata = part.entry("metadata").or_insert_with(|| json!({}));
    if let Some(metadata) = metadata.as_object_mut() {
        metadata.remove("namespace");
        mark(metadata, frame, whole);
    }
}

fn mark(metadata: &mut Map<String, Json>, frame: &Frame, whole: bool) {
    let labels = metadata.entry("labels").or_insert_with(|| json!({}));
    if labels.is_null() {
        *labels = json!({});
    }
    if let Some(labels) = labels.as_object_mut() {
        labels.insert(label::INSTANCE.to_owned(), json!(frame.instance));
        // A selector that rests on the words of the template keeps working.
        if whole {
            labels.insert(label::MANAGED_BY.to_owned(), json!(label::ORCHESTRA));
        }
    }
}

/// The first privilege of the machine that an object asks for.
fn privilege(value: &Json) -> Option<&'static str> {
    match value {
        Json::Array(items) => items.iter().find_map(privilege),
        Json::Object(fields) => fields.iter().find_map(|(key, value)| {
            let is_on = value == &json!(true);
            let is_some = value.as_array().is_some_and(|items| !items.is_empty());
            match key.as_str() {
                "hostPath" => Some("hostPath"),
                "privileged" if is_on => Some("privileged"),
                "hostNetwork" if is_on => Some("hostNetwork"),
                "hostPID" if is_on => Some("hostPID"),
                "hostIPC" if is_on => Some("hostIPC"),
                "hostPort" if value.as_i64() != Some(0) => Some("hostPort"),
                "externalIPs" if is_some => Some("externalIPs"),
                "capabilities" if value["add"].as_array().is_some_and(|added| !added.is_empty()) => {
                    Some("capabilities.add")
                }
                _ => privilege(value),
            }
        }),
        _ => None,
    }
}

#[cfg(test)]
#[path = "admit_tests.rs"]
mod tests;
