//! Random changes of a Workload and of the policy.

use proptest::{prelude::*, sample::select};
use serde_json::{Value as Json, json};

/// Change of the Workload (annotations, spec) or of the policy.
#[derive(Clone, Debug)]
pub(super) enum Change {
    Workload(Json, Json),
    Policy(Json),
}

pub(super) fn change() -> impl Strategy<Value = Change> {
    let annotations = select(vec![
        json!({}),
        json!({"score.dev/requirements": "big"}),
        json!({"score.dev/profile": "none"}),
        json!({"score.dev/move": "there"}),
        json!({"score.dev/move": "here", "score.dev/abandon-data": "true"}),
    ]);
    let text = select(vec![
        "plain",
        "${resources.db.host}",
        "x ${resources.db.password}",
        "${resources.db.nothing}",
    ]);
    let class = select(vec!["default", "small"]);
    let cache = select(vec![
        None,
        Some(json!({"type": "redis"})),
        Some(json!({"type": "redis", "params": {"at": "${resources.db.host}"}})),
    ]);
    let ports = select(vec![None, Some(json!({"ports": {"http": {"port": 80}}}))]);
    let workload =
        (annotations, text, class, cache, ports).prop_map(|(annotations, text, class, cache, ports)| {
            let mut spec = json!({
                "containers": {"app": {"image": "nginx", "variables": {"TEXT": text}}},
                "resources": {"db": {"type": "postgres", "class": class}},
            });
            if let Some(ports) = ports {
                spec["service"] = ports;
            }
            if let Some(cache) = cache {
                spec["resources"]["cache"] = cache;
            }
            Change::Workload(annotations, spec)
        });
    let policy = select(vec![
        json!({}),
        json!({"limits": {"claims": 1}}),
        json!({"defaults": {"requests": {"memory": "32Mi"}}}),
    ]);
    prop_oneof![4 => workload, 1 => policy.prop_map(Change::Policy)]
}
