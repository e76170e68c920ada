//! What a namespace insists on holds for what is planned in it, where the platform leaves it open.

use serde_json::{Value as Json, json};

use crate::decisions::world::World;

/// The settings of a plan on a cluster, in a namespace whose level of security is this.
fn planned(level: Option<&str>, runtime_class: &str, values: &str) -> Json {
    let mut world = World::new(&format!(
        "{{apiVersion: score.dev/v1b1, kind: OrchestratorConfig, spec: {{profiles: [{{name: web-service, backends: \
         [{{backendId: here, runtimeClass: {runtime_class}, values: {values}}}]}}]}}}}"
    ));
    let label = level.map(|level| ("pod-security.kubernetes.io/enforce".to_owned(), level.to_owned()));
    world.namespace.labels.extend(label);
    world.write(json!({}), json!({}), json!({"containers": {"app": {"image": "nginx"}}}));
    world.settle();
    Json::Object(world.plan.unwrap().spec.values)
}

#[test]
fn what_runs_in_a_strict_namespace_passes_its_check_by_itself() {
    let strict = json!({"podSecurity": "restricted"});
    assert_eq!(planned(Some("restricted"), "kubernetes", "{}"), strict);
    assert_eq!(planned(Some("baseline"), "kubernetes", "{}"), json!({}));
    assert_eq!(planned(None, "kubernetes", "{}"), json!({}));
    assert_eq!(planned(Some("restricted"), "scripted", "{}"), json!({}));
}

#[test]
fn what_the_platform_says_of_security_holds_in_every_namespace() {
    for (written, kept) in [
        ("{podSecurity: hardened}", json!({"podSecurity": "hardened"})),
        ("{runAsNonRoot: false}", json!({"runAsNonRoot": false})),
        ("{runAsUser: 0}", json!({"runAsUser": 0})),
    ] {
        assert_eq!(planned(Some("restricted"), "kubernetes", written), kept);
    }
    let user = json!({"podSecurity": "restricted", "runAsUser": 1000});
    assert_eq!(planned(Some("restricted"), "kubernetes", "{runAsUser: 1000}"), user);
}
