//! What the templates of an entry see.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};

/// What the templates of an entry see, beside what earlier templates of the same run gave.
///
/// A map that is `None` is a nil map: it prints as empty, and `toJson` gives `null`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inputs {
    /// The identity of the resource: `type.class#id`.
    pub uid: String,
    /// A name of the resource that is unique in the world and stays.
    pub guid: String,
    /// The type that the workload asks for.
    pub type_: String,
    /// The class; `default` where none is asked for.
    pub class: String,
    /// The id; `workload.key` where it is not shared.
    pub id: String,
    /// The params, with placeholders expanded.
    pub params: Option<Map<String, Json>>,
    /// The metadata of the resource.
    pub metadata: Option<Map<String, Json>>,
    /// What was kept of the last run.
    pub state: Map<String, Json>,
    /// What entries share with each other.
    pub shared: Map<String, Json>,
    /// The workload that asks for it (the first, where several share it).
    pub source_workload: String,
    /// The metadata of that workload.
    pub workload_metadata: Option<Map<String, Json>>,
    /// The services of the workloads that can be reached.
    pub workload_services: BTreeMap<String, Service>,
    /// The namespace that things are made in.
    pub namespace: String,
    /// Set for files of score-compose, whose templates see other fields and have other parts.
    pub compose: Option<Compose>,
}

/// What only templates of score-compose see.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Compose {
    /// The name of the project.
    pub project_name: String,
    /// The folder that files are written to.
    pub mounts_directory: String,
}

/// The service of a workload.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Service {
    /// The name it is reached by.
    pub service_name: String,
    /// Its ports, by name and once more by number.
    pub ports: BTreeMap<String, Port>,
}

/// A port of a service.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Port {
    /// Its name.
    pub name: String,
    /// The number that others use.
    pub port: i64,
    /// The number inside the container.
    pub target_port: i64,
    /// `TCP` or `UDP`.
    pub protocol: String,
}
