//! What is kept of an object that was made: who it is, a mark of what we own of it, and what observation needs.
//! The object itself is not kept: there are many.

use kube::core::{DynamicObject, ObjectMeta};
use orchestra_api::label;
use orchestra_core::{
    observe::{
        kubernetes::{Cause, Rollout},
        owned::{self, Mark},
    },
    render::kubernetes::{
        REVISION, WORKLOAD_UID,
        exposure::{RouteFact, ServiceFact},
    },
};
use serde_json::{Value as Json, json};

use super::{MANAGER, kind::Kind};

/// What is kept of an object.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Held {
    pub(super) kind: Kind,
    pub(super) name: Box<str>,
    pub(super) uid: Box<str>,
    /// The uid of the Workload that it was made for; absent if it was not made by us.
    pub(super) owner: Option<Box<str>>,
    /// The revision that it bears.
    pub(super) revision: Option<Box<str>>,
    /// What we own of it.
    pub(super) mark: Option<Mark>,
    pub(super) is_leaving: bool,
    pub(super) facts: Facts,
    /// What is wrong with it, by what is told about it.
    pub(super) told: Option<Box<Cause>>,
}

/// What observation needs of an object.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Facts {
    None,
    Rollout(Box<Rollout>),
    Service(Box<ServiceFact>),
    Route(Box<RouteFact>),
}

/// An object that passes by.
#[derive(Debug)]
pub(super) struct Passing {
    pub(super) namespace: String,
    /// The Workload that it is made for, by its label.
    pub(super) workload: Option<String>,
    /// The instance that it is made for, by its label.
    pub(super) instance: Option<String>,
    pub(super) version: u64,
    /// The object, with its metadata, and without the notes of who owns what.
    pub(super) json: Json,
    mark: Option<Mark>,
}

impl Passing {
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
        let mark = owned::owned(&json, &notes, MANAGER);
        Self { namespace, workload, instance, version: version.unwrap_or_default(), json, mark }
    }

    /// One of which only the metadata passes by.
    pub(super) fn of_metadata(metadata: ObjectMeta) -> Self {
        Self::new(DynamicObject { types: None, metadata, data: json!({}) })
    }

    /// The identity of the object.
    pub(super) fn uid(&self) -> &str {
        self.json["metadata"]["uid"].as_str().unwrap_or_default()
    }

    /// What is kept of it.
    pub(super) fn held(&self, kind: Kind) -> Held {
        let metadata = &self.json["metadata"];
        let text = |value: &Json| value.as_str().map(Box::from);
        let is_managed = metadata["labels"][label::MANAGED_BY] == label::ORCHESTRA;
        let facts = match (kind, kind.maker()) {
            (_, Some(maker)) => Facts::Rollout(Box::new(Rollout::read(maker, metadata, &self.json))),
            (Kind::Service, _) => serde_json::from_value(self.json.clone())
                .map_or(Facts::None, |service| Facts::Service(Box::new(ServiceFact::of(&service)))),
            (Kind::Ingress, _) => serde_json::from_value(self.json.clone())
                .map_or(Facts::None, |ingress| Facts::Route(Box::new(RouteFact::of_ingress(&ingress)))),
            (Kind::HttpRoute, _) => Facts::Route(Box::new(RouteFact::of_http_route(&self.json))),
            _ => Facts::None,
        };
        Held {
            kind,
            name: text(&metadata["name"]).unwrap_or_default(),
            uid: self.uid().into(),
            owner: text(&metadata["annotations"][WORKLOAD_UID]).filter(|_| is_managed),
            revision: text(&metadata["annotations"][REVISION]),
            mark: self.mark,
            is_leaving: metadata["deletionTimestamp"].is_string(),
            facts,
            told: None,
        }
    }
}
