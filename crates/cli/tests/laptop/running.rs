//! Running workloads, and the output of `up`.

use std::{
    fs,
    os::unix::{fs::PermissionsExt as _, process::ExitStatusExt as _},
    process::Command,
};

use crate::laptop::session::{Laptop, Up, eventually, free_port, get};

fn hello(port: u16, target: u16, greeting: &str) -> String {
    format!(
        "apiVersion: score.dev/v1b1
metadata: {{name: hello}}
containers:
  web:
    image: .
    command: [orchestra, sample-server]
    variables: {{PORT: '{target}', GREETING: '{greeting}'}}
service: {{ports: {{web: {{port: {port}, targetPort: {target}}}}}}}
"
    )
}

#[test]
fn up_serves_a_page_applies_edits_and_stops_at_ctrl_c() {
    let laptop = Laptop::new();
    let (port, target) = (free_port(), free_port());
    let file = laptop.file("score.yaml", &hello(port, target, "one"));
    let mut up = laptop.up(&["up"]);
    up.until("Started the platform");
    up.until(&format!("hello: ready at http://localhost:{port}"));
    up.until(&format!("| listening on port {target}"));
    assert!(get(port).unwrap().contains("<h1>one</h1>"));
    up.until("| GET / HTTP/1.1");

    fs::write(&file, hello(port, target, "two")).unwrap();
    up.until("File changed");
    assert!(eventually(|| get(port).filter(|page| page.contains("<h1>two</h1>"))).is_some());
    // An invalid file is reported, and the last version keeps running.
    fs::write(&file, hello(port, target, "three").replace("image", "imag")).unwrap();
    up.until("UNKNOWN_FIELD");
    up.until("The last version keeps running");
    assert!(get(port).unwrap().contains("<h1>two</h1>"));

    up.interrupt();
    assert_eq!(get(port), None);
    assert!(eventually(|| laptop.processes().is_empty().then_some(())).is_some(), "{:?}", laptop.processes());
    // It resumes.
    fs::write(&file, hello(port, target, "four")).unwrap();
    laptop.must(&["up", "--detach"]);
    assert!(get(port).unwrap().contains("<h1>four</h1>"));
}

#[test]
fn up_ends_when_another_command_stops_its_workloads() {
    let laptop = Laptop::new();
    laptop.file("score.yaml", &hello(free_port(), free_port(), "one"));
    for (args, stop) in [
        (&["up"][..], &["down"][..]),
        (&["up", "--rm"], &["down"]),
        (&["up"], &["down", "--rm"]),
        (&["up", "--rm"], &["down", "--rm"]),
    ] {
        let mut up = laptop.up(args);
        up.until("hello: ready at");
        laptop.must(stop);
        up.until("All workloads were stopped by another command.");
        up.ends();
        let is_down = eventually(|| laptop.platform().is_none().then_some(()));
        assert!(is_down.is_some(), "a platform is left after {args:?} and {stop:?}");
        if args.contains(&"--rm") || stop.contains(&"--rm") {
            let left = laptop.must(&["down"]);
            assert!(left.err.contains("No workloads found"), "{args:?} and {stop:?}: {left:?}");
        }
    }
}

#[test]
fn a_signal_ends_the_wait_for_a_workload_that_is_not_ready() {
    let laptop = Laptop::new();
    let score = hello(free_port(), free_port(), "late")
        .replace("    variables", "    readinessProbe: {exec: {command: ['false']}}\n    variables");
    laptop.file("score.yaml", &score);
    let mut waiting = laptop.command(&["up", "--detach"]).spawn().unwrap();
    laptop.until("hello", "RuntimeProvisioning");
    let id = waiting.id().to_string();
    // Not SIGINT: shells ignore it in background jobs, and children inherit that.
    assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    let status = waiting.wait().unwrap();
    assert_eq!(status.signal(), Some(15), "{status}");
    // The platform keeps running.
    assert!(laptop.platform().is_some());
}

#[test]
fn open_opens_the_endpoint_with_and_without_detach() {
    let laptop = Laptop::new();
    let port = free_port();
    laptop.file("web.score.yaml", &hello(port, port, "open"));
    // It becomes ready without an endpoint.
    laptop.file(
        "a.score.yaml",
        "apiVersion: score.dev/v1b1
metadata: {name: a-worker}
containers: {main: {image: ., command: [sleep, '1000']}}
",
    );
    let opened = laptop.path().join("opened");
    let opener =
        laptop.file("programs/xdg-open", &format!("#!/bin/sh\necho \"$@\" >> {}\n", opened.display()));
    fs::set_permissions(&opener, fs::Permissions::from_mode(0o755)).unwrap();
    let programs = opener.parent().unwrap().to_path_buf();
    let path = std::env::var_os("PATH").unwrap();
    let path = std::env::join_paths([programs].into_iter().chain(std::env::split_paths(&path))).unwrap();
    let page = format!("http://localhost:{port}\n");
    let seen = || fs::read_to_string(&opened).ok().filter(|text| text.ends_with('\n'));

    let detached = laptop.command(&["up", "--detach", "--open", "."]).env("PATH", &path).output().unwrap();
    assert!(detached.status.success(), "{detached:?}");
    assert_eq!(eventually(seen).unwrap(), page);
    fs::remove_file(&opened).unwrap();

    laptop.must(&["up", "--detach", "."]);
    assert_eq!(seen(), None, "without --open");
    let mut watched = laptop.command(&["up", "--open", "--keep", "."]);
    let watched = Up::follow(watched.env("PATH", &path));
    assert_eq!(eventually(seen).unwrap(), page);
    watched.interrupt();
}

#[test]
fn logs_are_kept_over_restarts_and_selected_by_container_and_tail() {
    let laptop = Laptop::new();
    laptop.file(
        "score.yaml",
        "apiVersion: score.dev/v1b1
metadata: {name: pair}
containers:
  one: {image: ., command: [sh, -c, 'echo from one; echo more; exec sleep 1000']}
  two: {image: ., command: [sh, -c, 'echo from two >&2; exec sleep 1000']}
",
    );
    laptop.must(&["up", "--detach"]);
    let lines = |args: &[&str]| -> Vec<String> {
        let mut lines: Vec<_> = laptop.must(args).out.lines().map(ToOwned::to_owned).collect();
        lines.sort();
        lines
    };
    assert!(eventually(|| (lines(&["logs", "pair"]).len() == 3).then_some(())).is_some());
    assert_eq!(lines(&["logs", "pair"]), ["one | from one", "one | more", "two | from two"]);
    assert_eq!(lines(&["logs", "pair", "--container", "two"]), ["from two"]);
    assert_eq!(lines(&["logs", "pair", "-c", "one", "--tail", "1"]), ["more"]);
    let refused = laptop.run(&["logs", "pair", "-c", "three"]);
    assert!(refused.code == 1 && refused.err.contains("the containers are `one`, `two`"), "{refused:?}");
    laptop.must(&["down"]);
    laptop.must(&["up", "--detach"]);
    assert!(eventually(|| (lines(&["logs", "pair", "-c", "two"]).len() == 2).then_some(())).is_some());
}

#[test]
fn a_job_runs_to_its_end_and_is_then_ready() {
    let laptop = Laptop::new();
    laptop.file(
        "score.yaml",
        "apiVersion: score.dev/v1b1
metadata: {name: once, annotations: {score.dev/profile: batch-job}}
containers:
  job: {image: ., command: [sh, -c, 'echo done > result']}
",
    );
    laptop.must(&["up", "--detach"]);
    assert_eq!(fs::read_to_string(laptop.path().join("result")).unwrap(), "done\n");
    laptop.until("once", "Completed.");
}

#[test]
fn containers_start_in_the_order_of_before() {
    let laptop = Laptop::new();
    laptop.file(
        "score.yaml",
        "apiVersion: score.dev/v1b1
metadata: {name: ordered}
containers:
  init:
    image: .
    command: [sh, -c, 'sleep 0.3; echo init >> order']
    before: {side: {ready: complete}}
  side:
    image: .
    command: [sh, -c, 'echo side >> order; sleep 0.3; touch healthy; exec sleep 1000']
    readinessProbe: {exec: {command: [test, -e, healthy]}}
    before: {main: {ready: healthy}}
  main: {image: ., command: [sh, -c, 'test -e healthy && echo main >> order; exec sleep 1000']}
",
    );
    laptop.must(&["up", "--detach"]);
    let order = || fs::read_to_string(laptop.path().join("order")).ok().filter(|text| text.contains("main"));
    assert_eq!(eventually(order).unwrap(), "init\nside\nmain\n");
}

#[test]
fn files_are_mounted_for_the_program_only() {
    let laptop = Laptop::new();
    laptop.file(
        "score.yaml",
        "apiVersion: score.dev/v1b1
metadata: {name: files}
containers:
  main:
    image: .
    command: [sh, -c, 'cat /etc/orchestra-test/greeting > seen; stat -c %a /etc/orchestra-test/greeting >> seen; mv seen result; exec sleep 1000']
    files: {/etc/orchestra-test/greeting: {content: \"hello ${metadata.name}\\n\", mode: '0600'}}
",
    );
    laptop.must(&["up", "--detach"]);
    let result = eventually(|| fs::read_to_string(laptop.path().join("result")).ok()).unwrap();
    assert_eq!(result, "hello files\n600\n");
    assert!(!std::path::Path::new("/etc/orchestra-test").exists());
}

#[test]
fn a_memory_limit_is_enforced_or_reported_as_not_enforced() {
    let laptop = Laptop::new();
    laptop.file(
        "score.yaml",
        "apiVersion: score.dev/v1b1
metadata: {name: greedy}
containers:
  main:
    image: .
    command: [sh, -c, 'sleep 0.5; x=$(head -c 200000000 /dev/zero | tr \\\\0 x); sleep 1000']
    resources: {limits: {memory: 32Mi}}
",
    );
    let up = laptop.up(&["up"]);
    let messages = [
        "out of memory: it needs more than `resources.limits.memory` allows",
        "are not enforced on this machine",
    ];
    let described = || {
        let described = laptop.run(&["describe", "greedy"]).out;
        messages.iter().any(|message| described.contains(message)).then_some(())
    };
    assert!(eventually(described).is_some(), "{}", laptop.run(&["describe", "greedy"]).out);
    up.interrupt();
}
