//! When what was made is there: it answers, as far as its object can tell. The probes of what runs make this true.

use std::collections::BTreeMap;

use serde_json::Value as Json;

/// How far an object is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It is there.
    Ready,
    /// It is not there yet; why, in a neutral sentence.
    Waiting(&'static str),
    /// It will not be there; why, in a neutral sentence.
    Failed(&'static str),
}

/// How far an object is, from what the cluster says of it. `conditions` names the condition that counts, by kind; without
/// one, a condition `Ready` counts where there is one.
pub fn progress(object: &Json, conditions: &BTreeMap<String, String>) -> Progress {
    let kind = object["kind"].as_str().unwrap_or_default();
    if let Some(condition) = conditions.get(kind) {
        return when(has(object, condition) == Some(true), "It is being prepared.");
    }
    match kind {
        "Deployment" | "StatefulSet" => running(object),
        "Job" if has(object, "Complete") == Some(true) => Progress::Ready,
        "Job" if has(object, "Failed") == Some(true) => {
            Progress::Failed("What prepares it has failed: ask the platform team.")
        }
        "Job" => Progress::Waiting("It is being prepared."),
        "PersistentVolumeClaim" if object["status"]["phase"] == "Lost" => {
            Progress::Failed("The volume behind it is lost: ask the platform team to bring it back.")
        }
        "HTTPRoute" => when(is_accepted(object), "The gateway has not taken the route yet."),
        // A volume may wait for its first user, and not every ingress says that it has taken a rule.
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

/// Whether everything runs as it was last asked for, and answers.
fn running(object: &Json) -> Progress {
    let number = |value: &Json| value.as_i64().unwrap_or(0);
    let (metadata, status) = (&object["metadata"], &object["status"]);
    let wanted = object["spec"]["replicas"].as_i64().unwrap_or(1);
    let is_observed = number(&status["observedGeneration"]) >= number(&metadata["generation"]);
    let is_updated = number(&status["updatedReplicas"]) >= wanted || wanted == 0;
    if is_observed && is_updated && number(&status["readyReplicas"]) >= wanted {
        Progress::Ready
    } else if number(&status["readyReplicas"]) > 0 {
        Progress::Waiting("It is being changed to what is asked for now.")
    } else {
        Progress::Waiting("It is being started.")
    }
}

/// What a condition of an object says; nothing if it does not have it.
fn has(object: &Json, type_: &str) -> Option<bool> {
    let mut conditions = object["status"]["conditions"].as_array().into_iter().flatten();
    conditions.find(|condition| condition["type"] == type_).map(|condition| condition["status"] == "True")
}

/// Whether a gateway has taken a route.
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
    fn a_server_is_there_only_when_the_version_that_was_asked_for_last_answers() {
        let set = |generation: i64, status: Json| {
            of(
                &json!({"kind": "StatefulSet", "metadata": {"generation": generation}, "spec": {"replicas": 1}, "status": status}),
            )
        };
        let up = json!({"observedGeneration": 2, "readyReplicas": 1, "updatedReplicas": 1});
        assert_eq!(set(2, up.clone()), Progress::Ready);
        assert!(matches!(set(3, up), Progress::Waiting(_)), "an older version answers");
        let old = json!({"observedGeneration": 3, "readyReplicas": 1, "updatedReplicas": 0});
        assert_eq!(set(3, old), Progress::Waiting("It is being changed to what is asked for now."));
        assert_eq!(set(1, json!({})), Progress::Waiting("It is being started."));
    }

    #[test]
    fn a_route_waits_for_its_gateway_and_a_volume_for_nobody() {
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
    fn a_job_has_to_end_well() {
        let job = |type_: &str| {
            of(&json!({"kind": "Job", "status": {"conditions": [{"type": type_, "status": "True"}]}}))
        };
        assert_eq!(job("Complete"), Progress::Ready);
        assert!(matches!(job("Failed"), Progress::Failed(_)));
        assert!(matches!(job("Suspended"), Progress::Waiting(_)));
    }

    #[test]
    fn of_other_kinds_the_condition_counts_that_the_entry_names_or_the_usual_one() {
        let saying = |status: &str| json!({"kind": "Certificate", "status": {"conditions": [{"type": "Ready", "status": status}]}});
        assert_eq!(of(&saying("True")), Progress::Ready);
        assert!(matches!(of(&saying("False")), Progress::Waiting(_)));
        assert_eq!(of(&json!({"kind": "Component"})), Progress::Ready, "it has no conditions");
        let issued = [("Certificate".to_owned(), "Issued".to_owned())].into();
        assert!(matches!(progress(&saying("True"), &issued), Progress::Waiting(_)));
    }
}
