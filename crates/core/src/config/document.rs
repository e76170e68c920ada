//! Shape of an orchestrator config: its keys and their values.

use orchestra_api::config::OrchestratorConfig;
use orchestra_score::{Node, Pointer};

use super::{
    fault::Faults,
    shape::{self, Shape, may, must},
};
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

/// Reads the readable part of the config.
pub(super) fn read(root: &Node, faults: &mut Faults) -> OrchestratorConfig {
    let readable = shape::read(root, &DOCUMENT, &Pointer::root(), faults).unwrap_or_default();
    match serde_json::from_value(readable) {
        Ok(document) => document,
        Err(error) => {
            // Parts that were left out are already reported; any other error must not go unreported.
            if faults.is_empty() {
                faults.add(
                    Pointer::root(),
                    error.to_string(),
                    "compare it with the reference of `OrchestratorConfig`",
                );
            }
            OrchestratorConfig::default()
        }
    }
}
