//! Hash of the fields that a field manager owns, by the `managedFields` of server-side apply.
//!
//! A driver applies an object only if its owned fields differ from the desired ones. Fields of other managers (replicas of
//! an autoscaler, an injected container, a label of another tool) do not count; a field that another manager took over is no
//! longer owned, so it differs. A hash is enough to compare, so the cache need not keep whole objects.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use orchestra_api::name;
use serde_json::{Map, Value as Json};

/// Hash of fields and their values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FieldsHash(u128);

/// Hash of the fields of a live object that a manager has applied and still owns. `None` if it has applied none.
pub fn owned(live: &Json, managed_fields: &[ManagedFieldsEntry], manager: &str) -> Option<FieldsHash> {
    let is_ours = |entry: &&ManagedFieldsEntry| {
        entry.manager.as_deref() == Some(manager)
            && entry.operation.as_deref() == Some("Apply")
            && entry.subresource.as_deref().unwrap_or_default().is_empty()
    };
    let entry = managed_fields.iter().find(is_ours)?;
    let fields = entry.fields_v1.as_ref()?.0.as_object()?;
    Some(hash(&project(live, fields)))
}

/// Hash of an object to apply.
pub fn desired(object: &Json) -> FieldsHash {
    let mut fields = object.as_object().cloned().unwrap_or_default();
    fields.retain(|key, _| key != "apiVersion" && key != "kind");
    if let Some(metadata) = fields.get_mut("metadata").and_then(Json::as_object_mut) {
        // No manager owns the fields that identify the object.
        metadata.retain(|key, _| !["name", "namespace", "uid", "resourceVersion"].contains(&key.as_str()));
    }
    hash(&Json::Object(fields))
}

/// Part of a value that a set of fields selects.
fn project(live: &Json, fields: &Map<String, Json>) -> Json {
    let is_whole = fields.keys().all(|key| key == ".");
    match live {
        Json::Object(map) if is_whole && fields.is_empty() => Json::Object(map.clone()),
        Json::Object(map) => {
            let named = fields.iter().filter_map(|(key, inner)| {
                let name = key.strip_prefix("f:")?;
                Some((name.to_owned(), project(map.get(name)?, inner.as_object()?)))
            });
            Json::Object(named.collect())
        }
        Json::Array(items) if is_whole && fields.is_empty() => Json::Array(items.clone()),
        Json::Array(items) => {
            let named = items.iter().enumerate().filter_map(|(at, item)| {
                let (_, inner) = fields.iter().find(|(key, _)| is_named(key, at, item))?;
                Some(project(item, inner.as_object()?))
            });
            Json::Array(named.collect())
        }
        scalar => scalar.clone(),
    }
}

/// True if a path element selects this item of a list.
fn is_named(step: &str, at: usize, item: &Json) -> bool {
    match step.split_once(':') {
        Some(("k", keys)) => match serde_json::from_str(keys) {
            Ok(Json::Object(keys)) => keys.iter().all(|(key, value)| item.get(key) == Some(value)),
            _ => false,
        },
        Some(("v", value)) => serde_json::from_str::<Json>(value).is_ok_and(|value| value == *item),
        Some(("i", index)) => index.parse() == Ok(at),
        _ => false,
    }
}

fn hash(value: &Json) -> FieldsHash {
    let mut text = String::new();
    write(value, &mut text);
    FieldsHash(u128::from_str_radix(&name::hash(&[&text]), 16).unwrap_or_default())
}

/// Writes the canonical form of a value.
fn write(value: &Json, text: &mut String) {
    match value {
        Json::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|(key, _)| key.as_str());
            text.push('{');
            for (key, value) in entries {
                text.push_str(&Json::from(key.as_str()).to_string());
                text.push(':');
                write(value, text);
                text.push(',');
            }
            text.push('}');
        }
        Json::Array(items) => {
            text.push('[');
            for item in items {
                write(item, text);
                text.push(',');
            }
            text.push(']');
        }
        scalar => text.push_str(&scalar.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const MANAGER: &str = "score.dev/kubernetes";

    /// Answer of a 1.36 server to an apply, with fields of other managers.
    fn live() -> Json {
        json!({
            "metadata": {
                "labels": {"app": "hello", "team": "other"},
                "annotations": {"score.dev/workload-uid": "u", "deployment.kubernetes.io/revision": "1"},
            },
            "spec": {
                "replicas": 3,
                "progressDeadlineSeconds": 600,
                "selector": {"matchLabels": {"score.dev/workload": "hello"}},
                "template": {"spec": {
                    "containers": [
                        {"name": "web", "image": "nginx:1", "imagePullPolicy": "IfNotPresent",
                         "ports": [{"containerPort": 80, "protocol": "TCP"}],
                         "env": [{"name": "A", "value": "1"}, {"name": "INJECTED", "value": "x"}],
                         "command": ["a", "b"]},
                        {"name": "sidecar", "image": "proxy:1"},
                    ],
                    "volumes": [{"name": "tmp", "emptyDir": {}}],
                }},
            },
            "status": {"readyReplicas": 3},
        })
    }

    fn managed_fields() -> Vec<ManagedFieldsEntry> {
        serde_json::from_value(json!([
            {"manager": "autoscaler", "operation": "Update", "subresource": "scale",
             "fieldsV1": {"f:spec": {"f:replicas": {}}}},
            {"manager": MANAGER, "operation": "Apply", "apiVersion": "apps/v1", "fieldsType": "FieldsV1", "fieldsV1": {
                "f:metadata": {"f:labels": {"f:app": {}}, "f:annotations": {"f:score.dev/workload-uid": {}}},
                "f:spec": {
                    "f:selector": {},
                    "f:template": {"f:spec": {
                        "f:containers": {"k:{\"name\":\"web\"}": {
                            ".": {}, "f:name": {}, "f:image": {}, "f:command": {},
                            "f:ports": {"k:{\"containerPort\":80,\"protocol\":\"TCP\"}": {".": {}, "f:containerPort": {}}},
                            "f:env": {"k:{\"name\":\"A\"}": {".": {}, "f:name": {}, "f:value": {}}},
                        }},
                        "f:volumes": {"k:{\"name\":\"tmp\"}": {".": {}, "f:name": {}, "f:emptyDir": {}}},
                    }},
                },
            }},
        ]))
        .unwrap()
    }

    fn rendered() -> Json {
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "hello", "namespace": "shop",
                "annotations": {"score.dev/workload-uid": "u"}, "labels": {"app": "hello"}},
            "spec": {
                "selector": {"matchLabels": {"score.dev/workload": "hello"}},
                "template": {"spec": {
                    "containers": [{"name": "web", "image": "nginx:1", "command": ["a", "b"],
                        "env": [{"name": "A", "value": "1"}], "ports": [{"containerPort": 80}]}],
                    "volumes": [{"name": "tmp", "emptyDir": {}}],
                }},
            },
        })
    }

    fn is_settled(live: &Json) -> bool {
        owned(live, &managed_fields(), MANAGER) == Some(desired(&rendered()))
    }

    #[test]
    fn fields_of_other_managers_do_not_count() {
        assert!(is_settled(&live()));
        let mut live = live();
        live["spec"]["replicas"] = json!(9);
        live["metadata"]["annotations"]["other"] = json!("y");
        assert!(is_settled(&live));
    }

    #[test]
    fn a_field_that_another_manager_took_over_is_missing() {
        let mut managed_fields = managed_fields();
        let fields = &mut managed_fields[1].fields_v1.as_mut().unwrap().0;
        fields["f:spec"]["f:template"]["f:spec"]["f:containers"]["k:{\"name\":\"web\"}"]
            .as_object_mut()
            .unwrap()
            .remove("f:image");
        assert_ne!(owned(&live(), &managed_fields, MANAGER), Some(desired(&rendered())));
    }

    #[test]
    fn another_value_has_another_hash() {
        for path in
            ["/spec/template/spec/containers/0/env/0/value", "/spec/template/spec/containers/0/command/1"]
        {
            let mut live = live();
            *live.pointer_mut(path).unwrap() = json!("changed");
            assert!(!is_settled(&live), "{path}");
        }
    }

    #[test]
    fn an_object_that_the_manager_never_applied_has_no_hash() {
        assert_eq!(owned(&live(), &managed_fields(), "kubectl"), None);
        assert_eq!(owned(&live(), &[], MANAGER), None);
    }

    #[test]
    fn items_of_sets_are_selected_by_value() {
        let live = json!({"metadata": {"finalizers": ["theirs", "ours"]}});
        let fields = json!({"f:metadata": {"f:finalizers": {"v:\"ours\"": {}}}});
        let projected = project(&live, fields.as_object().unwrap());
        assert_eq!(projected, json!({"metadata": {"finalizers": ["ours"]}}));
    }
}
