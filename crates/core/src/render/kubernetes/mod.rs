//! Rendering of a plan as Kubernetes objects.
//!
//! Objects contain only the fields that the runtime owns: defaults of the API server and fields of other managers are left
//! out. Equal plans give equal objects, down to the order of lists, in the form that the API server returns, so a comparison
//! shows whether there is anything to apply.
//!
//! `workload` chooses the kind of the main object, `container` and `content` render containers, variables and files, `order`
//! their start order, `volume` their mounts, `routing` services and routes, and [`exposure`] derives the addresses from
//! their status, with [`node_address`] for node ports. `values` are the settings of the backend, `names` the names and labels. `docs/kubernetes.md` is the
//! documentation for platform engineers.

mod container;
mod content;
pub mod exposure;
mod names;
pub mod node_address;
mod order;
mod quantity;
mod routing;
pub(crate) mod values;
mod volume;
mod workload;

use std::collections::BTreeSet;

use orchestra_api::{
    plan::{InventoryItem, WorkloadPlanSpec},
    reference::SecretKeyRef,
};
use serde_json::Value as Json;

pub(crate) use container::{STARTUP_FAILURE_THRESHOLD, STARTUP_PERIOD};
pub use names::{REVISION, WORKLOAD_UID, service as service_name};
use values::Values;

/// Runtime class of plans that run in a cluster.
pub const CLASS: &str = crate::runtimes::kubernetes::NAME;

/// Plan to render.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// Namespace of the plan.
    pub namespace: &'a str,
    /// Name of the plan, which is that of the Workload.
    pub name: &'a str,
    /// The plan.
    pub plan: &'a WorkloadPlanSpec,
}

/// Unsupported parts of a plan, each as a sentence with the field.
pub fn lacks(plan: &WorkloadPlanSpec) -> Vec<String> {
    let mut lacks: Vec<String> = Values::read(plan).err().into_iter().collect();
    lacks.extend(plan.containers.iter().flat_map(|(name, given)| container::lacks(name, given)));
    lacks.extend(order::order(plan).err().into_iter().flatten());
    lacks.extend(content::lacks(plan));
    lacks.extend(volume::lacks(plan));
    lacks
}

/// Secrets whose values are needed for rendering, since they are composed with other text.
pub fn composed(plan: &WorkloadPlanSpec) -> BTreeSet<SecretKeyRef> {
    content::composed(plan)
}

/// Inventory of a plan: `kind` is `Deployment.apps` or `Service`.
pub fn inventory(subject: &Subject<'_>) -> Vec<InventoryItem> {
    let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
    let item = |object: &Json| {
        let kind = text(&object["kind"]);
        let kind = match object["apiVersion"].as_str().and_then(|version| version.split_once('/')) {
            Some((group, _)) => format!("{kind}.{group}"),
            None => kind,
        };
        InventoryItem { kind, name: text(&object["metadata"]["name"]), id: None }
    };
    let mut all: Vec<_> = render(subject, &|_| Vec::new()).iter().map(item).collect();
    all.sort();
    all
}

/// Objects in the order of their application. `secret` returns the values of [`composed`].
pub fn render(subject: &Subject<'_>, secret: &dyn Fn(&SecretKeyRef) -> Vec<u8>) -> Vec<Json> {
    let values = Values::of(subject.plan);
    let mut objects: Vec<Json> = content::secret(subject, secret).into_iter().collect();
    objects.extend(content::config_map(subject));
    objects.extend(routing::service(subject));
    objects.push(workload::workload(subject, &values));
    objects.extend(routing::public(subject, &values));
    objects.into_iter().map(without_nulls).collect()
}

/// Value without null fields.
fn without_nulls(value: Json) -> Json {
    match value {
        Json::Object(map) => {
            let fields = map.into_iter().filter(|(_, value)| !value.is_null());
            Json::Object(fields.map(|(key, value)| (key, without_nulls(value))).collect())
        }
        Json::Array(items) => items.into_iter().map(without_nulls).collect(),
        other => other,
    }
}

/// List, or null if it is empty.
fn list(items: Vec<Json>) -> Json {
    if items.is_empty() { Json::Null } else { Json::Array(items) }
}
