//! Runtime class `kubernetes`: objects of a cluster.

use super::{ALLOW_VOLUME_SOURCES, DefaultBackend, Provides, RuntimeClass};
use crate::{
    config::{
        PlatformKind,
        shape::{Shape, may, must},
    },
    range::Measure,
    render::kubernetes::values,
};

/// Name of the class.
pub const NAME: &str = "kubernetes";
/// Engine that provides dependencies as objects of a cluster.
pub const TEMPLATE: &str = "template";

/// Maximum id of a user or a group.
const MAX_ID: i64 = i32::MAX as i64;

const AMOUNTS: Shape = Shape::Object(&[
    may("cpu", Shape::Quantity(Measure::Cpu)),
    may("memory", Shape::Quantity(Measure::Memory)),
]);

/// Values of a backend, as `render::kubernetes::values` reads them.
const VALUES: Shape = Shape::Object(&[
    may("replicas", Shape::Integer(0, 1000)),
    may("serviceAccountName", Shape::Name),
    may("imagePullSecrets", Shape::List(&Shape::Name)),
    may("resources", Shape::Object(&[may("requests", AMOUNTS), may("limits", AMOUNTS)])),
    may("nodeSelector", Shape::Map(&Shape::Text)),
    may(
        "tolerations",
        Shape::List(&Shape::Object(&[
            may("key", Shape::Name),
            may("operator", Shape::Word(&["Equal", "Exists"])),
            may("value", Shape::Name),
            may("effect", Shape::Word(&["NoSchedule", "PreferNoSchedule", "NoExecute"])),
            may("tolerationSeconds", Shape::Integer(i64::MIN, i64::MAX)),
        ])),
    ),
    may("expose", Shape::Word(&["ingress", "gateway", "loadBalancer", "nodePort", "none"])),
    may("domain", Shape::Name),
    may("ingressClass", Shape::Name),
    may("gateway", Shape::Object(&[must("name", Shape::Name), may("namespace", Shape::Name)])),
    may("tls", Shape::Boolean),
    may("tlsSecret", Shape::Name),
    may("port", Shape::Integer(1, u16::MAX as i64)),
    may("podSecurity", Shape::Word(&["restricted", "hardened", "baseline", "none"])),
    may("runAsNonRoot", Shape::Boolean),
    may("runAsUser", Shape::Integer(0, MAX_ID)),
    may("fsGroup", Shape::Integer(0, MAX_ID)),
    ALLOW_VOLUME_SOURCES,
]);

/// Dependencies of a cluster, by type; each is an entry of a provisioner file in [`crate::provision::template::builtin`].
const TYPES: &[(&str, &str)] = &[
    ("amqp", "a message broker of its own"),
    ("dns", "a name under the domain of the cluster"),
    ("elasticsearch", "a search server of its own"),
    ("environment", "values that the platform or the namespace has set"),
    ("kafka", "an event broker of its own"),
    ("kafka-topic", "a topic on an event broker of its own"),
    ("mongodb", "a document database of its own"),
    ("mysql", "a database server of its own"),
    ("postgres", "a database server of its own"),
    ("redis", "a cache of its own"),
    ("route", "a rule of the cluster's ingress or gateway"),
    ("s3", "a bucket on an object store of its own"),
    ("secret", "generated values; of class tls, a certificate"),
    ("service", "the address of another workload"),
    ("service-port", "the address of a port of another workload"),
    ("volume", "a volume of the cluster's storage"),
];

impl PlatformKind {
    /// A cluster.
    pub const CLUSTER: Self = Self::with_default(NAME);
}

pub(crate) static CLASS: RuntimeClass = RuntimeClass {
    name: NAME,
    values: VALUES,
    contradictions: values::contradictions,
    adapt_to_namespace: values::adapt_to_namespace,
    provides: Some(Provides { engine: TEMPLATE, types: TYPES }),
    default_backend: Some(DefaultBackend { id: "cluster", location: "on this cluster" }),
};
