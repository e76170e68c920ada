//! A plan as objects of a Kubernetes cluster.
//!
//! Every object is what the runtime wants to own of it and nothing else: what the cluster fills in, and what others
//! write, is left to them. Equal plans give equal objects, down to the order of lists, in the form in which the cluster
//! gives them back; so that comparing shows whether there is anything to do.
//!
//! `workload` says which object runs the containers, `container` and `content` what is in them, `order` how they
//! start, `volume` what they mount, `routing` how they are reached, and [`exposure`] where, once the cluster has
//! answered. `values` are the settings of the backend, `names` what everything is called. `docs/kubernetes.md` tells
//! it to platform engineers.

mod container;
mod content;
pub mod exposure;
mod names;
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

pub(crate) use container::{STARTUP_PATIENCE, STARTUP_PERIOD};
pub use names::{REVISION, WORKLOAD_UID, is_immutable, service as service_name};
use values::Values;
pub(crate) use values::heed_namespace;

/// The class of plans that are run in a cluster.
pub const CLASS: &str = "kubernetes";

/// What is rendered: a plan, and where it belongs.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The namespace of the plan.
    pub namespace: &'a str,
    /// The name of the plan, which is that of the Workload.
    pub name: &'a str,
    /// The plan.
    pub plan: &'a WorkloadPlanSpec,
}

/// What a plan needs that cannot be rendered, each in a sentence with the field.
pub fn lacks(plan: &WorkloadPlanSpec) -> Vec<String> {
    let mut lacks: Vec<String> = Values::read(plan).err().into_iter().collect();
    lacks.extend(plan.containers.iter().flat_map(|(name, given)| container::lacks(name, given)));
    lacks.extend(order::order(plan).err().into_iter().flatten());
    lacks.extend(content::lacks(plan));
    lacks.extend(volume::lacks(plan));
    lacks
}

/// The secret values that have to be known before a plan is rendered: those that are put together with other text.
pub fn composed(plan: &WorkloadPlanSpec) -> BTreeSet<SecretKeyRef> {
    content::composed(plan)
}

/// Everything that is made for a plan, as the inventory names it: `kind` is `Deployment.apps` or `Service`.
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

/// The objects, in the order in which they are applied. `secret` answers with the values of [`composed`].
pub fn render(subject: &Subject<'_>, secret: &dyn Fn(&SecretKeyRef) -> Vec<u8>) -> Vec<Json> {
    let values = Values::of(subject.plan);
    let mut objects: Vec<Json> = content::secret(subject, secret).into_iter().collect();
    objects.extend(content::config_map(subject));
    objects.extend(routing::service(subject));
    objects.push(workload::workload(subject, &values));
    objects.extend(routing::public(subject, &values));
    objects.into_iter().map(said).collect()
}

/// A value without the fields that say nothing.
fn said(value: Json) -> Json {
    match value {
        Json::Object(map) => {
            let said_fields = map.into_iter().filter(|(_, value)| !value.is_null());
            Json::Object(said_fields.map(|(key, value)| (key, said(value))).collect())
        }
        Json::Array(items) => items.into_iter().map(said).collect(),
        other => other,
    }
}

/// A list, or nothing if nothing is in it.
fn list(items: Vec<Json>) -> Json {
    if items.is_empty() { Json::Null } else { Json::Array(items) }
}
