//! Errors of users: message, remedy and exit code.

use kube::Api;
use orchestra_api::PlatformPolicy;
use serde_json::{Value as Json, json};

use crate::platform::{HELLO, session::Session};

fn with(what: &str) -> String {
    HELLO.replace("image: nginx", &format!("image: nginx\n    {what}"))
}

#[test]
fn a_refused_plan_exits_with_1_and_shows_the_reason() {
    let session = Session::start();
    let policy = json!({
        "apiVersion": "score.dev/v1b1", "kind": "PlatformPolicy", "metadata": {"name": "ours"},
        "spec": {"allow": {"registries": ["registry.example.test"]}},
    });
    session.put(Api::<PlatformPolicy>::all, &policy);
    session.file("forbidden.yaml", HELLO);
    let allowed = HELLO.replace("nginx", "registry.example.test/web").replace("hello-web", "good");
    session.file("allowed.yaml", &allowed);
    let retained =
        "resources: {db: {type: postgres, metadata: {annotations: {score.dev/deprovision: Never}}}}\n";
    session.file("invalid.yaml", &(allowed + retained));

    assert_eq!(session.run(&["plan", "allowed.yaml"]).code, 0);
    for (file, reason) in [("forbidden.yaml", "PolicyViolation"), ("invalid.yaml", "SpecInvalid")] {
        let planned = session.run(&["plan", file]);
        assert_eq!(planned.code, 1, "{planned:?}");
        assert!(planned.out.contains(reason), "{planned:?}");
        let planned = session.run(&["plan", file, "-o", "yaml"]);
        assert_eq!(planned.code, 1, "{planned:?}");
        assert!(planned.out.contains(reason), "{planned:?}");
    }
    assert!(
        session.run(&["plan", "invalid.yaml"]).out.contains("annotations/\"score.dev/deprovision\""),
        "keys are not escaped"
    );
}

#[test]
fn plans_of_several_files_are_one_document_with_their_names() {
    let session = Session::start();
    session.file("a.yaml", HELLO);
    session.file("b.yaml", &HELLO.replace("hello-web", "other"));
    let planned = session.run(&["plan", "a.yaml", "b.yaml", "-o", "json"]);
    assert_eq!(planned.code, 0, "{planned:?}");
    let list: Json = serde_json::from_str(&planned.out).unwrap();
    let named: Vec<_> =
        list.as_array().unwrap().iter().map(|one| (&one["namespace"], &one["name"])).collect();
    assert_eq!(named, [(&json!("default"), &json!("hello-web")), (&json!("default"), &json!("other"))]);
    let one: Json = serde_json::from_str(&session.run(&["plan", "a.yaml", "-o", "json"]).out).unwrap();
    assert_eq!((&one["namespace"], &one["name"]), (&json!("default"), &json!("hello-web")));
    let text = session.run(&["plan", "a.yaml", "b.yaml"]).out;
    assert!(text.contains("Workload hello-web:\n+ ") && text.contains("\nWorkload other:\n+ "), "{text}");
}

#[test]
fn a_missing_namespace_is_named_with_the_remedy() {
    let session = Session::start();
    session.file("score.yaml", HELLO);
    let expected = "error: namespace \"nope\" not found; create it with `kubectl create namespace nope`, or pass another one with --namespace\n";
    let commands: &[&[&str]] = &[
        &["get"],
        &["get", "-o", "json"],
        &["get", "web"],
        &["describe", "web"],
        &["explain", "web"],
        &["explain", "web", "-o", "json"],
        &["plan"],
        &["plan", "-o", "json"],
        &["plan", "--delete", "web"],
        &["apply"],
        &["wait", "web"],
        &["delete", "web"],
    ];
    for command in commands {
        let args: Vec<&str> = command.iter().copied().chain(["-n", "nope"]).collect();
        let output = session.run(&args);
        assert_eq!((output.code, output.err.as_str()), (1, expected), "{args:?}: {output:?}");
    }
}

#[test]
fn a_missing_workload_is_named_with_the_remedy() {
    let session = Session::start();
    let expected = "error: workload \"nope\" not found in namespace \"default\"; list all workloads with `orchestra get -A`\n";
    let commands: &[&[&str]] =
        &[&["get"], &["describe"], &["explain"], &["plan", "--delete"], &["wait"], &["delete"]];
    for command in commands {
        let args: Vec<&str> = command.iter().copied().chain(["nope"]).collect();
        let output = session.run(&args);
        assert_eq!((output.code, output.err.as_str()), (1, expected), "{args:?}: {output:?}");
    }
}

#[test]
fn validate_and_apply_report_the_same_errors_of_files() {
    let session = Session::start();
    session.file("elsewhere.txt", "of another project");
    session.file("app/folder/page.html", "<h1>hello</h1>");
    for (source, message) in [
        ("missing.html", "file not found: `missing.html`"),
        ("../elsewhere.txt", "`../elsewhere.txt` is outside the folder of the Score file"),
        ("/etc/hostname", "outside the folder of the Score file"),
        ("folder", "`folder` is not a file"),
    ] {
        session.file("app/score.yaml", &with(&format!("files: {{/page: {{source: {source}}}}}")));
        let validated = session.run(&["validate", "app/score.yaml"]);
        assert_eq!(validated.code, 1, "{source}: {validated:?}");
        assert!(
            validated.out.contains(message) && validated.out.contains("app/score.yaml:6:"),
            "{validated:?}"
        );
        let applied = session.run(&["apply", "app/score.yaml"]);
        assert_eq!((applied.code, &applied.err), (1, &validated.out), "{source}");
    }
    session.file("app/score.yaml", &with("files: [{target: /page, source: nope}]"));
    let validated = session.run(&["validate", "app/score.yaml", "-o", "json"]);
    assert!(validated.out.contains("\"path\": \"/containers/app/files/0/source\""), "{validated:?}");
    for source in ["folder/page.html", "../elsewhere.txt"] {
        session.file("app/score.yaml", &with(&format!("files: {{/page: {{source: {source}}}}}")));
        let validated = session.run(&["validate", "app/score.yaml", "--allow-outside"]);
        assert_eq!(validated.code, 0, "{source}: {validated:?}");
    }
}

#[test]
fn a_misspelt_annotation_is_a_warning_of_all_commands() {
    let session = Session::start();
    let misspelt = "metadata: {name: hello-web, annotations: {score.dev/profil: batch-job}}";
    session.file("score.yaml", &HELLO.replace("metadata: {name: hello-web}", misspelt));
    for command in ["validate", "plan", "apply"] {
        let answer = session.run(&[command]);
        assert_eq!(answer.code, 0, "{command}: {answer:?}");
        let printed = answer.out + &answer.err;
        assert!(printed.contains("warning[UNKNOWN_ANNOTATION]"), "{command}: {printed}");
        assert!(printed.contains("did you mean `score.dev/profile`?"), "{command}: {printed}");
    }
    let explained = session.run(&["explain", "hello-web"]).out;
    assert!(explained.contains("did you mean `score.dev/profile`?"), "{explained}");
}

#[test]
fn runtimes_and_engines_of_other_programs_are_warnings_of_config_check() {
    let folder = tempfile::tempdir().unwrap();
    let document = "\
apiVersion: score.dev/v1b1
kind: OrchestratorConfig
spec:
  profiles: [{name: web, backends: [{backendId: far, runtimeClass: mainframe}]}]
  provisioners: [{type: redis, engine: helm}, {type: queue, engine: external}]
";
    std::fs::write(folder.path().join("platform.yaml"), document).unwrap();
    let checked = crate::platform::session::orchestra(folder.path(), &["config", "check", "platform.yaml"]);
    assert_eq!(checked.code, 0, "{checked:?}");
    assert!(
        checked.out.contains(
            "platform.yaml:4: warning: runtime class \"mainframe\" is not available in this binary"
        ),
        "{}",
        checked.out
    );
    assert!(
        checked.out.contains("platform.yaml:5: warning: engine \"helm\" is not available in this binary")
    );
    assert!(checked.out.ends_with("platform.yaml: valid, 2 warnings\n"), "{}", checked.out);
    let checked = crate::platform::session::orchestra(
        folder.path(),
        &["config", "check", "platform.yaml", "-o", "json"],
    );
    let answer: Json = serde_json::from_str(&checked.out).unwrap();
    assert_eq!((checked.code, &answer["valid"]), (0, &json!(true)));
    assert_eq!(answer["warnings"][0]["pointer"], json!("/spec/profiles/0/backends/0/runtimeClass"));
}
