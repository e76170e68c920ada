//! Runtime class `process`: programs of this machine.

use super::{ALLOW_VOLUME_SOURCES, DefaultBackend, Provides, RuntimeClass, as_configured, no_contradictions};
use crate::config::{PlatformKind, shape::Shape};

/// Name of the class, and of the engine that provides dependencies on this machine.
pub const NAME: &str = "process";

const TYPES: &[(&str, &str)] = &[
    ("dns", "a name under localhost"),
    ("environment", "variables of the author's shell and of the file .env"),
    ("postgres", "a database of a server of this machine"),
    ("redis", "a cache of a server of this machine"),
    ("route", "a rule of the local reverse proxy"),
    ("secret", "generated values; of class tls, a certificate"),
    ("service", "the address of another workload"),
    ("service-port", "the address of a port of another workload"),
    ("volume", "a folder of this machine"),
];

impl PlatformKind {
    /// One machine, which runs Workloads as processes.
    pub const MACHINE: Self = Self::with_default(NAME);
}

pub(crate) static CLASS: RuntimeClass = RuntimeClass {
    name: NAME,
    values: Shape::Object(&[ALLOW_VOLUME_SOURCES]),
    contradictions: no_contradictions,
    adapt_to_namespace: as_configured,
    provides: Some(Provides { engine: NAME, types: TYPES }),
    default_backend: Some(DefaultBackend { id: "local", location: "on this machine" }),
};
