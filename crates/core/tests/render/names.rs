//! Names that are valid only for some kinds.

use orchestra_api::plan::WorkloadPlanSpec;
use orchestra_core::render::kubernetes::{Subject, render, service_name};
use serde_json::{Value as Json, json};

fn objects(name: &str, writes: bool) -> Vec<Json> {
    let plan: WorkloadPlanSpec = serde_json::from_value(json!({
        "workloadRef": {"name": name, "uid": "u1"}, "observedWorkloadGeneration": 1, "revision": "r1",
        "runtimeClass": "kubernetes", "backendId": "eu", "profile": "web", "kind": "Service",
        "containers": {"app": {"image": "nginx", "volumes": if writes {
            json!({"/data": {"claim": "data", "source": [{"literal": "pvc"}]}})
        } else {
            json!({})
        }}},
        "ports": {"http": {"port": 80, "targetPort": 80}},
        "exposures": [{"port": "http", "priority": 1}],
        "values": {"domain": "example.org"},
    }))
    .unwrap();
    render(&Subject { namespace: "team", name, plan: &plan }, &|_| Vec::new())
}

fn name_of<'o>(objects: &'o [Json], kind: &str) -> &'o str {
    objects.iter().find(|object| object["kind"] == kind).unwrap()["metadata"]["name"].as_str().unwrap()
}

#[test]
fn objects_have_the_name_of_the_workload() {
    let objects = objects("shop", false);
    for kind in ["Deployment", "Service", "Ingress"] {
        assert_eq!(name_of(&objects, kind), "shop");
    }
}

#[test]
fn the_name_of_a_service_has_no_leading_digit() {
    let objects = objects("2048-game", false);
    let service = name_of(&objects, "Service");
    assert!(service.starts_with("svc-2048-game-"), "{service}");
    assert_eq!(service, service_name("2048-game"));
    assert_eq!(name_of(&objects, "Deployment"), "2048-game");
    let ingress = objects.iter().find(|object| object["kind"] == "Ingress").unwrap();
    assert_eq!(ingress["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"]["name"], service);
    assert!(service_name(&"7".repeat(63)).len() <= 63);
}

#[test]
fn the_name_of_a_stateful_set_leaves_room_for_a_hash() {
    let long = "a".repeat(63);
    assert_eq!(name_of(&objects(&long, false), "Deployment"), long);
    let short = objects(&long, true);
    let short = name_of(&short, "StatefulSet");
    assert!(short.len() <= 52, "{short}");
    assert_eq!(name_of(&objects(&"a".repeat(52), true), "StatefulSet"), "a".repeat(52));
    // Names with the same prefix stay different.
    let other = format!("{}b", "a".repeat(62));
    assert_ne!(name_of(&objects(&other, true), "StatefulSet"), short);
}

#[test]
fn reserved_labels_and_annotations_of_authors_are_dropped() {
    let mut plan = WorkloadPlanSpec::default();
    let text = |text: &str| text.to_owned();
    plan.labels = [
        (text("pod-template-hash"), text("x")),
        (text("score.dev/instance"), text("db")),
        (text("app"), text("other")),
        (text("team"), text("a")),
    ]
    .into();
    plan.annotations =
        [(text("deployment.kubernetes.io/revision"), text("9")), (text("example.org/a"), text("b"))].into();
    let objects = render(&Subject { namespace: "team", name: "shop", plan: &plan }, &|_| Vec::new());
    let template = &objects[0]["spec"]["template"]["metadata"];
    assert_eq!(template["labels"]["app"], "shop");
    assert_eq!(template["labels"]["team"], "a");
    assert_eq!(template["labels"].get("pod-template-hash"), None);
    assert_eq!(template["labels"].get("score.dev/instance"), None);
    assert_eq!(objects[0]["metadata"]["labels"].get("score.dev/instance"), None);
    assert_eq!(template["annotations"]["example.org/a"], "b");
    assert_eq!(objects[0]["metadata"]["annotations"].get("deployment.kubernetes.io/revision"), None);
}
