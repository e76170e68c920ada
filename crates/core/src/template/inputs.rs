//! What the templates of an entry see.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};

use super::language::{
    machine::Machine,
    value::{Field, MapKind, Value},
    {port_record, service_record},
};

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

impl Inputs {
    /// The fields that templates see, but for what earlier templates gave.
    pub(super) fn fields(&self, machine: &mut Machine) -> Vec<Field> {
        let mut fields = Vec::new();
        let mut add = |name: &'static str, value: Value| fields.push(Field { name, json: name, value });
        for (name, text) in [
            ("Uid", &self.uid),
            ("Type", &self.type_),
            ("Class", &self.class),
            ("Id", &self.id),
            ("SourceWorkload", &self.source_workload),
        ] {
            add(name, Value::text(text));
        }
        for (name, map) in [("Params", &self.params), ("Metadata", &self.metadata)] {
            add(name, object(machine, map.as_ref()));
        }
        add("WorkloadServices", self.services(machine));
        if let Some(compose) = &self.compose {
            add("ComposeProjectName", Value::text(&compose.project_name));
            add("MountsDirectory", Value::text(&compose.mounts_directory));
        } else {
            add("Guid", Value::text(&self.guid));
            add("Namespace", Value::text(&self.namespace));
            add("WorkloadMetadata", object(machine, self.workload_metadata.as_ref()));
        }
        fields
    }

    fn services(&self, machine: &mut Machine) -> Value {
        let mut services = BTreeMap::new();
        for (workload, service) in &self.workload_services {
            let mut ports = BTreeMap::new();
            for (key, port) in &service.ports {
                let record = port_record(machine, &port.name, port.port, port.target_port, &port.protocol);
                ports.insert(key.clone(), record);
            }
            let ports = machine.heap.new_map(MapKind::Ports, ports);
            let record = service_record(machine, Value::text(&service.service_name), ports);
            services.insert(workload.clone(), record);
        }
        machine.heap.new_map(MapKind::Services, services)
    }
}

/// A map of the inputs; none is a nil map.
fn object(machine: &mut Machine, map: Option<&Map<String, Json>>) -> Value {
    map.map_or(Value::Map(MapKind::Any, None), |map| machine.heap.object(map))
}
