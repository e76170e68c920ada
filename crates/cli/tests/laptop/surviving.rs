//! Crashes of programs and of the platform.

use std::process::Command;

use crate::laptop::session::{Laptop, eventually, free_port, get};

fn server(port: u16, more: &str) -> String {
    format!(
        "apiVersion: score.dev/v1b1
metadata: {{name: web}}
containers:
  web:
    image: .
    command: [orchestra, sample-server]
    variables: {{PORT: '{port}', GREETING: hello}}
{more}service: {{ports: {{web: {{port: {port}}}}}}}
"
    )
}

fn program_of(laptop: &Laptop, words: &str) -> Option<String> {
    let all = laptop.processes();
    let found = all.iter().find(|process| process.contains(words) && !process.contains("__shim"))?;
    found.split(' ').next().map(ToOwned::to_owned)
}

#[test]
fn programs_survive_the_platform_and_are_adopted() {
    let laptop = Laptop::new();
    let (port, carried) = (free_port(), free_port());
    let ports = format!("port: {carried}, targetPort: {port}");
    laptop.file("score.yaml", &server(port, "").replace(&format!("port: {port}"), &ports));
    laptop.must(&["up", "--detach"]);
    assert!(get(carried).is_some());
    let program = program_of(&laptop, "sample-server").unwrap();
    laptop.kill_platform();
    assert!(get(port).unwrap().contains("hello"), "it serves without the platform");
    laptop.must(&["up", "--detach"]);
    assert_eq!(program_of(&laptop, "sample-server"), Some(program), "it was not restarted");
    assert!(eventually(|| get(carried)).is_some(), "its port is forwarded again");
    let count = laptop.processes().iter().filter(|process| process.contains("__shim")).count();
    assert_eq!(count, 1);
    let logs = laptop.must(&["logs", "web"]).out;
    assert!(logs.starts_with("listening") && logs.contains("GET /"), "{logs}");
}

#[test]
fn a_program_that_ended_without_the_platform_is_restarted() {
    let laptop = Laptop::new();
    let port = free_port();
    laptop.file("score.yaml", &server(port, ""));
    laptop.must(&["up", "--detach"]);
    laptop.kill_platform();
    let program = program_of(&laptop, "sample-server").unwrap();
    assert!(Command::new("kill").args(["-9", &program]).status().unwrap().success());
    assert!(eventually(|| get(port).is_none().then_some(())).is_some());
    laptop.must(&["up", "--detach"]);
    assert!(eventually(|| get(port)).is_some());
    assert_ne!(program_of(&laptop, "sample-server"), Some(program));
}

#[test]
fn a_killed_program_is_restarted_and_the_status_shows_it() {
    let laptop = Laptop::new();
    let port = free_port();
    laptop.file("score.yaml", &server(port, ""));
    let mut up = laptop.up(&["up"]);
    up.until("web: ready at");
    let program = program_of(&laptop, "sample-server").unwrap();
    assert!(Command::new("kill").args(["-9", &program]).status().unwrap().success());
    let line = up.until("web: not ready: `web` is not running: killed by signal 9.");
    assert!(line.contains("Restarting; see its log."), "{line}");
    up.until("web: ready at");
    assert!(get(port).is_some());
    up.interrupt();
}

#[test]
fn a_crash_loop_is_degraded_and_described_with_the_last_lines_of_the_log() {
    let laptop = Laptop::new();
    laptop.file(
        "score.yaml",
        "apiVersion: score.dev/v1b1
metadata: {name: broken}
containers: {main: {image: ., command: [sh, -c, 'echo the config is missing; exit 3']}}
",
    );
    let up = laptop.up(&["up"]);
    // Match the condition, not an event: during a restart the condition is `RuntimeProvisioning`.
    let described = laptop.until(
        "broken",
        "RuntimeDegraded      `main` is in a crash loop: exit code 3. Restarting with backoff",
    );
    assert!(described.contains("RuntimeReady  False    RuntimeDegraded"), "{described}");
    assert!(described.contains("main | the config is missing"), "{described}");
    up.interrupt();
}

#[test]
fn a_failed_update_rolls_back_to_the_last_good_version() {
    let laptop = Laptop::new();
    let port = free_port();
    laptop.file("score.yaml", &server(port, ""));
    laptop.must(&["up", "--detach"]);
    laptop.file("score.yaml", &server(port, "").replace("[orchestra, sample-server]", "[sh, -c, 'exit 1']"));
    laptop.must(&["apply"]);
    let described = laptop.until("web", "the last good version is running again");
    assert!(described.contains("exit code 1"), "{described}");
    assert!(eventually(|| get(port)).unwrap().contains("hello"));
    // Corrected, it is ready again.
    laptop.file("score.yaml", &server(port, "").replace("GREETING: hello", "GREETING: corrected"));
    laptop.must(&["apply", "--wait"]);
    assert!(get(port).unwrap().contains("corrected"));
}

#[test]
fn a_failed_liveness_probe_restarts_the_program() {
    let laptop = Laptop::new();
    laptop.file(
        "score.yaml",
        "apiVersion: score.dev/v1b1
metadata: {name: hung}
containers:
  main:
    image: .
    command: [sh, -c, 'echo begun; touch alive; exec sleep 1000']
    livenessProbe: {exec: {command: [test, -e, alive]}}
",
    );
    laptop.must(&["up", "--detach"]);
    std::fs::remove_file(laptop.path().join("alive")).unwrap();
    let twice = || (laptop.must(&["logs", "hung"]).out.matches("begun").count() == 2).then_some(());
    assert!(eventually(twice).is_some(), "{}", laptop.run(&["describe", "hung"]).out);
}

#[test]
fn a_running_workload_is_stopped_even_if_its_next_version_cannot_run() {
    let laptop = Laptop::new();
    let port = free_port();
    laptop.file("score.yaml", &server(port, ""));
    let mut up = laptop.up(&["up"]);
    up.until("web: ready at");
    laptop.file("score.yaml", &server(port, "").replace("image: .", "image: nginx"));
    up.until("must be `.`");
    assert!(get(port).is_some(), "the last version keeps running");
    up.interrupt();
    assert_eq!(get(port), None);
    assert!(eventually(|| laptop.processes().is_empty().then_some(())).is_some(), "{:?}", laptop.processes());
}

#[test]
fn up_restarts_a_killed_platform() {
    let laptop = Laptop::new();
    let port = free_port();
    let file = laptop.file("score.yaml", &server(port, ""));
    let mut up = laptop.up(&["up"]);
    up.until("web: ready at");
    laptop.kill_platform();
    up.until("The platform no longer answers");
    std::fs::write(&file, server(port, "").replace("GREETING: hello", "GREETING: again")).unwrap();
    assert!(eventually(|| get(port).filter(|page| page.contains("again"))).is_some());
    up.interrupt();
}
