use super::*;

fn frame() -> Frame {
    Frame {
        namespace: "shop".to_owned(),
        instance: "abc".to_owned(),
        kept: "postgres-1".to_owned(),
        ..Frame::default()
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
fn objects_are_forced_into_the_namespace_and_marked_down_to_what_becomes_an_object_of_its_own() {
    let rendered = object(
        "apps/v1",
        "StatefulSet",
        &json!({
            "metadata": {"name": "pg", "namespace": "kube-system", "labels": {"app.kubernetes.io/managed-by": "score-k8s"}},
            "spec": {"template": {"metadata": {"labels": {"app": "pg"}}}, "volumeClaimTemplates": [{"metadata": {"name": "d"}}]},
        }),
    );
    let made = admit(&[rendered], &frame()).unwrap().remove(0);
    let marks = json!({"app.kubernetes.io/managed-by": "orchestra", "score.dev/instance": "abc"});
    assert_eq!(made["metadata"], json!({"name": "pg", "namespace": "shop", "labels": marks}));
    assert_eq!(made["spec"]["volumeClaimTemplates"][0]["metadata"]["labels"], marks);
    assert_eq!(made["spec"]["template"]["metadata"]["labels"]["score.dev/instance"], "abc");
    assert_eq!(made["spec"]["template"]["metadata"]["labels"]["app"], "pg");
}

#[test]
fn a_selector_that_rests_on_the_words_of_the_template_keeps_working() {
    let words = json!({"app.kubernetes.io/managed-by": "score-k8s"});
    let spec = json!({"selector": {"matchLabels": words}, "template": {"metadata": {"labels": words}}});
    let made = admit(&[object("apps/v1", "Deployment", &json!({"spec": spec}))], &frame()).unwrap().remove(0);
    let labels = &made["spec"]["template"]["metadata"]["labels"];
    assert_eq!(labels["app.kubernetes.io/managed-by"], "score-k8s");
}

#[test]
fn nothing_of_the_whole_cluster_is_made_even_if_the_entry_asks_for_it() {
    let frame = Frame { kinds: vec!["Namespace".to_owned()], ..frame() };
    let refused = admit(&[object("v1", "Namespace", &json!({}))], &frame).unwrap_err();
    assert!(refused.contains("belongs to the whole cluster"), "{refused}");
}

#[test]
fn other_kinds_have_to_be_allowed_by_group_too() {
    let component = object("dapr.io/v1alpha1", "Component", &json!({}));
    assert!(admit(std::slice::from_ref(&component), &frame()).unwrap_err().contains("Component.dapr.io"));
    let allowing = Frame { kinds: vec!["Component.dapr.io".to_owned()], ..frame() };
    assert!(admit(&[component], &allowing).is_ok());
    assert!(admit(&[object("evil.example.org/v1", "Secret", &json!({}))], &allowing).is_err());
}

#[test]
fn privileges_of_the_machine_are_refused_wherever_they_stand_unless_allowed() {
    for (pod, wish) in [
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
        let made = [object("apps/v1", "Deployment", &json!({"spec": {"template": {"spec": pod}}}))];
        assert!(admit(&made, &frame()).unwrap_err().contains(wish), "{wish}");
        assert!(admit(&made, &Frame { privileged: true, ..frame() }).is_ok(), "{wish}");
    }
    let harmless = json!({"hostNetwork": false, "containers": [{"securityContext": {"privileged": false, "capabilities": {"drop": ["ALL"]}}}]});
    let made = [object("apps/v1", "Deployment", &json!({"spec": {"template": {"spec": harmless}}}))];
    assert!(admit(&made, &frame()).is_ok());
}

#[test]
fn owners_finalizers_and_the_secret_that_is_kept_are_the_platforms() {
    let with = |metadata: &Json| admit(&[object("v1", "Secret", &json!({"metadata": metadata}))], &frame());
    assert!(with(&json!({"name": "x", "ownerReferences": []})).unwrap_err().contains("ownerReferences"));
    assert!(with(&json!({"name": "x", "finalizers": ["a"]})).unwrap_err().contains("finalizers"));
    assert!(with(&json!({"name": "postgres-1"})).unwrap_err().contains("itself keeps"));
    assert!(with(&json!({})).unwrap_err().contains("no `metadata.name`"));
}

#[test]
fn what_others_need_is_made_first_and_of_two_with_one_name_the_last_counts() {
    let named = |kind: (&str, &str), value: i64| object(kind.0, kind.1, &json!({"spec": {"v": value}}));
    let (set, service) = (("apps/v1", "StatefulSet"), ("v1", "Service"));
    let made = admit(
        &[named(set, 1), named(service, 2), named(set, 3), object("v1", "Secret", &json!({}))],
        &frame(),
    );
    let made: Vec<_> =
        made.unwrap().iter().map(|object| (object["kind"].clone(), object["spec"]["v"].clone())).collect();
    assert_eq!(
        made,
        [(json!("Secret"), json!(null)), (json!("Service"), json!(2)), (json!("StatefulSet"), json!(3))]
    );
}
