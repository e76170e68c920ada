//! What happens when something dies.

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
fn programs_survive_the_platform_and_are_found_again() {
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
    assert_eq!(
        program_of(&laptop, "sample-server"),
        Some(program),
        "it was neither stopped nor started twice"
    );
    assert!(eventually(|| get(carried)).is_some(), "its port is offered again");
    let count = laptop.processes().iter().filter(|process| process.contains("__shim")).count();
    assert_eq!(count, 1);
    let logs = laptop.must(&["logs", "web"]).out;
    assert!(logs.starts_with("listening") && logs.contains("GET /"), "{logs}");
}

#[test]
fn a_program_that_ended_while_the_platform_was_away_is_started_again() {
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
fn a_program_that_is_killed_is_started_again_and_the_status_says_so_meanwhile() {
    let laptop = Laptop::new();
    let port = free_port();
    laptop.file("score.yaml", &server(port, ""));
    let mut up = laptop.up(&["up"]);
    up.until("web: ready at");
    let program = program_of(&laptop, "sample-server").unwrap();
    assert!(Command::new("kill").args(["-9", &program]).status().unwrap().success());
    let said = up.until("web: not ready: `web` is not running: it was ended by signal 9.");
    assert!(said.contains("It is started again; see its log."), "{said}");
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
    // The condition, not an event: while it is started once more, it is being provisioned.
    let described = laptop.until(
        "broken",
        "RuntimeDegraded      `main` is not running: it ended with code 3. It is started again and again",
    );
    assert!(described.contains("RuntimeReady  False    RuntimeDegraded"), "{described}");
    assert!(described.contains("main | the config is missing"), "{described}");
    up.interrupt();
}

#[test]
fn an_update_that_does_not_become_ready_goes_back_to_the_last_good_version_and_says_so() {
    let laptop = Laptop::new();
    let port = free_port();
    laptop.file("score.yaml", &server(port, ""));
    laptop.must(&["up", "--detach"]);
    laptop.file("score.yaml", &server(port, "").replace("[orchestra, sample-server]", "[sh, -c, 'exit 1']"));
    laptop.must(&["apply"]);
    let described = laptop.until("web", "the last good one runs again");
    assert!(described.contains("it ended with code 1"), "{described}");
    assert!(eventually(|| get(port)).unwrap().contains("hello"));
    // Corrected, it is ready again.
    laptop.file("score.yaml", &server(port, "").replace("GREETING: hello", "GREETING: corrected"));
    laptop.must(&["apply", "--wait"]);
    assert!(get(port).unwrap().contains("corrected"));
}

#[test]
fn a_failed_check_of_life_restarts_the_program() {
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
fn what_runs_is_stopped_although_its_next_version_cannot_be_run_here() {
    let laptop = Laptop::new();
    let port = free_port();
    laptop.file("score.yaml", &server(port, ""));
    let mut up = laptop.up(&["up"]);
    up.until("web: ready at");
    laptop.file("score.yaml", &server(port, "").replace("image: .", "image: nginx"));
    up.until("must be `.`");
    assert!(get(port).is_some(), "what ran before runs on");
    up.interrupt();
    assert_eq!(get(port), None);
    assert!(eventually(|| laptop.processes().is_empty().then_some(())).is_some(), "{:?}", laptop.processes());
}

#[test]
fn a_platform_that_is_killed_while_somebody_looks_is_started_again() {
    let laptop = Laptop::new();
    let port = free_port();
    let file = laptop.file("score.yaml", &server(port, ""));
    let mut up = laptop.up(&["up"]);
    up.until("web: ready at");
    laptop.kill_platform();
    up.until("The platform does not answer any more");
    std::fs::write(&file, server(port, "").replace("GREETING: hello", "GREETING: again")).unwrap();
    assert!(eventually(|| get(port).filter(|page| page.contains("again"))).is_some());
    up.interrupt();
}
