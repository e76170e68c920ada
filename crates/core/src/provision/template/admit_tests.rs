use super::*;

fn rules() -> AdmissionRules {
    AdmissionRules {
        namespace: "shop".to_owned(),
        instance: "abc".to_owned(),
        secret_name: "postgres-1".to_owned(),
        ..AdmissionRules::default()
    }
}

fn object(api_version: &str, kind: &str, more: &Json) -> Json {
    let mut object = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}});
    for (key, value) in more.as_object().unwrap() {
        object[key] = value.clone();
    }
    object
}

#[test]
fn objects_are_forced_into_the_namespace_and_labelled_including_their_templates() {
    let rendered = object(
        "apps/v1",
        "StatefulSet",
        &json!({
            "metadata": {"name": "pg", "namespace": "kube-system", "labels": {"app.kubernetes.io/managed-by": "score-k8s"}},
            "spec": {"template": {"metadata": {"labels": {"app": "pg"}}}, "volumeClaimTemplates": [{"metadata": {"name": "d"}}]},
        }),
    );
    let admitted = admit(&[rendered], &rules()).unwrap().remove(0);
    let marks = json!({"app.kubernetes.io/managed-by": "orchestra", "score.dev/instance": "abc"});
    assert_eq!(admitted["metadata"], json!({"name": "pg", "namespace": "shop", "labels": marks}));
    assert_eq!(admitted["spec"]["volumeClaimTemplates"][0]["metadata"]["labels"], marks);
    assert_eq!(admitted["spec"]["template"]["metadata"]["labels"]["score.dev/instance"], "abc");
    assert_eq!(admitted["spec"]["template"]["metadata"]["labels"]["app"], "pg");
}

#[test]
fn a_selector_on_a_label_of_the_template_keeps_working() {
    let labels = json!({"app.kubernetes.io/managed-by": "score-k8s"});
    let spec = json!({"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}}});
    let admitted =
        admit(&[object("apps/v1", "Deployment", &json!({"spec": spec}))], &rules()).unwrap().remove(0);
    let labels = &admitted["spec"]["template"]["metadata"]["labels"];
    assert_eq!(labels["app.kubernetes.io/managed-by"], "score-k8s");
}

#[test]
fn cluster_scoped_kinds_are_rejected_even_if_the_entry_allows_them() {
    let rules = AdmissionRules { kinds: vec!["Namespace".to_owned()], ..rules() };
    let refused = admit(&[object("v1", "Namespace", &json!({}))], &rules).unwrap_err();
    assert!(refused.to_string().contains("is cluster-scoped"), "{refused}");
}

#[test]
fn other_kinds_must_be_allowed_with_their_group() {
    let component = object("dapr.io/v1alpha1", "Component", &json!({}));
    assert!(
        admit(std::slice::from_ref(&component), &rules())
            .unwrap_err()
            .to_string()
            .contains("Component.dapr.io")
    );
    let allowing = AdmissionRules { kinds: vec!["Component.dapr.io".to_owned()], ..rules() };
    assert!(admit(&[component], &allowing).is_ok());
    assert!(admit(&[object("evil.example.org/v1", "Secret", &json!({}))], &allowing).is_err());
}

#[test]
fn privileges_are_rejected_at_any_depth_unless_allowed() {
    for (pod, privilege) in [
        (json!({"hostNetwork": true}), "hostNetwork"),
        (json!({"hostPID": true}), "hostPID"),
        (json!({"volumes": [{"name": "v", "hostPath": {"path": "/"}}]}), "hostPath"),
        (json!({"containers": [{"securityContext": {"privileged": true}}]}), "privileged"),
        (json!({"initContainers": [{"ports": [{"hostPort": 80}]}]}), "hostPort"),
        (
            json!({"containers": [{"securityContext": {"capabilities": {"add": ["SYS_ADMIN"]}}}]}),
            "capabilities",
        ),
    ] {
        let admitted = [object("apps/v1", "Deployment", &json!({"spec": {"template": {"spec": pod}}}))];
        assert!(admit(&admitted, &rules()).unwrap_err().to_string().contains(privilege), "{privilege}");
        assert!(admit(&admitted, &AdmissionRules { privileged: true, ..rules() }).is_ok(), "{privilege}");
    }
    let harmless = json!({"hostNetwork": false, "containers": [{"securityContext": {"privileged": false, "capabilities": {"drop": ["ALL"]}}}]});
    let admitted = [object("apps/v1", "Deployment", &json!({"spec": {"template": {"spec": harmless}}}))];
    assert!(admit(&admitted, &rules()).is_ok());
}

#[test]
fn owners_finalizers_and_the_secret_of_the_instance_are_reserved() {
    let with = |metadata: &Json| admit(&[object("v1", "Secret", &json!({"metadata": metadata}))], &rules());
    assert!(
        with(&json!({"name": "x", "ownerReferences": []}))
            .unwrap_err()
            .to_string()
            .contains("ownerReferences")
    );
    assert!(with(&json!({"name": "x", "finalizers": ["a"]})).unwrap_err().to_string().contains("finalizers"));
    assert!(
        with(&json!({"name": "postgres-1"})).unwrap_err().to_string().contains("reserved for the Secret")
    );
    assert!(with(&json!({})).unwrap_err().to_string().contains("no `metadata.name`"));
}

#[test]
fn objects_are_sorted_by_dependency_and_the_last_of_a_name_wins() {
    let named = |kind: (&str, &str), value: i64| object(kind.0, kind.1, &json!({"spec": {"v": value}}));
    let (set, service) = (("apps/v1", "StatefulSet"), ("v1", "Service"));
    let admitted = admit(
        &[named(set, 1), named(service, 2), named(set, 3), object("v1", "Secret", &json!({}))],
        &rules(),
    );
    let admitted: Vec<_> = admitted
        .unwrap()
        .iter()
        .map(|object| (object["kind"].clone(), object["spec"]["v"].clone()))
        .collect();
    assert_eq!(
        admitted,
        [(json!("Secret"), json!(null)), (json!("Service"), json!(2)), (json!("StatefulSet"), json!(3))]
    );
}
