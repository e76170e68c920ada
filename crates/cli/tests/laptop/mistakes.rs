//! Invalid input: a message with the remedy, and nothing is started.

use std::net::TcpListener;

use crate::laptop::session::{Laptop, free_port, get};

fn score(name: &str, rest: &str) -> String {
    format!("apiVersion: score.dev/v1b1\nmetadata: {{name: {name}}}\n{rest}")
}

fn with_port(name: &str, port: u16) -> String {
    let rest = format!(
        "containers: {{web: {{image: ., command: [orchestra, sample-server], variables: {{PORT: '{port}'}}}}}}\nservice: {{ports: {{web: {{port: {port}}}}}}}\n"
    );
    score(name, &rest)
}

#[test]
fn a_port_conflict_names_the_other_workload_and_resolves_when_it_is_deleted() {
    let laptop = Laptop::new();
    let port = free_port();
    laptop.file("one.yaml", &with_port("one", port));
    laptop.file("two.yaml", &with_port("two", port));
    laptop.must(&["up", "--detach", "one.yaml"]);
    laptop.must(&["apply", "two.yaml"]);
    let described = laptop.until("two", "is already in use by the workload `one`");
    assert!(described.contains("NetworkUnavailable"), "{described}");
    assert!(described.contains("choose another port, or stop that workload"), "{described}");
    laptop.must(&["delete", "one"]);
    laptop.must(&["wait", "two"]);
}

#[test]
fn a_port_in_use_is_named_and_taken_when_it_is_free() {
    let laptop = Laptop::new();
    let held = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = held.local_addr().unwrap().port();
    laptop.file("score.yaml", &with_port("web", port));
    let up = laptop.up(&["up"]);
    laptop.until("web", &format!("Port {port} is already in use by"));
    drop(held);
    laptop.must(&["wait", "web"]);
    assert!(get(port).is_some());
    up.interrupt();
}

#[test]
fn an_image_that_cannot_run_here_is_refused_with_the_field() {
    let laptop = Laptop::new();
    laptop.file("image.yaml", &score("image", "containers: {web: {image: nginx}}\n"));
    laptop.file("bare.yaml", &score("bare", "containers: {web: {image: .}}\n"));
    let up = laptop.up(&["up", "image.yaml", "bare.yaml"]);
    let described = laptop.until("image", "RuntimeSelecting");
    assert!(described.contains("`containers.web.image` must be `.`"), "{described}");
    let described = laptop.until("bare", "RuntimeSelecting");
    assert!(described.contains("`containers.web.command` is required"), "{described}");
    up.interrupt();
}

#[test]
fn a_missing_program_is_named() {
    let laptop = Laptop::new();
    laptop.file("score.yaml", &score("web", "containers: {web: {image: ., command: [no-such-program]}}\n"));
    let up = laptop.up(&["up"]);
    let described = laptop.until("web", "no-such-program");
    assert!(described.contains("RuntimeDegraded"), "{described}");
    up.interrupt();
}

#[test]
fn a_type_without_a_provisioner_is_named() {
    let laptop = Laptop::new();
    laptop.file(
        "score.yaml",
        &score(
            "web",
            "containers: {web: {image: ., command: [sleep, '9']}}\nresources: {queue: {type: quantum}}\n",
        ),
    );
    let up = laptop.up(&["up"]);
    let described = laptop.until("web", "BindingFailed");
    assert!(described.contains("o provisioner found for quantum"), "{described}");
    up.interrupt();
}

#[test]
fn a_dependency_cycle_of_resources_is_an_error_of_the_file() {
    let laptop = Laptop::new();
    let cycle = "resources:
  a: {type: dns, params: {of: '${resources.b.host}'}}
  b: {type: dns, params: {of: '${resources.a.host}'}}
";
    let rest = format!("containers: {{web: {{image: ., command: [sleep, '9']}}}}\n{cycle}");
    laptop.file("score.yaml", &score("web", &rest));
    let refused = laptop.run(&["up"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.err.contains("dependency cycle"), "{}", refused.err);
}

#[test]
fn an_environment_that_is_too_large_is_named() {
    let laptop = Laptop::new();
    let large = "x".repeat(200_000);
    let rest =
        format!("containers: {{web: {{image: ., command: [sleep, '9'], variables: {{BIG: {large}}}}}}}\n");
    laptop.file("score.yaml", &score("web", &rest));
    let up = laptop.up(&["up"]);
    let described = laptop.until("web", "RuntimeDegraded");
    assert!(described.contains("argument list too long: put long values into `files`"), "{described}");
    up.interrupt();
}

#[test]
fn a_path_that_leaves_its_volume_is_refused() {
    let laptop = Laptop::new();
    let rest = "containers:
  web:
    image: .
    command: [sleep, '9']
    volumes: {/orchestra-inside: {source: '${resources.data}', path: ../../..}}
resources: {data: {type: volume}}
";
    laptop.file("score.yaml", &score("web", rest));
    let up = laptop.up(&["up"]);
    let described = laptop.until("web", "leaves the volume");
    assert!(described.contains("write one without `..`"), "{described}");
    up.interrupt();
}

#[test]
fn an_unusable_data_folder_is_named_with_the_remedy() {
    let laptop = Laptop::new();
    laptop.file("score.yaml", &score("web", "containers: {web: {image: ., command: [sleep, '9']}}\n"));
    let file = laptop.file("a-file", "");
    let output = laptop.command(&["up"]).env("ORCHESTRA_DATA_DIR", file.join("data")).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(
        error.contains("a-file/data") && error.contains("choose another folder with --data-dir"),
        "{error}"
    );
}

#[test]
fn a_relative_data_folder_belongs_to_the_working_folder() {
    let laptop = Laptop::new();
    laptop.file("score.yaml", &score("web", "containers: {web: {image: ., command: [sleep, '900']}}\n"));
    let run = |args: &[&str]| {
        let output = laptop.command(args).env("ORCHESTRA_DATA_DIR", "relative").output().unwrap();
        assert!(output.status.success(), "{args:?}: {output:?}");
    };
    run(&["up", "--detach", "--timeout", "30s"]);
    assert!(laptop.path().join("relative/kubeconfig").exists());
    run(&["down", "--rm"]);
}
