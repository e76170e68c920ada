//! Dependencies that this machine provides.

use base64::{Engine, engine::general_purpose::STANDARD};
use std::fs;

use crate::laptop::session::{Laptop, eventually};

#[test]
fn a_volume_keeps_its_content_until_it_is_removed() {
    let laptop = Laptop::new();
    laptop.file(
        "score.yaml",
        "apiVersion: score.dev/v1b1
metadata: {name: keeper, annotations: {score.dev/profile: batch-job}}
containers:
  main:
    image: .
    command: [sh, -c, 'echo once more >> /orchestra-volume/kept; cp /orchestra-volume/kept seen']
    variables: {ROUND: '1'}
    volumes: {/orchestra-volume: {source: '${resources.data}'}}
resources: {data: {type: volume}}
",
    );
    let seen = || fs::read_to_string(laptop.path().join("seen")).unwrap().lines().count();
    let run = |round: &str| {
        let variable = format!("containers.main.variables.ROUND=\"{round}\"");
        laptop.must(&["up", "--detach", "--override-property", &variable]);
    };
    run("1");
    assert_eq!(seen(), 1);
    run("2");
    assert_eq!(seen(), 2);
    laptop.must(&["down"]);
    run("3");
    assert_eq!(seen(), 3);
    laptop.must(&["delete", "keeper"]);
    run("1");
    assert_eq!(seen(), 1, "the policy Delete removes the data");
}

#[test]
fn variables_of_the_shell_and_the_env_file_reach_only_the_program() {
    let laptop = Laptop::new();
    laptop.file(
        "score.yaml",
        "apiVersion: score.dev/v1b1
metadata: {name: shell}
containers:
  main:
    image: .
    command: [sh, -c, 'echo \"$FROM_FILE $FROM_SHELL\" > seen.new; mv seen.new seen; exec sleep 1000']
    variables: {FROM_FILE: '${resources.env.FROM_FILE}', FROM_SHELL: '${resources.env.FROM_SHELL}'}
resources: {env: {type: environment}}
",
    );
    laptop.file(".env", "FROM_FILE=canary-file\n");
    let up = |value: &str| {
        let output = laptop.command(&["up", "--detach"]).env("FROM_SHELL", value).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    };
    let seen = |text: &str| {
        let read = || fs::read_to_string(laptop.path().join("seen")).ok().filter(|seen| seen.trim() == text);
        assert!(eventually(read).is_some(), "{text}");
    };
    up("canary-shell");
    seen("canary-file canary-shell");
    up("canary-other");
    seen("canary-file canary-other");
    // The values are in Secrets only.
    for args in [["get", "shell", "-o", "yaml"].as_slice(), &["describe", "shell"], &["explain", "shell"]] {
        let printed = laptop.must(args).out;
        assert!(!printed.contains("canary"), "{printed}");
    }
    assert!(!laptop.serve_log().contains("canary"));
}

#[test]
fn a_secret_is_generated_once_and_can_be_mounted_as_files() {
    let laptop = Laptop::new();
    laptop.file(
        "score.yaml",
        "apiVersion: score.dev/v1b1
metadata: {name: secretive}
containers:
  main:
    image: .
    command: [sh, -c, 'cat /orchestra-secret/token > seen.new; mv seen.new seen; test \"$TOKEN\" = \"$(cat seen)\" && exec sleep 1000']
    variables: {TOKEN: '${resources.key.token}'}
    volumes: {/orchestra-secret: {source: '${resources.key}', readOnly: true}}
resources: {key: {type: secret, params: {keys: [token]}}}
",
    );
    laptop.must(&["up", "--detach"]);
    let read = || fs::read_to_string(laptop.path().join("seen")).ok().filter(|seen| !seen.is_empty());
    let first = eventually(read).unwrap();
    assert!(first.len() >= 16, "{first}");
    laptop.must(&["down"]);
    fs::remove_file(laptop.path().join("seen")).unwrap();
    laptop.must(&["up", "--detach"]);
    assert_eq!(eventually(read).unwrap(), first);
}

#[test]
fn a_file_with_a_secret_is_readable_only_by_the_program() {
    let laptop = Laptop::new();
    laptop.file(
        "score.yaml",
        "apiVersion: score.dev/v1b1
metadata: {name: filed}
containers:
  main:
    image: .
    command: [sh, -c, 'stat -c %a /orchestra-filed/config > seen.new; grep -c token=.... /orchestra-filed/config >> seen.new; mv seen.new seen; exec sleep 1000']
    files: {/orchestra-filed/config: {content: 'token=${resources.key.token}'}}
resources: {key: {type: secret, params: {keys: [token]}}}
",
    );
    laptop.must(&["up", "--detach"]);
    let seen = eventually(|| fs::read_to_string(laptop.path().join("seen")).ok()).unwrap();
    assert_eq!(seen, "600\n1\n");
    let token = laptop.must(&["outputs", "filed", "key", "token"]).out;
    let encoded = STANDARD.encode(token.trim());
    let found = std::process::Command::new("grep")
        .args(["-rlF", "-e", token.trim(), "-e", &encoded])
        .arg(laptop.data())
        .output()
        .unwrap();
    assert_eq!(String::from_utf8(found.stdout).unwrap(), "", "the object store is encrypted");
}

#[test]
fn a_missing_service_is_named_and_awaited() {
    let laptop = Laptop::new();
    laptop.file(
        "front.yaml",
        "apiVersion: score.dev/v1b1
metadata: {name: front}
containers:
  main: {image: ., command: [sh, -c, 'exec sleep 1000'], variables: {BACK: '${resources.back.hostname}:${resources.back.port}'}}
resources: {back: {type: service-port, params: {workload: back, port: web}}}
",
    );
    let up = laptop.up(&["up", "front.yaml"]);
    laptop.until("front", "Waiting for the workload `back`");
    laptop.file(
        "back.yaml",
        "apiVersion: score.dev/v1b1
metadata: {name: back}
containers: {main: {image: nginx}}
service: {ports: {web: {port: 39999}}}
",
    );
    // It need not run; the declared port is enough.
    laptop.must(&["apply", "back.yaml"]);
    laptop.must(&["wait", "front"]);
    up.interrupt();
}
