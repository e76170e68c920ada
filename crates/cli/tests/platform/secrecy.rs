//! Whatever a user types, no secret value is answered. A value that occurs nowhere else goes from a Secret through a
//! provisioner into a workload; then everything is asked that can be asked, in every form.

use base64::{Engine, engine::general_purpose::STANDARD};
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use serde_json::json;

use crate::platform::session::Session;

const CANARY: &str = "canary-5up3r-s3cr3t";

const PLATFORM: &str = "\
apiVersion: score.dev/v1b1
kind: OrchestratorConfig
spec:
  profiles: [{name: web-service, kind: service, backends: [{backendId: here, runtimeClass: played}]}]
  provisioners:
    - type: postgres
      engine: static
      outputs:
        host: {value: db.example.test}
        password: {secretKeyRef: {name: shop-db, key: password}}
";

const SHOP: &str = "\
apiVersion: score.dev/v1b1
metadata: {name: shop}
containers:
  app:
    image: nginx
    variables: {URL: 'postgres://u:${resources.db.password}@${resources.db.host}/'}
    files: {/etc/shop.conf: {content: 'password=${resources.db.password}'}}
resources: {db: {type: postgres}}
";

/// Asks everything there is to ask, and looks through the answers.
fn finds_nothing(session: &Session, when: &str) {
    let questions: &[&[&str]] = &[
        &["get"],
        &["get", "shop"],
        &["describe", "shop"],
        &["explain", "shop"],
        &["plan"],
        &["plan", "changed.yaml"],
        &["plan", "--delete", "shop"],
        &["apply"],
        &["validate", "--explain"],
    ];
    let mut answered = 0;
    for question in questions {
        for format in [None, Some("json"), Some("yaml")] {
            let format = format.iter().flat_map(|format| ["-o", format]);
            let asked: Vec<&str> = question.iter().copied().chain(format).collect();
            let answer = session.run(&asked);
            // Some questions have no such form, which is an answer too.
            answered += i32::from(answer.code == 0);
            for told in [&answer.out, &answer.err] {
                assert!(is_free(told), "{when}: {asked:?}: {told}");
            }
        }
    }
    assert!(answered >= 22, "{when}: only {answered} questions were answered");
    assert!(is_free(&session.log()), "{when}: the log has it");
}

/// Whether a text has the secret in no form.
fn is_free(text: &str) -> bool {
    !text.contains(CANARY) && !text.contains(&STANDARD.encode(CANARY))
}

#[test]
fn no_answer_of_any_command_has_a_secret_value() {
    let session = Session::start_with(PLATFORM);
    session.file("score.yaml", SHOP);
    session.file("changed.yaml", &SHOP.replace("nginx", "nginx:2").replace("password=", "pw="));
    assert_eq!(session.run(&["apply"]).code, 0);
    finds_nothing(&session, "while the secret is awaited");

    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "shop-db"}, "stringData": {"password": CANARY},
    });
    session.put(Api::<Secret>::default_namespaced, &secret);
    let plan = json!(session.plan_of("shop"));
    assert!(
        plan.to_string().contains("\"secretKeyRef\":{\"key\":\"password\",\"name\":\"shop-db\"}"),
        "{plan}"
    );
    finds_nothing(&session, "when it is planned");

    session.run_everything("shop", "http://shop.example.test");
    assert_eq!(session.run(&["wait", "shop"]).code, 0);
    finds_nothing(&session, "when it is ready");
    let gone = session.run(&["delete", "shop"]);
    assert_eq!(gone.code, 0, "{gone:?}");
    assert!(is_free(&format!("{gone:?}{}", session.log())));
}
