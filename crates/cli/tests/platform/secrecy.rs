//! No command prints a secret value. A unique value goes from a Secret through a provisioner into a workload, and all commands
//! run in all output formats.

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
  profiles: [{name: web-service, kind: service, backends: [{backendId: here, runtimeClass: simulated}]}]
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

/// Runs all commands, and searches their output and the log for the value.
fn assert_no_leak(session: &Session, when: &str) {
    let commands: &[&[&str]] = &[
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
    let mut succeeded = 0;
    for command in commands {
        for format in [None, Some("json"), Some("yaml")] {
            let format = format.iter().flat_map(|format| ["-o", format]);
            let args: Vec<&str> = command.iter().copied().chain(format).collect();
            let output = session.run(&args);
            // Not every command has every format.
            succeeded += i32::from(output.code == 0);
            for text in [&output.out, &output.err] {
                assert!(!has_secret(text), "{when}: {args:?}: {text}");
            }
        }
    }
    assert!(succeeded >= 22, "{when}: only {succeeded} commands succeeded");
    assert!(!has_secret(&session.log()), "{when}: the log has it");
}

/// True if a text contains the secret, plain or in base64.
fn has_secret(text: &str) -> bool {
    text.contains(CANARY) || text.contains(&STANDARD.encode(CANARY))
}

#[test]
fn no_command_prints_a_secret_value() {
    let session = Session::start_with(PLATFORM);
    session.file("score.yaml", SHOP);
    session.file("changed.yaml", &SHOP.replace("nginx", "nginx:2").replace("password=", "pw="));
    assert_eq!(session.run(&["apply"]).code, 0);
    assert_no_leak(&session, "while it waits for the secret");

    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "shop-db"}, "stringData": {"password": CANARY},
    });
    session.put(Api::<Secret>::default_namespaced, &secret);
    let plan = json!(session.plan_of("shop"));
    assert!(
        plan.to_string().contains("\"secretKeyRef\":{\"key\":\"password\",\"name\":\"shop-db\"}"),
        "{plan}"
    );
    assert_no_leak(&session, "when it is planned");

    session.report_ready("shop", "http://shop.example.test");
    assert_eq!(session.run(&["wait", "shop"]).code, 0);
    assert_no_leak(&session, "when it is ready");
    let gone = session.run(&["delete", "shop"]);
    assert_eq!(gone.code, 0, "{gone:?}");
    assert!(!has_secret(&format!("{gone:?}{}", session.log())));
}
