//! `Workload`, the one kind that users write.

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

/// A workload in the words of Score: what runs, which ports it offers, and what it depends on. The platform decides
/// where it runs and provides what it depends on.
///
/// It is kept as it was written. [`Workload::document`] is what the validator reads; only what it accepts has types.
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

/// How a Workload fares.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadStatus {
    /// Where the workload can be reached; absent while that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// `InputsValid`, `ClaimsReady`, `RuntimeReady`, and `Ready`, which is all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// What the workload depends on, one line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["key"]))]
    pub claims: Vec<ClaimSummary>,
    /// The generation of the spec that this status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

/// How one dependency fares.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClaimSummary {
    /// Its name under `resources`.
    pub key: String,
    /// How far it is.
    pub phase: Phase,
    /// Why, in a word.
    pub reason: Reason,
    /// Why, in a sentence.
    pub message: String,
    /// Whether its outputs can be used.
    pub outputs_available: bool,
}

impl Workload {
    /// The Score document that this object holds.
    pub fn document(&self) -> Json {
        let mut metadata = self.spec.0.get("metadata").and_then(Json::as_object).cloned().unwrap_or_default();
        metadata.insert("name".to_owned(), json!(self.metadata.name));
        let annotations = annotation::of_score(&self.metadata);
        if !annotations.is_empty() {
            metadata.insert("annotations".to_owned(), json!(annotations));
        }
        if let Some(labels) = self.metadata.labels.as_ref().filter(|labels| !labels.is_empty()) {
            metadata.insert("labels".to_owned(), json!(labels));
        }
        let mut document = self.spec.0.clone();
        document.insert("metadata".to_owned(), Json::Object(metadata));
        document.insert("apiVersion".to_owned(), json!(crate::API_VERSION));
        Json::Object(document)
    }

    /// The object that holds a valid Score document.
    pub fn of_document(document: &orchestra_score::Workload) -> Self {
        let mut metadata = document.metadata.extra.clone();
        // Labels that an object cannot have stay where the author put them.
        let labels = metadata.get("labels").and_then(label::of_object);
        if labels.is_some() {
            metadata.remove("labels");
        }
        // An object cannot tell empty annotations from none.
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
