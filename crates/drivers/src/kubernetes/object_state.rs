//! Summary of an object: its identity, a hash of the fields that we own, and the facts that observation needs. Whole objects
//! are not cached: there are many.

use kube::core::{DynamicObject, ObjectMeta};
use orchestra_api::label;
use orchestra_core::{
    observe::{
        kubernetes::{Cause, Rollout},
        owned_fields::{self, FieldsHash},
    },
    render::kubernetes::{
        REVISION, WORKLOAD_UID,
        exposure::{RouteFact, ServiceFact},
    },
};
use serde_json::{Value as Json, json};

use super::{MANAGER, kind::Kind};

/// Summary of an object.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ObjectState {
    pub(super) kind: Kind,
    pub(super) name: Box<str>,
    pub(super) uid: Box<str>,
    /// Uid of the Workload that it was created for; `None` if it is not ours.
    pub(super) owner: Option<Box<str>>,
    /// Revision that it was rendered from.
    pub(super) revision: Option<Box<str>>,
    /// Hash of the fields that we own.
    pub(super) fields_hash: Option<FieldsHash>,
    pub(super) is_deleting: bool,
    pub(super) facts: Facts,
    /// Cause of its failure, from events.
    pub(super) event_cause: Option<Box<Cause>>,
}

/// Facts that observation needs.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Facts {
    None,
    Rollout(Box<Rollout>),
    Service(Box<ServiceFact>),
    Route(Box<RouteFact>),
}

/// Object from a watch or an answer.
#[derive(Debug)]
pub(super) struct WatchedObject {
    pub(super) namespace: String,
    /// Workload, by label.
    pub(super) workload: Option<String>,
    /// Instance, by label.
    pub(super) instance: Option<String>,
    pub(super) version: u64,
    /// The object without managed fields.
    pub(super) json: Json,
    fields_hash: Option<FieldsHash>,
}

impl WatchedObject {
    pub(super) fn new(object: DynamicObject) -> Self {
        let DynamicObject { types: _, mut metadata, data: mut json } = object;
        let notes = metadata.managed_fields.take().unwrap_or_default();
        let labelled = |key: &str| metadata.labels.as_ref().and_then(|labels| labels.get(key)).cloned();
        let (workload, instance) = (labelled(label::WORKLOAD), labelled(label::INSTANCE));
        let version = metadata.resource_version.as_deref().and_then(|version| version.parse().ok());
        let namespace = metadata.namespace.clone().unwrap_or_default();
        if let Some(json) = json.as_object_mut() {
            json.insert("metadata".to_owned(), serde_json::to_value(metadata).unwrap_or_default());
        }
        let fields_hash = owned_fields::owned(&json, &notes, MANAGER);
        Self { namespace, workload, instance, version: version.unwrap_or_default(), json, fields_hash }
    }

    /// Object of which only the metadata is watched.
    pub(super) fn of_metadata(metadata: ObjectMeta) -> Self {
        Self::new(DynamicObject { types: None, metadata, data: json!({}) })
    }

    /// Uid.
    pub(super) fn uid(&self) -> &str {
        self.json["metadata"]["uid"].as_str().unwrap_or_default()
    }

    /// Summary.
    pub(super) fn state(&self, kind: Kind) -> ObjectState {
        let metadata = &self.json["metadata"];
        let text = |value: &Json| value.as_str().map(Box::from);
        let is_managed = metadata["labels"][label::MANAGED_BY] == label::ORCHESTRA;
        let facts = match (kind, kind.rollout_kind()) {
            (_, Some(rollout)) => Facts::Rollout(Box::new(Rollout::read(rollout, metadata, &self.json))),
            (Kind::Service, _) => serde_json::from_value(self.json.clone())
                .map_or(Facts::None, |service| Facts::Service(Box::new(ServiceFact::of(&service)))),
            (Kind::Ingress, _) => serde_json::from_value(self.json.clone())
                .map_or(Facts::None, |ingress| Facts::Route(Box::new(RouteFact::of_ingress(&ingress)))),
            (Kind::HttpRoute, _) => Facts::Route(Box::new(RouteFact::of_http_route(&self.json))),
            _ => Facts::None,
        };
        ObjectState {
            kind,
            name: text(&metadata["name"]).unwrap_or_default(),
            uid: self.uid().into(),
            owner: text(&metadata["annotations"][WORKLOAD_UID]).filter(|_| is_managed),
            revision: text(&metadata["annotations"][REVISION]),
            fields_hash: self.fields_hash,
            is_deleting: metadata["deletionTimestamp"].is_string(),
            facts,
            event_cause: None,
        }
    }
}
