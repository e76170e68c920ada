//! The platform's document as data: which keys there are, and what stands behind them.

use orchestra_api::config::OrchestratorConfig;
use orchestra_score::{Node, Pointer};

use super::{
    fault::Faults,
    shape::{self, Shape, may, must},
};
use crate::{range::Measure, render::kubernetes};

const ANY: Shape = Shape::Integer(i64::MIN, i64::MAX);

const DOCUMENT: Shape = Shape::Object(&[
    must("apiVersion", Shape::Name),
    must("kind", Shape::Name),
    may("metadata", Shape::Object(&[may("name", Shape::Name), may("version", Shape::Name)])),
    may(
        "spec",
        Shape::Object(&[
            may("profiles", Shape::List(&PROFILE)),
            may("provisioners", Shape::List(&PROVISIONER)),
            may(
                "defaults",
                Shape::Object(&[
                    may("profile", Shape::Name),
                    may("selectors", Shape::List(&PROFILE_SELECTOR)),
                ]),
            ),
        ]),
    ),
]);

const PROFILE: Shape = Shape::Object(&[
    must("name", Shape::Name),
    may("description", Shape::Text),
    may("kind", Shape::Word(&["service", "job"])),
    may("backends", Shape::List(&BACKEND)),
]);

const BACKEND: Shape = Shape::Object(&[
    must("backendId", Shape::Name),
    must("runtimeClass", Shape::Name),
    may("priority", ANY),
    may("version", Shape::Name),
    may(
        "constraints",
        Shape::Object(&[
            may("selectors", Shape::List(&SELECTOR)),
            may("features", Shape::List(&Shape::Name)),
            may("regions", Shape::List(&Shape::Name)),
            may("resources", Shape::Object(&[may("cpu", Shape::Amount), may("memory", Shape::Amount)])),
        ]),
    ),
    may("values", Shape::FreeMap),
]);

const MATCH_LABELS: Shape = Shape::Map(&Shape::Text);
const MATCH_EXPRESSIONS: Shape = Shape::List(&Shape::Object(&[
    must("key", Shape::Name),
    must("operator", Shape::Name),
    may("values", Shape::List(&Shape::Text)),
]));

const SELECTOR: Shape =
    Shape::Object(&[may("matchLabels", MATCH_LABELS), may("matchExpressions", MATCH_EXPRESSIONS)]);

const PROFILE_SELECTOR: Shape = Shape::Object(&[
    may("matchLabels", MATCH_LABELS),
    may("matchExpressions", MATCH_EXPRESSIONS),
    must("profile", Shape::Name),
]);

const PROVISIONER: Shape = Shape::Object(&[
    must("type", Shape::Name),
    may("class", Shape::Name),
    may("id", Shape::Name),
    may("description", Shape::Text),
    may("match", Shape::FreeMap),
    may("runtimeClasses", Shape::List(&Shape::Name)),
    must("engine", Shape::Name),
    may("params", Shape::FreeMap),
    may("outputs", Shape::Map(&OUTPUT)),
    may("stateful", Shape::Boolean),
    may("unknownParams", Shape::Word(&["Refuse", "Warn"])),
]);

const OUTPUT: Shape = Shape::OneOf(&[
    may("value", Shape::Anything),
    may("secretKeyRef", Shape::Object(&[must("name", Shape::Name), must("key", Shape::Name)])),
]);

/// Reads the document as far as it can be read.
pub(super) fn read(root: &Node, faults: &mut Faults) -> OrchestratorConfig {
    let readable = shape::read(root, &DOCUMENT, &Pointer::root(), faults).unwrap_or_default();
    match serde_json::from_value(readable) {
        Ok(document) => document,
        Err(error) => {
            // What was left out has been reported already; anything else must not pass unseen.
            if faults.is_empty() {
                faults.add(Pointer::root(), error.to_string(), "compare the document with the reference");
            }
            OrchestratorConfig::default()
        }
    }
}

const ALLOW_VOLUME_SOURCES: shape::Field = may("allowVolumeSources", Shape::Boolean);

/// The largest id of a user or a group.
const LARGEST_ID: i64 = i32::MAX as i64;

const AMOUNTS: Shape = Shape::Object(&[
    may("cpu", Shape::Quantity(Measure::Cpu)),
    may("memory", Shape::Quantity(Measure::Memory)),
]);

/// As `render::kubernetes::values` reads them.
const KUBERNETES: Shape = Shape::Object(&[
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
            may("tolerationSeconds", ANY),
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
    may("runAsUser", Shape::Integer(0, LARGEST_ID)),
    may("fsGroup", Shape::Integer(0, LARGEST_ID)),
    ALLOW_VOLUME_SOURCES,
]);

/// The settings of backends of a runtime; nothing for runtimes that others drive.
pub(super) fn values_of(runtime_class: &str) -> Option<&'static Shape> {
    const PROCESS: Shape = Shape::Object(&[ALLOW_VOLUME_SOURCES]);
    const DOCKER: Shape = Shape::Object(&[may("network", Shape::Name), ALLOW_VOLUME_SOURCES]);
    match runtime_class {
        kubernetes::CLASS => Some(&KUBERNETES),
        "process" => Some(&PROCESS),
        "docker" => Some(&DOCKER),
        _ => None,
    }
}
