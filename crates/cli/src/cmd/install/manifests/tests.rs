use std::collections::BTreeSet;

use super::*;

const KUSTOMIZATION: &str = include_str!("../../../../../../deploy/kustomization.yaml");

fn plain() -> Vec<Json> {
    objects(&Settings::default()).unwrap()
}

fn of_kind<'a>(objects: &'a [Json], kind: &str) -> Vec<&'a Json> {
    objects.iter().filter(|object| object["kind"] == kind).collect()
}

fn deployment(settings: &Settings) -> Json {
    let all = objects(settings).unwrap();
    of_kind(&all, "Deployment")[0].clone()
}

#[test]
fn kustomize_applies_the_same_files() {
    let kustomization = documents("kustomization.yaml", KUSTOMIZATION).unwrap().remove(0);
    let listed: BTreeSet<String> = kustomization["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|path| path.as_str().unwrap().to_owned())
        .collect();
    let definitions = crd::all().into_iter();
    let definitions = definitions.map(|it| format!("crds/{}.yaml", it.metadata.name.unwrap()));
    let ours = FILES.iter().map(|(path, _)| (*path).to_owned()).chain(definitions);
    assert_eq!(listed, ours.collect());
}

#[test]
fn objects_follow_those_that_they_need() {
    let kinds: Vec<String> =
        plain().iter().map(|object| object["kind"].as_str().unwrap().to_owned()).collect();
    let mut order = kinds.clone();
    order.dedup();
    assert_eq!(order[..2], ["Namespace", "CustomResourceDefinition"]);
    assert_eq!(kinds.last().map(String::as_str), Some("Deployment"));
    // Roles precede their bindings, so that the orchestrator never has only a part of its permissions.
    let bound = plain().iter().position(|object| object["metadata"]["name"] == "score-orchestrator").unwrap();
    let roles = plain().iter().rposition(|object| object["kind"] == "ClusterRole").unwrap();
    assert!(roles < bound);
}

#[test]
fn the_orchestrator_has_minimal_privileges() {
    let deployment = deployment(&Settings::default());
    let pod = &deployment["spec"]["template"]["spec"];
    let container = &pod["containers"][0];
    for (found, expected) in [
        (&pod["securityContext"]["runAsNonRoot"], json!(true)),
        (&pod["securityContext"]["seccompProfile"]["type"], json!("RuntimeDefault")),
        (&container["securityContext"]["allowPrivilegeEscalation"], json!(false)),
        (&container["securityContext"]["readOnlyRootFilesystem"], json!(true)),
        (&container["securityContext"]["capabilities"]["drop"], json!(["ALL"])),
        (&container["resources"]["limits"]["memory"], json!("256Mi")),
        (&deployment["spec"]["replicas"], json!(2)),
        (&container["image"], json!(format!("orchestra:{}", env!("CARGO_PKG_VERSION")))),
    ] {
        assert_eq!(*found, expected);
    }
    assert_eq!(of_kind(&plain(), "NetworkPolicy").len(), 1);
    assert_eq!(of_kind(&plain(), "PodDisruptionBudget")[0]["spec"]["minAvailable"], 1);
}

#[test]
fn every_rule_has_a_reason_and_no_wildcard() {
    for (path, text) in FILES.iter().filter(|(path, _)| path.starts_with("rbac/")) {
        let lines: Vec<&str> = text.lines().collect();
        for (number, line) in lines.iter().enumerate() {
            if line.trim_start().starts_with("- apiGroups") {
                let before = lines[number.saturating_sub(1)].trim_start();
                assert!(before.starts_with('#'), "{path}:{}: no reason", number + 1);
            }
        }
        assert!(!text.contains('*'), "{path}: wildcard");
    }
    for role in plain().iter().filter(|object| object["rules"].is_array()) {
        for rule in role["rules"].as_array().unwrap() {
            let has = |key: &str, word: &str| rule[key].as_array().unwrap().contains(&json!(word));
            let lists = has("verbs", "list") || has("verbs", "watch");
            assert!(!(has("resources", "secrets") && lists), "{}: lists secrets", role["metadata"]["name"]);
        }
    }
}

#[test]
fn users_have_access_to_workloads_only() {
    let all = plain();
    let roles = of_kind(&all, "ClusterRole");
    for name in ["score-user", "score-viewer"] {
        let role = roles.iter().find(|role| role["metadata"]["name"] == name).unwrap();
        for rule in role["rules"].as_array().unwrap() {
            assert_eq!(rule["apiGroups"], json!(["score.dev"]));
            for resource in rule["resources"].as_array().unwrap() {
                assert!(resource.as_str().unwrap().split('/').next() == Some("workloads"), "{resource}");
                let verbs = rule["verbs"].as_array().unwrap();
                let changes =
                    verbs.iter().any(|verb| !["get", "list", "watch"].contains(&verb.as_str().unwrap()));
                // Previews are created.
                assert!(!(name == "score-viewer" && changes && resource != "workloads/plan"), "{resource}");
            }
        }
    }
}

#[test]
fn every_binding_has_a_role_and_every_role_of_the_orchestrator_a_binding() {
    let all = plain();
    let named = |kinds: [&str; 2]| -> BTreeSet<(String, String)> {
        let text = |value: &Json| value.as_str().unwrap().to_owned();
        let roles = all.iter().filter(|object| kinds.contains(&object["kind"].as_str().unwrap()));
        roles
            .map(|object| {
                if object["roleRef"].is_object() {
                    (text(&object["roleRef"]["kind"]), text(&object["roleRef"]["name"]))
                } else {
                    (text(&object["kind"]), text(&object["metadata"]["name"]))
                }
            })
            .collect()
    };
    let bound = named(["ClusterRoleBinding", "RoleBinding"]);
    let existing = named(["ClusterRole", "Role"]);
    assert!(bound.is_subset(&existing), "{bound:?}");
    let for_others = [
        "score-user",
        "score-viewer",
        "score-platform",
        "score-external-provisioner",
        "score-external-runtime",
    ];
    for role in existing.difference(&bound) {
        assert!(for_others.contains(&role.1.as_str()), "{role:?} has no binding");
    }
}

#[test]
fn options_of_the_previous_install_are_kept_unless_overridden() {
    let text = |text: &str| Some(text.to_owned());
    let first = Settings {
        image: text("registry.example.org/orchestra:1"),
        replicas: Some(3),
        server_url: text("https://orchestra.example.org"),
        api_ports: Vec::new(),
    };
    let found = Settings::of(&deployment(&first));
    assert_eq!(found, first);
    assert_eq!(Settings::of(&deployment(&found)), first);

    let newer = Settings { image: text("registry.example.org/orchestra:2"), ..Settings::default() };
    let both = newer.or(found);
    assert_eq!((both.image.as_deref(), both.replicas), (Some("registry.example.org/orchestra:2"), Some(3)));

    // The default image follows the version of the program.
    assert_eq!(Settings::of(&deployment(&Settings::default())).image, None);
    assert_eq!(Settings::of(&Json::Null), Settings::default());
}

#[test]
fn the_network_policy_allows_the_ports_of_the_api_server() {
    let ports = |settings: &Settings| {
        let all = objects(settings).unwrap();
        let policy = of_kind(&all, "NetworkPolicy")[0].clone();
        let rules = policy["spec"]["egress"][1]["ports"].as_array().unwrap().clone();
        rules.iter().map(|rule| rule["port"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(ports(&Settings::default()), [443, 6443]);
    assert_eq!(ports(&Settings { api_ports: vec![6443, 16443], ..Settings::default() }), [443, 6443, 16443]);
}

#[test]
fn printed_objects_are_the_applied_ones() {
    let mut names = BTreeSet::new();
    for object in plain() {
        let text = yaml::to_yaml(&object).unwrap();
        assert_eq!(documents("printed", &text).unwrap(), std::slice::from_ref(&object));
        let (kind, name) = (object["kind"].to_string(), object["metadata"]["name"].to_string());
        let namespace = object["metadata"]["namespace"].to_string();
        assert!(names.insert((kind, namespace, name)), "duplicate: {text}");
    }
}
