//! Data of templates.

use std::collections::BTreeMap;

use orchestra_gotemplate::{Field, Heap, MapKind, MapType, Value};
use serde_json::{Map, Value as Json};

/// Data of the templates of an entry, beside the results of earlier templates of the same run.
///
/// A map that is `None` is a nil map: it prints as empty, and `toJson` gives `null`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inputs {
    /// Uid of the resource: `type.class#id`.
    pub uid: String,
    /// Stable globally unique id of the resource.
    pub guid: String,
    /// Resource type.
    pub type_: String,
    /// Resource class, or `default`.
    pub class: String,
    /// Resource id; `workload.key` if it is not shared.
    pub id: String,
    /// Params, with placeholders expanded.
    pub params: Option<Map<String, Json>>,
    /// Metadata of the resource.
    pub metadata: Option<Map<String, Json>>,
    /// State of the last run.
    pub state: Map<String, Json>,
    /// Shared state of entries.
    pub shared: Map<String, Json>,
    /// Workload of the resource (the first, if several share it).
    pub source_workload: String,
    /// Metadata of that workload.
    pub workload_metadata: Option<Map<String, Json>>,
    /// Services of the reachable workloads.
    pub workload_services: BTreeMap<String, Service>,
    /// Namespace of created objects.
    pub namespace: String,
    /// Set for files of score-compose, which have other fields and parts.
    pub compose: Option<Compose>,
}

/// Fields of score-compose.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Compose {
    /// Project name.
    pub project_name: String,
    /// Folder of mounted files.
    pub mounts_directory: String,
}

/// Service of a workload.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Service {
    /// Host name.
    pub service_name: String,
    /// Ports, by name and by number.
    pub ports: BTreeMap<String, Port>,
}

/// Port of a service.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Port {
    /// Name.
    pub name: String,
    /// Port of the service.
    pub port: i64,
    /// Port of the container.
    pub target_port: i64,
    /// `TCP` or `UDP`.
    pub protocol: String,
}

impl Inputs {
    /// Fields of templates, without results of earlier templates.
    pub(super) fn fields(&self, heap: &mut Heap) -> Vec<Field> {
        let mut fields = Vec::new();
        let mut add = |name: &'static str, value: Value| fields.push(Field { name, json: name, value });
        for (name, text) in [
            ("Uid", &self.uid),
            ("Type", &self.type_),
            ("Class", &self.class),
            ("Id", &self.id),
            ("SourceWorkload", &self.source_workload),
        ] {
            add(name, Value::string(text));
        }
        for (name, map) in [("Params", &self.params), ("Metadata", &self.metadata)] {
            add(name, object(heap, map.as_ref()));
        }
        add("WorkloadServices", self.services(heap));
        if let Some(compose) = &self.compose {
            add("ComposeProjectName", Value::string(&compose.project_name));
            add("MountsDirectory", Value::string(&compose.mounts_directory));
        } else {
            add("Guid", Value::string(&self.guid));
            add("Namespace", Value::string(&self.namespace));
            add("WorkloadMetadata", object(heap, self.workload_metadata.as_ref()));
        }
        fields
    }

    fn services(&self, heap: &mut Heap) -> Value {
        let mut services = BTreeMap::new();
        for (workload, service) in &self.workload_services {
            let mut ports = BTreeMap::new();
            for (key, port) in &service.ports {
                let record = port.record(heap);
                ports.insert(key.clone(), record);
            }
            let ports = heap.new_map(MapKind::Typed(&PORTS), ports);
            let record = service_record(heap, &service.service_name, ports);
            services.insert(workload.clone(), record);
        }
        heap.new_map(MapKind::Typed(&SERVICES), services)
    }
}

impl Port {
    fn record(&self, heap: &mut Heap) -> Value {
        let protocol = Value::Named("types.ServicePortProtocol", self.protocol.as_str().into());
        let fields = vec![
            Field { name: "Name", json: "name", value: Value::string(&self.name) },
            Field { name: "Port", json: "port", value: Value::Int(self.port) },
            Field { name: "TargetPort", json: "target_port", value: Value::Int(self.target_port) },
            Field { name: "Protocol", json: "protocol", value: protocol },
        ];
        heap.new_record("provisioners.ServicePort", fields)
    }
}

fn service_record(heap: &mut Heap, name: &str, ports: Value) -> Value {
    let fields = vec![
        Field { name: "ServiceName", json: "ServiceName", value: Value::string(name) },
        Field { name: "Ports", json: "ports", value: ports },
    ];
    heap.new_record("provisioners.NetworkService", fields)
}

/// Services by Workload; the Go type of the reference tools.
static SERVICES: MapType = MapType {
    name: "map[string]provisioners.NetworkService",
    zero: |heap| service_record(heap, "", Value::Map(MapKind::Typed(&PORTS), None)),
};

/// Ports by name or number; the Go type of the reference tools.
static PORTS: MapType =
    MapType { name: "map[string]provisioners.ServicePort", zero: |heap| Port::default().record(heap) };

/// Map of the inputs; `None` is a nil map.
fn object(heap: &mut Heap, map: Option<&Map<String, Json>>) -> Value {
    map.map_or(Value::Map(MapKind::Any, None), |map| heap.map_from_json(map))
}
