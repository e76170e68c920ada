//! A user who made a mistake is told what is wrong and what to do, and scripts see it in the exit code.

use kube::Api;
use orchestra_api::PlatformPolicy;
use serde_json::{Value as Json, json};

use crate::platform::{HELLO, session::Session};

fn with(what: &str) -> String {
    HELLO.replace("image: nginx", &format!("image: nginx\n    {what}"))
}

#[test]
fn a_plan_that_would_be_refused_ends_with_one_and_still_shows_what_was_found() {
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
    for (file, said) in [("forbidden.yaml", "PolicyViolation"), ("invalid.yaml", "SpecInvalid")] {
        let planned = session.run(&["plan", file]);
        assert_eq!(planned.code, 1, "{planned:?}");
        assert!(planned.out.contains(said), "{planned:?}");
        let planned = session.run(&["plan", file, "-o", "yaml"]);
        assert_eq!(planned.code, 1, "{planned:?}");
        assert!(planned.out.contains(said), "{planned:?}");
    }
    assert!(
        session.run(&["plan", "invalid.yaml"]).out.contains("annotations/\"score.dev/deprovision\""),
        "keys are shown as people write them"
    );
}

#[test]
fn plans_of_several_files_are_one_document_that_names_each() {
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
fn a_namespace_that_does_not_exist_is_named_with_the_remedy() {
    let session = Session::start();
    session.file("score.yaml", HELLO);
    let expected = "error: there is no namespace \"nope\"; make it with `kubectl create namespace nope`, or name another with --namespace\n";
    let questions: &[&[&str]] = &[
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
    for question in questions {
        let asked: Vec<&str> = question.iter().copied().chain(["-n", "nope"]).collect();
        let answer = session.run(&asked);
        assert_eq!((answer.code, answer.err.as_str()), (1, expected), "{asked:?}: {answer:?}");
    }
}

#[test]
fn a_workload_that_does_not_exist_is_named_with_the_remedy() {
    let session = Session::start();
    let expected = "error: there is no workload \"nope\" in the namespace \"default\"; `orchestra get -A` lists those that there are\n";
    let questions: &[&[&str]] =
        &[&["get"], &["describe"], &["explain"], &["plan", "--delete"], &["wait"], &["delete"]];
    for question in questions {
        let asked: Vec<&str> = question.iter().copied().chain(["nope"]).collect();
        let answer = session.run(&asked);
        assert_eq!((answer.code, answer.err.as_str()), (1, expected), "{asked:?}: {answer:?}");
    }
}

#[test]
fn validate_refuses_the_files_that_apply_refuses_and_in_the_same_words() {
    let session = Session::start();
    session.file("elsewhere.txt", "of another project");
    session.file("app/folder/page.html", "<h1>hello</h1>");
    for (source, said) in [
        ("missing.html", "the file `missing.html` does not exist"),
        ("../elsewhere.txt", "`../elsewhere.txt` is outside of the Score file's folder"),
        ("/etc/hostname", "outside of the Score file's folder"),
        ("folder", "`folder` is not a file"),
    ] {
        session.file("app/score.yaml", &with(&format!("files: {{/page: {{source: {source}}}}}")));
        let validated = session.run(&["validate", "app/score.yaml"]);
        assert_eq!(validated.code, 1, "{source}: {validated:?}");
        assert!(validated.out.contains(said) && validated.out.contains("app/score.yaml:6:"), "{validated:?}");
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
fn a_misspelt_annotation_to_the_platform_is_a_warning_everywhere() {
    let session = Session::start();
    let misspelt = "metadata: {name: hello-web, annotations: {score.dev/profil: batch-job}}";
    session.file("score.yaml", &HELLO.replace("metadata: {name: hello-web}", misspelt));
    for command in ["validate", "plan", "apply"] {
        let answer = session.run(&[command]);
        assert_eq!(answer.code, 0, "{command}: {answer:?}");
        let told = answer.out + &answer.err;
        assert!(told.contains("warning[UNKNOWN_ANNOTATION]"), "{command}: {told}");
        assert!(told.contains("did you mean `score.dev/profile`?"), "{command}: {told}");
    }
    let explained = session.run(&["explain", "hello-web"]).out;
    assert!(explained.contains("did you mean `score.dev/profile`?"), "{explained}");
}

#[test]
fn what_this_program_does_not_contain_is_a_warning_about_the_platforms_document() {
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
        checked.out.contains("platform.yaml:4: warning: this program contains no runtime \"mainframe\""),
        "{}",
        checked.out
    );
    assert!(checked.out.contains("platform.yaml:5: warning: this program contains no engine \"helm\""));
    assert!(checked.out.ends_with("platform.yaml: valid, 2 warnings\n"), "{}", checked.out);
    let checked = crate::platform::session::orchestra(
        folder.path(),
        &["config", "check", "platform.yaml", "-o", "json"],
    );
    let answer: Json = serde_json::from_str(&checked.out).unwrap();
    assert_eq!((checked.code, &answer["valid"]), (0, &json!(true)));
    assert_eq!(answer["warnings"][0]["pointer"], json!("/spec/profiles/0/backends/0/runtimeClass"));
}
