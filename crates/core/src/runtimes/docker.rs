//! Runtime class `docker`: containers of a Docker or Podman engine. Its backends can be configured; no driver is built in yet.

use super::{ALLOW_VOLUME_SOURCES, RuntimeClass, as_configured, no_contradictions};
use crate::config::shape::{Shape, may};

pub(crate) static CLASS: RuntimeClass = RuntimeClass {
    name: "docker",
    values: Shape::Object(&[may("network", Shape::Name), ALLOW_VOLUME_SOURCES]),
    contradictions: no_contradictions,
    adapt_to_namespace: as_configured,
    provides: None,
    default_backend: None,
};
