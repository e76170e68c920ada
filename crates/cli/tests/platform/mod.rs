//! Commands against `orchestra serve` with its controllers.

#![cfg(unix)]

mod guidance;
mod secrecy;
mod session;

use std::fs;

use session::Session;

const HELLO: &str = "\
apiVersion: score.dev/v1b1
metadata: {name: hello-web}
containers:
  app:
    image: nginx
    variables: {GREETING: 'hello from ${metadata.name}'}
service: {ports: {www: {port: 80}}}
";

#[test]
fn a_workload_is_applied_followed_explained_and_deleted() {
    let session = Session::start();
    session.file("score.yaml", HELLO);
    let planned = session.run(&["plan"]);
    assert_eq!(planned.code, 0, "{planned:?}");
    assert!(planned.out.contains("plan") && planned.out.contains("nginx"), "{}", planned.out);
    assert_eq!(
        session.run(&["get"]).err,
        "No workloads found in namespace \"default\"; create one with `orchestra apply`.\n"
    );

    let applied = session.run(&["apply"]);
    assert_eq!((applied.code, applied.out.as_str()), (0, "workload hello-web created\n"), "{applied:?}");
    assert_eq!(session.run(&["apply"]).out, "workload hello-web unchanged\n");

    session.until_planned("hello-web");
    let waited = session.run(&["wait", "hello-web", "--timeout", "1s"]);
    assert_eq!(waited.code, 1);
    assert!(waited.err.contains("first status from the runtime `simulated`"), "{}", waited.err);
    assert!(waited.err.contains("Run `orchestra explain hello-web` for the cause."), "{}", waited.err);
    let explained = session.run(&["explain", "hello-web"]);
    assert_eq!(explained.code, 0, "{explained:?}");
    assert!(
        explained.out.contains("RuntimeReady") && explained.out.contains("simulated"),
        "{}",
        explained.out
    );

    session.report_ready("hello-web", "http://hello.example.test");
    let waited = session.run(&["wait", "hello-web"]);
    assert_eq!(waited.code, 0, "{waited:?}");
    assert!(waited.err.ends_with("hello-web is ready at http://hello.example.test\n"), "{}", waited.err);
    let got = session.run(&["get"]);
    let lines: Vec<Vec<&str>> = got.out.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0], ["NAME", "READY", "REASON", "ENDPOINT", "AGE"]);
    assert_eq!(lines[1][..4], ["hello-web", "True", "Succeeded", "http://hello.example.test"]);
    let described = session.run(&["describe", "hello-web"]);
    assert!(described.out.contains("Ready         True     Succeeded"), "{}", described.out);
    assert!(described.out.contains("Events:"), "{}", described.out);

    let planned = session.run(&["plan", "--delete", "hello-web"]);
    assert_eq!(planned.code, 0, "{planned:?}");
    let deleted = session.run(&["delete", "hello-web"]);
    assert_eq!((deleted.code, deleted.out.as_str()), (0, "workload hello-web deleted\n"), "{deleted:?}");
    assert_eq!(session.run(&["get", "hello-web"]).code, 1);
}

#[test]
fn a_plan_writes_nothing() {
    let session = Session::start();
    session.file("score.yaml", HELLO);
    assert_eq!(session.run(&["plan"]).code, 0);
    assert_eq!(session.versions(), Vec::<String>::new());
    assert_eq!(session.run(&["apply"]).code, 0);
    session.report_ready("hello-web", "http://hello.example.test");
    assert_eq!(session.run(&["wait", "hello-web"]).code, 0);
    let before = session.versions();
    session.file("score.yaml", &HELLO.replace("nginx", "nginx:2"));
    assert_eq!(session.run(&["plan"]).code, 0);
    assert_eq!(session.run(&["plan", "-o", "json"]).code, 0);
    assert_eq!(session.run(&["plan", "--delete", "hello-web"]).code, 0);
    assert_eq!(session.versions(), before);
}

#[test]
fn nothing_is_sent_if_one_file_is_invalid() {
    let session = Session::start();
    session.file("good.yaml", HELLO);
    session.file("bad.yaml", &HELLO.replace("variables", "env").replace("hello-web", "bad"));
    let applied = session.run(&["apply", "good.yaml", "bad.yaml"]);
    assert_eq!(applied.code, 1);
    assert!(applied.err.contains("UNKNOWN_FIELD"), "{}", applied.err);
    assert_eq!(session.run(&["get", "-o", "json"]).out.matches("hello-web").count(), 0);
}

#[test]
fn files_beside_the_score_file_are_sent_along_and_others_only_if_allowed() {
    let session = Session::start();
    session.file("app/page.html", "<h1>hello</h1>");
    session.file("elsewhere.txt", "secret of another project");
    let with = |source: &str| {
        HELLO.replace("image: nginx", &format!("image: nginx\n    files: {{/page: {{source: {source}}}}}"))
    };
    session.file("app/score.yaml", &with("page.html"));
    assert_eq!(session.run(&["apply", "app/score.yaml"]).code, 0);
    let object = session.run(&["get", "hello-web", "-o", "yaml"]).out;
    assert!(object.contains("content: <h1>hello</h1>"), "{object}");

    for source in ["../elsewhere.txt", "/etc/hostname", "x/../../elsewhere.txt"] {
        session.file("app/score.yaml", &with(source));
        let refused = session.run(&["apply", "app/score.yaml"]);
        assert_eq!(refused.code, 1, "{source}");
        assert!(refused.err.contains("outside the folder of the Score file"), "{}", refused.err);
    }
    session.file("app/score.yaml", &with("../elsewhere.txt"));
    assert_eq!(session.run(&["apply", "--allow-outside", "app/score.yaml"]).code, 0);
}

#[test]
fn the_orchestrator_config_is_checked_before_it_is_used() {
    let session = Session::start();
    session.file("good.yaml", "apiVersion: score.dev/v1b1\nkind: OrchestratorConfig\nspec: {}\n");
    session.file("bad.yaml", "apiVersion: score.dev/v1b1\nkind: OrchestratorConfig\nspec: {profils: []}\n");
    let checked = session.run(&["config", "check", "good.yaml"]);
    assert_eq!((checked.code, checked.out.as_str()), (0, "good.yaml: valid\n"));
    let checked = session.run(&["config", "check", "bad.yaml"]);
    assert_eq!(checked.code, 1);
    assert!(checked.out.contains("bad.yaml:3") && checked.out.contains("profils"), "{}", checked.out);
    let refused = session.run(&["serve", "--data-dir", "other", "--config", "bad.yaml"]);
    assert_eq!(refused.code, 1);
    assert!(refused.err.contains("profils"), "{}", refused.err);
}

#[test]
fn an_unreachable_platform_has_its_own_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    let none = session::orchestra(folder.path(), &["get"]);
    assert_eq!(none.code, 3, "{none:?}");
    assert!(none.err.contains("orchestra serve"), "{}", none.err);
    let session = Session::start();
    let kubeconfig = fs::read_to_string(session.kubeconfig()).unwrap();
    fs::create_dir(folder.path().join("data")).unwrap();
    fs::write(folder.path().join("data/kubeconfig"), kubeconfig).unwrap();
    drop(session);
    let gone = session::orchestra(folder.path(), &["get"]);
    assert_eq!(gone.code, 3, "{gone:?}");
    assert!(gone.err.contains("cannot reach the platform"), "{}", gone.err);
}

#[test]
fn the_crds_are_printed() {
    let folder = tempfile::tempdir().unwrap();
    let printed = session::orchestra(folder.path(), &["crd"]).out;
    assert_eq!(printed.matches("\nkind: CustomResourceDefinition\n").count(), 5, "{printed}");
    assert!(printed.contains("name: workloads.score.dev"));
}
