//! Plans adapt to the security level of their namespace, unless the backend sets its own, and reserved labels are not part of them.

use serde_json::{Value as Json, json};

use crate::decisions::fixture::{CONFIG, Fixture};

/// Values of a plan in a namespace with this security level.
fn planned(level: Option<&str>, runtime_class: &str, values: &str) -> Json {
    let mut fixture = Fixture::new(&format!(
        "{{apiVersion: score.dev/v1b1, kind: OrchestratorConfig, spec: {{profiles: [{{name: web-service, backends: \
         [{{backendId: here, runtimeClass: {runtime_class}, values: {values}}}]}}]}}}}"
    ));
    let label = level.map(|level| ("pod-security.kubernetes.io/enforce".to_owned(), level.to_owned()));
    fixture.namespace.labels.extend(label);
    fixture.write(json!({}), json!({}), json!({"containers": {"app": {"image": "nginx"}}}));
    fixture.settle();
    Json::Object(fixture.plan.unwrap().spec.values)
}

#[test]
fn a_plan_in_a_restricted_namespace_is_restricted() {
    let strict = json!({"podSecurity": "restricted"});
    assert_eq!(planned(Some("restricted"), "kubernetes", "{}"), strict);
    assert_eq!(planned(Some("baseline"), "kubernetes", "{}"), json!({}));
    assert_eq!(planned(None, "kubernetes", "{}"), json!({}));
    assert_eq!(planned(Some("restricted"), "scripted", "{}"), json!({}));
}

#[test]
fn security_settings_of_the_backend_apply_in_every_namespace() {
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

#[test]
fn labels_that_identify_the_owner_of_an_object_are_not_passed_to_the_runtime() {
    let mut fixture = Fixture::new(CONFIG);
    let labels = json!({
        "score.dev/instance": "db-0123456789", "score.dev/workload": "other", "app.kubernetes.io/managed-by": "Helm",
        "app.kubernetes.io/instance": "shop", "team": "a",
    });
    fixture.write(labels, json!({}), json!({"containers": {"app": {"image": "nginx"}}}));
    fixture.settle();
    let passed: Vec<_> = fixture.plan.unwrap().spec.labels.into_keys().collect();
    assert_eq!(passed, ["app.kubernetes.io/instance", "team"]);
}
