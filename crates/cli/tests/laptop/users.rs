//! Further users of the machine: whose programs run, and whose do not.

use std::fs;

use hyper::{Method, header::AUTHORIZATION};

use crate::{
    laptop::session::{CommandOutput, Laptop, eventually, free_port, get},
    serve::client::{Client, request},
};

fn score(port: u16, greeting: &str) -> String {
    format!(
        "apiVersion: score.dev/v1b1\nmetadata: {{name: web}}\ncontainers: {{web: {{image: ., command: [orchestra, sample-server], \
         variables: {{PORT: '{port}', GREETING: {greeting}}}}}}}\nservice: {{ports: {{web: {{port: {port}}}}}}}\n"
    )
}

/// Runs a command as a user.
fn run_as(laptop: &Laptop, user: &str, args: &[&str]) -> CommandOutput {
    let kubeconfig = laptop.path().join(format!("{user}.kubeconfig"));
    let output = laptop.command(args).env("KUBECONFIG", kubeconfig).output().unwrap();
    CommandOutput {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Token of a user, from the command that kubectl runs.
fn token(laptop: &Laptop, user: &str) -> String {
    let kubeconfig = format!("{user}.kubeconfig");
    let credential = laptop.must(&["user", "token", "--kubeconfig", &kubeconfig]).out;
    let credential: serde_json::Value = serde_json::from_str(&credential).unwrap();
    credential["status"]["token"].as_str().unwrap().to_owned()
}

/// Changes the command of the workload, as a user.
async fn change_command(laptop: &Laptop, user: &str, command: &str) {
    let kubeconfig = fs::read_to_string(laptop.data().join("kubeconfig")).unwrap();
    let address = kubeconfig.split("https://").nth(1).unwrap().lines().next().unwrap();
    let client = Client::without_certificate(address.parse().unwrap(), &laptop.data());
    let patch = serde_json::json!([
        {"op": "replace", "path": "/spec/containers/web/command", "value": ["sh", "-c", command]},
    ]);
    let path = "/apis/score.dev/v1b1/namespaces/default/workloads/web";
    let mut request = request(Method::PATCH, path, patch.to_string());
    request.headers_mut().insert("content-type", "application/json-patch+json".parse().unwrap());
    request.headers_mut().insert(AUTHORIZATION, format!("Bearer {}", token(laptop, user)).parse().unwrap());
    let (status, changed) = client.connect().await.unwrap().call_with(request).await.unwrap();
    assert_eq!(status, 200, "{changed}");
}

#[tokio::test]
async fn what_runs_stays_and_nothing_that_another_user_wrote_runs_even_after_their_removal() {
    let laptop = Laptop::new();
    let port = free_port();
    laptop.file("score.yaml", &score(port, "one"));
    laptop.must(&["up", "--detach"]);
    let added = laptop.must(&["user", "add", "bob", "-n", "default"]).err;
    assert!(
        added.contains("1 workload of the namespace keeps running, but no new version starts"),
        "{added}"
    );
    let described = laptop.until("web", "PermissionDenied");
    assert!(described.contains("`bob` can change its workloads"), "{described}");
    assert!(get(port).unwrap().contains("one"), "what runs keeps running");

    laptop.file("score.yaml", &score(port, "two"));
    let plan = laptop.must(&["plan"]).out;
    assert!(plan.contains("RuntimeReady is False (PermissionDenied)"), "{plan}");
    laptop.must(&["apply"]);
    let explained = laptop.must(&["explain", "web"]).out;
    assert!(explained.contains("--trust-users"), "{explained}");
    let evil = laptop.path().join("evil");
    change_command(&laptop, "bob", &format!("touch {}", evil.display())).await;
    assert!(get(port).unwrap().contains("one"), "a new version does not run, no matter who wrote it");

    let added = laptop.must(&["user", "add", "bob", "--run-programs"]).err;
    assert!(added.contains("restart the platform with `--trust-users`"), "{added}");
    laptop.must(&["user", "remove", "bob"]);
    laptop.until("web", "apply the file here");
    assert!(!evil.exists());
    assert_eq!(laptop.run(&["apply"]).code, 1, "the change of bob is a conflict");
    laptop.must(&["apply", "--force-conflicts"]);
    laptop.must(&["wait", "web"]);
    eventually(|| get(port).filter(|page| page.contains("two"))).expect("the new version");
    assert!(!evil.exists());
}

#[test]
fn what_runs_stays_reachable_after_a_restart_of_the_platform() {
    let laptop = Laptop::new();
    let (port, target) = (free_port(), free_port());
    let forwarded = format!("{{port: {port}, targetPort: {target}}}");
    laptop.file("score.yaml", &score(target, "one").replace(&format!("{{port: {target}}}"), &forwarded));
    laptop.must(&["up", "--detach"]);
    laptop.must(&["user", "add", "bob", "-n", "default"]);
    laptop.until("web", "PermissionDenied");
    laptop.kill_platform();
    laptop.file("none/none.score.yaml", &score(free_port(), "own").replace("name: web", "name: own"));
    laptop.must(&["up", "--detach", "none", "-n", "own"]);
    let page = eventually(|| get(port).filter(|page| page.contains("one")));
    page.expect("the port of the workload is forwarded again");
    laptop.must(&["user", "remove", "bob"]);
    laptop.until("web", "apply the file here");
    let explained = laptop.must(&["explain", "web"]).out;
    assert!(explained.contains("do what the message says"), "{explained}");
    laptop.must(&["apply", "--wait"]);
    assert!(get(port).unwrap().contains("one"), "now of its supervisor");
    laptop.must(&["delete", "own", "-n", "own"]);
}

#[test]
fn trusted_users_run_programs_where_everybody_has_the_right() {
    let laptop = Laptop::new();
    let port = free_port();
    laptop.file("score.yaml", &score(port, "hello"));
    laptop.file("empty/none.score.yaml", &score(free_port(), "own").replace("name: web", "name: own"));
    laptop.must(&["up", "--detach", "--trust-users", "empty"]);
    laptop.must(&["user", "add", "bob"]);
    let denied = run_as(&laptop, "bob", &["apply"]);
    assert!(
        denied.code == 1 && denied.err.contains("orchestra user add bob --run-programs -n bob"),
        "{denied:?}"
    );
    let added = laptop.must(&["user", "add", "bob", "--run-programs"]).err;
    assert!(!added.contains("warning"), "{added}");
    let applied = run_as(&laptop, "bob", &["apply", "--wait"]);
    assert_eq!(applied.code, 0, "{applied:?}");
    assert!(get(port).unwrap().contains("hello"));

    let is_recorded = || fs::read_to_string(laptop.data().join("folders.json")).unwrap().contains("bob/web");
    laptop.must(&["user", "add", "dora", "-n", "bob", "--run-programs"]);
    laptop.must(&["user", "remove", "dora"]);
    laptop.must(&["wait", "-n", "bob", "web"]);
    assert!(is_recorded(), "a user with the right stops nothing");

    laptop.must(&["user", "add", "carl", "-n", "bob"]);
    let explained = eventually(|| {
        let explained = run_as(&laptop, "carl", &["explain", "web"]);
        explained.out.contains("PermissionDenied").then_some(explained.out)
    });
    let explained = explained.expect("a refusal");
    assert!(
        explained.contains("`carl` can change") && explained.contains("user add carl --run-programs -n bob")
    );
    assert!(get(port).is_some(), "what runs keeps running");
    assert!(!is_recorded());
    let list = laptop.must(&["user", "list"]).out;
    assert!(list.contains("yes: bob") && list.contains("bob: score-user"), "{list}");
    laptop.must(&["user", "remove", "carl"]);
    fs::copy(laptop.path().join("bob.kubeconfig"), laptop.path().join("moved")).unwrap();
    let moved = laptop.must(&["get", "--kubeconfig", "moved"]).out;
    assert!(moved.contains("web"), "{moved}");
    laptop.must(&["user", "remove", "bob"]);
    let removed = laptop.run(&["get", "--kubeconfig", "moved"]);
    assert!(removed.code == 1 && removed.err.contains("access of bob was removed"), "{removed:?}");
    assert_eq!(run_as(&laptop, "bob", &["get"]).code, 1);
    laptop.must(&["delete", "-n", "bob", "web"]);
}
