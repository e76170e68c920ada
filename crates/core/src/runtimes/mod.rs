//! Built-in runtime classes: everything general code needs to know about one, from the module of that runtime.

pub(crate) mod docker;
pub(crate) mod kubernetes;
pub(crate) mod process;

use std::collections::BTreeMap;

use orchestra_api::config::Backend;
use serde_json::{Map, Value as Json};

use crate::config::shape::{Field, Shape, may};

/// A runtime class.
pub(crate) struct RuntimeClass {
    /// Name, as `runtimeClass` of a backend.
    pub(crate) name: &'static str,
    /// Shape of the backend's `values`.
    pub(crate) values: Shape,
    /// Contradictions between values of the right shape.
    pub(crate) contradictions: fn(&Map<String, Json>) -> Vec<Contradiction>,
    /// Adaptation of the values to what the labels of a namespace enforce.
    pub(crate) adapt_to_namespace: fn(&mut Map<String, Json>, &BTreeMap<String, String>),
    /// Engine of the dependencies that come with the runtime, and what it provides.
    pub(crate) provides: Option<Provides>,
    /// Backend of a platform that has no config and runs this class.
    pub(crate) default_backend: Option<DefaultBackend>,
}

/// Values of a backend that contradict each other.
pub(crate) struct Contradiction {
    /// Key of the value.
    pub(crate) key: &'static str,
    /// Message.
    pub(crate) message: String,
    /// Remedy.
    pub(crate) hint: &'static str,
}

/// Dependencies that come with a runtime.
pub(crate) struct Provides {
    /// Engine that provides them.
    pub(crate) engine: &'static str,
    /// Resource types, each with a description.
    pub(crate) types: &'static [(&'static str, &'static str)],
}

/// Backend of a platform without a config.
pub(crate) struct DefaultBackend {
    /// Its `backendId`.
    pub(crate) id: &'static str,
    /// Location of workloads, for the description of a profile.
    pub(crate) location: &'static str,
}

/// The built-in classes. A platform without a config uses the first one it can run.
static CLASSES: [&RuntimeClass; 3] = [&process::CLASS, &kubernetes::CLASS, &docker::CLASS];

/// All built-in classes.
pub(crate) fn all() -> impl Iterator<Item = &'static RuntimeClass> {
    CLASSES.into_iter()
}

/// Built-in class of this name. External controllers implement other classes.
pub(crate) fn find(name: &str) -> Option<&'static RuntimeClass> {
    all().find(|class| class.name == name)
}

impl RuntimeClass {
    /// Backend of a platform without a config.
    pub(crate) fn backend(&self) -> Option<Backend> {
        self.default_backend.as_ref().map(|default| Backend {
            backend_id: default.id.to_owned(),
            runtime_class: self.name.to_owned(),
            ..Backend::default()
        })
    }
}

/// Value that lets Workloads mount volumes of the platform by name.
const ALLOW_VOLUME_SOURCES: Field = may(ALLOW_VOLUME_SOURCES_KEY, Shape::Boolean);
const ALLOW_VOLUME_SOURCES_KEY: &str = "allowVolumeSources";

/// True if the values of a backend let Workloads mount volumes of the platform by name. It holds for external runtimes, too.
pub(crate) fn allows_volume_sources(values: &Map<String, Json>) -> bool {
    values.get(ALLOW_VOLUME_SOURCES_KEY) == Some(&Json::Bool(true))
}

fn no_contradictions(_: &Map<String, Json>) -> Vec<Contradiction> {
    Vec::new()
}

fn as_configured(_: &mut Map<String, Json>, _: &BTreeMap<String, String>) {}
