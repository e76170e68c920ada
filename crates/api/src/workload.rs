//! `Workload`: the kind that users write.

use std::borrow::Cow;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::CustomResource;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

use crate::{
    annotation,
    claim::Phase,
    condition::{Condition, Reason},
    crd, label,
};

/// Score workload: containers, ports and dependencies. The platform selects its backend and provides its dependencies.
///
/// It is stored as written. The validator reads [`Workload::document`]; only a valid document is deserialized into types.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[kube(group = "score.dev", version = "v1b1", kind = "Workload", namespaced, status = "WorkloadStatus")]
#[kube(shortname = "swl", category = "score")]
#[kube(
    printcolumn = r#"{"name":"READY","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].status"}"#
)]
#[kube(
    printcolumn = r#"{"name":"REASON","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].reason"}"#
)]
#[kube(printcolumn = r#"{"name":"ENDPOINT","type":"string","jsonPath":".status.endpoint"}"#)]
#[kube(printcolumn = r#"{"name":"AGE","type":"date","jsonPath":".metadata.creationTimestamp"}"#)]
#[kube(derive = "PartialEq")]
#[serde(transparent)]
pub struct WorkloadSpec(pub Map<String, Json>);

impl JsonSchema for WorkloadSpec {
    fn schema_name() -> Cow<'static, str> {
        "WorkloadSpec".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        crd::score::spec()
    }
}

/// Status of a Workload.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadStatus {
    /// URL of the workload. Absent while it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// Conditions `InputsValid`, `ClaimsReady` and `RuntimeReady`, and their conjunction `Ready`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// Status of each dependency.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["key"]))]
    pub claims: Vec<ClaimSummary>,
    /// Generation of the Workload that this status describes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

/// Status of a dependency.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClaimSummary {
    /// Key of the dependency under `resources`.
    pub key: String,
    /// Phase of the claim.
    pub phase: Phase,
    /// Machine-readable reason for the phase.
    pub reason: Reason,
    /// Explanation for users.
    pub message: String,
    /// True if its outputs are complete.
    pub outputs_available: bool,
}

impl Workload {
    /// Score document of this object.
    pub fn document(&self) -> Json {
        let mut metadata = self.spec.0.get("metadata").and_then(Json::as_object).cloned().unwrap_or_default();
        metadata.insert("name".to_owned(), json!(self.metadata.name));
        let annotations = annotation::of_score(&self.metadata);
        if !annotations.is_empty() {
            metadata.insert("annotations".to_owned(), json!(annotations));
        }
        if let Some(labels) = self.metadata.labels.as_ref().filter(|labels| !labels.is_empty()) {
            let mut all = metadata.get("labels").and_then(Json::as_object).cloned().unwrap_or_default();
            all.extend(labels.iter().map(|(key, value)| (key.clone(), json!(value))));
            metadata.insert("labels".to_owned(), Json::Object(all));
        }
        let mut document = self.spec.0.clone();
        document.insert("metadata".to_owned(), Json::Object(metadata));
        document.insert("apiVersion".to_owned(), json!(crate::API_VERSION));
        Json::Object(document)
    }

    /// Object of a valid Score document.
    pub fn of_document(document: &orchestra_score::Workload) -> Self {
        let mut metadata = document.metadata.extra.clone();
        // Labels that are not valid on an object stay in the spec.
        let (labels, others) =
            metadata.get("labels").and_then(Json::as_object).map(label::split).unwrap_or_default();
        if !labels.is_empty() {
            metadata.remove("labels");
            if !others.is_empty() {
                metadata.insert("labels".to_owned(), Json::Object(others));
            }
        }
        let labels = Some(labels).filter(|labels| !labels.is_empty());
        // Empty and absent annotations are the same on an object.
        let annotations = document.metadata.annotations.clone().filter(|annotations| !annotations.is_empty());
        if document.metadata.annotations.is_some() && annotations.is_none() {
            metadata.insert("annotations".to_owned(), json!({}));
        }
        let mut spec = Map::new();
        spec.insert("containers".to_owned(), json!(document.containers));
        if let Some(service) = &document.service {
            spec.insert("service".to_owned(), json!(service));
        }
        if let Some(resources) = &document.resources {
            spec.insert("resources".to_owned(), json!(resources));
        }
        if !metadata.is_empty() {
            spec.insert("metadata".to_owned(), Json::Object(metadata));
        }
        Self {
            metadata: ObjectMeta {
                name: Some(document.metadata.name.clone()),
                annotations,
                labels,
                ..ObjectMeta::default()
            },
            spec: WorkloadSpec(spec),
            status: None,
        }
    }
}
