//! Rules for every object of every recorded plan.

use base64::{Engine, engine::general_purpose::STANDARD};
use k8s_openapi::api::{
    apps::v1::{Deployment, StatefulSet},
    batch::v1::Job,
    core::v1::{ConfigMap, Secret, Service},
    networking::v1::Ingress,
};
use orchestra_core::render::kubernetes::{Subject, composed, inventory};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value as Json, json};

use crate::render::kept::cases;

/// Text of a value, with base64 decoded.
pub(crate) fn shown(object: &Json) -> String {
    let mut text = object.to_string();
    for word in text.clone().split('"') {
        if let Ok(bytes) = STANDARD.decode(word) {
            text.push_str(&String::from_utf8_lossy(&bytes));
        }
    }
    text
}

#[test]
fn secret_values_are_only_in_secrets() {
    let mut seen = 0;
    for case in cases() {
        for object in case.objects() {
            for (key, value) in case.secrets() {
                let is_in = shown(&object).contains(&value);
                seen += usize::from(is_in);
                assert!(!is_in || object["kind"] == "Secret", "{}: {key} is in {object}", case.file);
            }
        }
    }
    assert!(seen > 0, "no recorded plan composes a secret with text");
}

#[test]
fn only_composed_secrets_are_read() {
    for case in cases() {
        let mut asked = std::collections::BTreeSet::new();
        let cell = std::cell::RefCell::new(&mut asked);
        let _ = orchestra_core::render::kubernetes::render(&case.subject(), &|key| {
            cell.borrow_mut().insert(key.clone());
            Vec::new()
        });
        assert_eq!(asked, composed(&case.plan), "{}", case.file);
    }
}

#[test]
fn equal_plans_have_equal_objects() {
    for case in cases() {
        let read = serde_json::from_str(&serde_json::to_string(&case.plan).unwrap()).unwrap();
        let again = Subject { plan: &read, ..case.subject() };
        assert_eq!(json!(case.objects()).to_string(), json!(case.objects()).to_string(), "{}", case.file);
        assert_eq!(inventory(&again), inventory(&case.subject()), "{}", case.file);
    }
}

#[test]
fn every_object_names_its_workload_and_is_in_the_inventory() {
    for case in cases() {
        let objects = case.objects();
        assert_eq!(inventory(&case.subject()).len(), objects.len(), "{}", case.file);
        for object in objects {
            let metadata = &object["metadata"];
            let name = metadata["name"].as_str().unwrap();
            assert!(name.len() <= 63, "{}: {name}", case.file);
            assert_eq!(metadata["namespace"], case.subject().namespace);
            assert_eq!(metadata["annotations"]["score.dev/workload-uid"], case.plan.workload_ref.uid);
            assert_eq!(metadata["labels"]["app.kubernetes.io/managed-by"], "orchestra");
            for key in ["app", "app.kubernetes.io/name", "score.dev/workload"] {
                assert_eq!(metadata["labels"][key], case.subject().name, "{}: {key}", case.file);
            }
            assert!(
                inventory(&case.subject()).iter().any(|item| {
                    item.name == name && item.kind.split('.').next() == object["kind"].as_str()
                })
            );
        }
    }
}

#[test]
fn pods_are_selected_by_labels_that_never_change() {
    for case in cases() {
        for object in case.objects() {
            let name = case.subject().name;
            let selector = json!({"app": name, "score.dev/workload": name});
            if object["kind"] == "Service" {
                assert_eq!(object["spec"]["selector"], selector, "{}", case.file);
            }
            let template = &object["spec"]["template"];
            if template.is_object() && object["kind"] != "Job" {
                assert_eq!(object["spec"]["selector"], json!({"matchLabels": selector}), "{}", case.file);
            }
            if template.is_object() {
                // A rotated secret changes only the revision of the template.
                for annotations in [&template["metadata"]["annotations"], &object["metadata"]["annotations"]]
                {
                    assert_eq!(annotations["score.dev/revision"], case.plan.revision, "{}", case.file);
                }
                for (key, value) in selector.as_object().unwrap() {
                    assert_eq!(&template["metadata"]["labels"][key], value, "{}", case.file);
                }
            }
        }
    }
}

#[test]
fn every_field_is_known_to_the_api() {
    fn again<T: Serialize + DeserializeOwned>(object: &Json) -> Json {
        let typed: T = serde_json::from_value(object.clone()).unwrap_or_else(|e| panic!("{e}: {object:#}"));
        serde_json::to_value(typed).unwrap()
    }
    for case in cases() {
        for object in case.objects() {
            let known = match object["kind"].as_str().unwrap() {
                "Deployment" => again::<Deployment>(&object),
                "StatefulSet" => again::<StatefulSet>(&object),
                "Job" => again::<Job>(&object),
                "Service" => again::<Service>(&object),
                "Secret" => again::<Secret>(&object),
                "ConfigMap" => again::<ConfigMap>(&object),
                "Ingress" => again::<Ingress>(&object),
                // The Gateway API has no types here.
                "HTTPRoute" => object.clone(),
                other => panic!("{other} is not expected"),
            };
            assert_eq!(known, object, "{}", case.file);
        }
    }
}

#[test]
fn no_field_is_empty() {
    fn is_empty(value: &Json) -> bool {
        match value {
            Json::Null => true,
            Json::Array(items) => items.is_empty() || items.iter().any(is_empty),
            Json::Object(map) => map.values().any(is_empty),
            _ => false,
        }
    }
    for case in cases() {
        for object in case.objects() {
            assert!(!is_empty(&object), "{}: {object:#}", case.file);
        }
    }
}

#[test]
fn pods_pass_the_strictest_security_level_if_the_backend_sets_it() {
    for mut case in cases() {
        for (level, users) in [("restricted", true), ("hardened", false)] {
            case.plan.values.remove("runAsNonRoot");
            case.plan.values.remove("runAsUser");
            case.plan.values.insert("podSecurity".to_owned(), json!(level));
            for object in case.objects() {
                let pod = &object["spec"]["template"]["spec"];
                if !pod.is_object() {
                    continue;
                }
                assert_eq!(pod["securityContext"]["seccompProfile"]["type"], "RuntimeDefault");
                assert_eq!(pod["securityContext"]["runAsNonRoot"] == true, users);
                let lists = [&pod["containers"], &pod["initContainers"]];
                for container in lists.into_iter().filter_map(Json::as_array).flatten() {
                    let context = &container["securityContext"];
                    assert_eq!(context["allowPrivilegeEscalation"], false);
                    assert_eq!(context["capabilities"]["drop"], json!(["ALL"]));
                }
                for volume in pod["volumes"].as_array().into_iter().flatten() {
                    assert!(volume.get("hostPath").is_none());
                }
            }
        }
    }
}

/// A8: the replicas of an autoscaler are not reset.
#[test]
fn replicas_are_set_only_if_the_backend_sets_them() {
    let mut seen = 0;
    for case in cases() {
        let is_set = case.plan.values.contains_key("replicas") || case.plan.lifecycle.suspend;
        for object in case.objects().iter().filter(|object| object["kind"] == "Deployment") {
            seen += usize::from(!is_set);
            assert_eq!(object["spec"].get("replicas").is_some(), is_set, "{}", case.file);
        }
    }
    assert!(seen > 0, "every recorded plan sets replicas");
}

#[test]
fn only_ports_that_the_plan_exposes_are_reachable_from_outside() {
    for case in cases() {
        let exposures = serde_json::to_value(&case.plan.exposures).unwrap();
        let is_published =
            exposures.as_array().into_iter().flatten().any(|exposure| exposure.get("port").is_some());
        for object in case.objects() {
            let is_way_in = ["Ingress", "HTTPRoute"].iter().any(|kind| object["kind"] == *kind)
                || ["LoadBalancer", "NodePort"].iter().any(|type_| object["spec"]["type"] == *type_);
            assert!(is_published || !is_way_in, "{}: {object:#}", case.file);
        }
    }
}
