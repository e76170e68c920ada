//! Admission of rendered objects. It runs after rendering, so no parameter can bypass it: objects are forced into the
//! namespace of the Workload, must be of allowed kinds, never cluster-scoped, and without privileges on nodes.

use std::fmt;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use orchestra_api::label;
use serde_json::{Map, Value as Json, json};

use super::error::{ManifestError, TemplateError};

/// Rules for the rendered objects of an instance.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AdmissionRules {
    /// Namespace of the Workload.
    pub namespace: String,
    /// Id of the instance.
    pub instance: String,
    /// Name of the Secret that the engine keeps for the instance; no object may replace it.
    pub secret_name: String,
    /// Additional kinds: `Component.dapr.io`, `Role.rbac.authorization.k8s.io`.
    pub kinds: Vec<String>,
    /// True if privileges on nodes are allowed.
    pub privileged: bool,
}

/// Kind of objects.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kind {
    /// `v1`, `apps/v1`.
    pub api_version: String,
    /// `StatefulSet`.
    pub kind: String,
}

impl Kind {
    /// Kind with this version and name.
    pub fn new(api_version: &str, kind: &str) -> Self {
        Self { api_version: api_version.to_owned(), kind: kind.to_owned() }
    }

    /// Kind of an object.
    pub fn of(object: &Json) -> Option<Self> {
        Some(Self::new(object.get("apiVersion")?.as_str()?, object.get("kind")?.as_str()?))
    }

    /// API group; empty for the core group.
    pub fn group(&self) -> &str {
        self.api_version.split_once('/').map_or("", |(group, _)| group)
    }
}

/// Form in inventories: `StatefulSet.apps`, `Service`.
impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.group() {
            "" => f.write_str(&self.kind),
            group => write!(f, "{}.{group}", self.kind),
        }
    }
}

/// Kinds that every entry may create, in order of creation.
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

/// Cluster-scoped kinds, which no entry may create.
const CLUSTER_SCOPED: [&str; 22] = [
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

/// Objects to create, in order and labelled.
pub fn admit(manifests: &[Json], rules: &AdmissionRules) -> Result<Vec<Json>, TemplateError> {
    let mut admitted: Vec<(usize, Json)> = Vec::new();
    for (index, manifest) in manifests.iter().enumerate() {
        let object = admit_object(manifest, rules)
            .map_err(|source| TemplateError::Manifest { number: index + 1, source })?;
        // As in the reference implementation, the last object of a name wins.
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

fn admit_object(manifest: &Json, rules: &AdmissionRules) -> Result<Json, ManifestError> {
    let kind = Kind::of(manifest).ok_or(ManifestError::NoKind)?;
    if CLUSTER_SCOPED.contains(&kind.kind.as_str()) {
        return Err(ManifestError::ClusterScoped(kind.kind));
    }
    if !is_allowed(&kind, rules) {
        return Err(ManifestError::KindNotAllowed(kind.to_string()));
    }
    let mut object = manifest.as_object().cloned().unwrap_or_default();
    object.remove("status");
    let metadata = object.entry("metadata").or_insert_with(|| json!({}));
    let metadata = metadata.as_object_mut().ok_or(ManifestError::InvalidMetadata)?;
    let name = metadata.get("name").and_then(Json::as_str).unwrap_or_default().to_owned();
    if name.is_empty() {
        return Err(ManifestError::NoName(kind.to_string()));
    }
    if kind == Kind::new("v1", "Secret") && name == rules.secret_name {
        return Err(ManifestError::ReservedName(name));
    }
    for field in ["ownerReferences", "finalizers", "generateName"] {
        if metadata.contains_key(field) {
            return Err(ManifestError::ReservedField { kind: kind.to_string(), name, field });
        }
    }
    for field in ["uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"] {
        metadata.remove(field);
    }
    metadata.insert("namespace".to_owned(), json!(rules.namespace));
    set_labels(metadata, rules, true);
    let selected = object
        .get("spec")
        .is_some_and(|spec| spec["selector"]["matchLabels"].get(label::MANAGED_BY).is_some());
    if let Some(template) = object.get_mut("spec").and_then(|spec| spec.get_mut("template")) {
        label_template(template, rules, !selected);
    }
    let volumes = object.get_mut("spec").and_then(|spec| spec.get_mut("volumeClaimTemplates"));
    for volume in volumes.and_then(Json::as_array_mut).into_iter().flatten() {
        label_template(volume, rules, true);
    }
    if kind == Kind::new("v1", "Secret") {
        encode_data(&mut object, &name)?;
    }
    let object = Json::Object(object);
    let is_data = kind.group().is_empty() && ["Secret", "ConfigMap"].contains(&kind.kind.as_str());
    if !rules.privileged
        && !is_data
        && let Some(privilege) = privilege(&object)
    {
        return Err(ManifestError::Privileged { kind: kind.to_string(), name, privilege });
    }
    Ok(object)
}

/// Converts `stringData` to `data`, the form in which the cluster stores it, so both can be compared.
fn encode_data(secret: &mut Map<String, Json>, name: &str) -> Result<(), ManifestError> {
    let Some(texts) = secret.remove("stringData") else { return Ok(()) };
    let texts = texts.as_object().cloned().unwrap_or_default();
    let data = secret.entry("data").or_insert_with(|| json!({}));
    let data = data.as_object_mut().ok_or_else(|| ManifestError::InvalidData(name.to_owned()))?;
    for (key, text) in texts {
        let text = text.as_str().ok_or_else(|| ManifestError::InvalidStringData(name.to_owned()))?;
        data.insert(key, json!(STANDARD.encode(text)));
    }
    Ok(())
}

fn is_allowed(kind: &Kind, rules: &AdmissionRules) -> bool {
    let is_standard = KINDS.iter().any(|(api_version, name)| {
        kind.kind == *name && kind.group() == Kind::new(api_version, name).group()
    });
    is_standard || rules.kinds.iter().any(|allowed| *allowed == kind.to_string())
}

/// Labels a template inside of an object.
fn label_template(part: &mut Json, rules: &AdmissionRules, whole: bool) {
    let Some(part) = part.as_object_mut() else { return };
    let metadata = part.entry("metadata").or_insert_with(|| json!({}));
    if let Some(metadata) = metadata.as_object_mut() {
        metadata.remove("namespace");
        set_labels(metadata, rules, whole);
    }
}

fn set_labels(metadata: &mut Map<String, Json>, rules: &AdmissionRules, whole: bool) {
    let labels = metadata.entry("labels").or_insert_with(|| json!({}));
    if labels.is_null() {
        *labels = json!({});
    }
    if let Some(labels) = labels.as_object_mut() {
        labels.insert(label::INSTANCE.to_owned(), json!(rules.instance));
        // A selector of the template on this label keeps working.
        if whole {
            labels.insert(label::MANAGED_BY.to_owned(), json!(label::ORCHESTRA));
        }
    }
}

/// First privilege on nodes in an object.
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
