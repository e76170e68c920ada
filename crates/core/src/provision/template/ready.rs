//! Readiness of created objects, by their status. Probes make it reliable for servers.

use std::collections::BTreeMap;

use serde_json::Value as Json;

/// Readiness of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Ready.
    Ready,
    /// Not ready yet, with a neutral sentence.
    Waiting(&'static str),
    /// Failed, with a neutral sentence.
    Failed(&'static str),
}

/// Readiness of an object. `conditions` has the readiness condition of each kind; the default is `Ready`, if the object has
/// it.
pub fn progress(object: &Json, conditions: &BTreeMap<String, String>) -> Progress {
    let kind = object["kind"].as_str().unwrap_or_default();
    if let Some(condition) = conditions.get(kind) {
        return when(has(object, condition) == Some(true), "It is being prepared.");
    }
    match kind {
        "Deployment" | "StatefulSet" => running(object),
        "Job" if has(object, "Complete") == Some(true) => Progress::Ready,
        "Job" if has(object, "Failed") == Some(true) => {
            Progress::Failed("The job that prepares it has failed; see its events and logs.")
        }
        "Job" => Progress::Waiting("It is being prepared."),
        "PersistentVolumeClaim" if object["status"]["phase"] == "Lost" => {
            Progress::Failed("The volume behind it is lost: restore it, or delete the claim.")
        }
        "HTTPRoute" => when(is_accepted(object), "The gateway has not accepted the route yet."),
        // A volume may wait for its first consumer, and not every ingress controller reports an accepted rule.
        "PersistentVolumeClaim"
        | "Ingress"
        | "Service"
        | "Secret"
        | "ConfigMap"
        | "ServiceAccount"
        | "NetworkPolicy" => Progress::Ready,
        _ => when(has(object, "Ready") != Some(false), "It is being prepared."),
    }
}

fn when(is_ready: bool, otherwise: &'static str) -> Progress {
    if is_ready { Progress::Ready } else { Progress::Waiting(otherwise) }
}

/// Readiness of a rollout: all replicas are of the current generation, and ready.
fn running(object: &Json) -> Progress {
    let number = |value: &Json| value.as_i64().unwrap_or(0);
    let (metadata, status) = (&object["metadata"], &object["status"]);
    let wanted = object["spec"]["replicas"].as_i64().unwrap_or(1);
    let is_observed = number(&status["observedGeneration"]) >= number(&metadata["generation"]);
    let is_updated = number(&status["updatedReplicas"]) >= wanted || wanted == 0;
    if is_observed && is_updated && number(&status["readyReplicas"]) >= wanted {
        Progress::Ready
    } else if number(&status["readyReplicas"]) > 0 {
        Progress::Waiting("It is being updated.")
    } else {
        Progress::Waiting("It is being started.")
    }
}

/// Value of a condition; `None` if the object lacks it.
fn has(object: &Json, type_: &str) -> Option<bool> {
    let mut conditions = object["status"]["conditions"].as_array().into_iter().flatten();
    conditions.find(|condition| condition["type"] == type_).map(|condition| condition["status"] == "True")
}

/// True if a gateway has accepted a route.
fn is_accepted(route: &Json) -> bool {
    let parents = route["status"]["parents"].as_array().into_iter().flatten();
    let mut conditions = parents.flat_map(|parent| parent["conditions"].as_array().into_iter().flatten());
    conditions.any(|condition| condition["type"] == "Accepted" && condition["status"] == "True")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn of(object: &Json) -> Progress {
        progress(object, &BTreeMap::new())
    }

    #[test]
    fn a_server_is_ready_when_its_current_generation_is() {
        let set = |generation: i64, status: Json| {
            of(
                &json!({"kind": "StatefulSet", "metadata": {"generation": generation}, "spec": {"replicas": 1}, "status": status}),
            )
        };
        let up = json!({"observedGeneration": 2, "readyReplicas": 1, "updatedReplicas": 1});
        assert_eq!(set(2, up.clone()), Progress::Ready);
        assert!(matches!(set(3, up), Progress::Waiting(_)), "an older generation is ready");
        let old = json!({"observedGeneration": 3, "readyReplicas": 1, "updatedReplicas": 0});
        assert_eq!(set(3, old), Progress::Waiting("It is being updated."));
        assert_eq!(set(1, json!({})), Progress::Waiting("It is being started."));
    }

    #[test]
    fn a_route_waits_for_its_gateway_and_a_volume_does_not_wait() {
        let accepted = json!([{"conditions": [{"type": "Accepted", "status": "True"}]}]);
        assert_eq!(of(&json!({"kind": "HTTPRoute", "status": {"parents": accepted}})), Progress::Ready);
        assert!(matches!(of(&json!({"kind": "HTTPRoute"})), Progress::Waiting(_)));
        assert_eq!(
            of(&json!({"kind": "PersistentVolumeClaim", "status": {"phase": "Pending"}})),
            Progress::Ready
        );
        assert!(matches!(
            of(&json!({"kind": "PersistentVolumeClaim", "status": {"phase": "Lost"}})),
            Progress::Failed(_)
        ));
    }

    #[test]
    fn a_job_must_succeed() {
        let job = |type_: &str| {
            of(&json!({"kind": "Job", "status": {"conditions": [{"type": type_, "status": "True"}]}}))
        };
        assert_eq!(job("Complete"), Progress::Ready);
        assert!(matches!(job("Failed"), Progress::Failed(_)));
        assert!(matches!(job("Suspended"), Progress::Waiting(_)));
    }

    #[test]
    fn other_kinds_use_the_condition_of_the_entry_or_ready() {
        let with_ready = |status: &str| json!({"kind": "Certificate", "status": {"conditions": [{"type": "Ready", "status": status}]}});
        assert_eq!(of(&with_ready("True")), Progress::Ready);
        assert!(matches!(of(&with_ready("False")), Progress::Waiting(_)));
        assert_eq!(of(&json!({"kind": "Component"})), Progress::Ready, "it has no conditions");
        let issued = [("Certificate".to_owned(), "Issued".to_owned())].into();
        assert!(matches!(progress(&with_ready("True"), &issued), Progress::Waiting(_)));
    }
}
