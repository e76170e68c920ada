//! The examples, on free ports.

use std::path::Path;

use crate::laptop::session::{Laptop, eventually, free_port, get, get_as};

/// Path of an example.
fn example(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.join("examples").join(name).canonicalize().unwrap().to_str().unwrap().to_owned()
}

/// Runs an example on the given service and container ports.
fn up(laptop: &Laptop, name: &str, port: u16, target: u16) {
    let set = |path: &str, value: u16| format!("{path}={value}");
    laptop.must(&[
        "up",
        "--detach",
        &example(name),
        "--override-property",
        &set("service.ports.web.port", port),
        "--override-property",
        &set("service.ports.web.targetPort", target),
        "--override-property",
        &format!("containers.main.variables.PORT=\"{target}\""),
    ]);
}

#[test]
fn hello_serves_its_page() {
    let laptop = Laptop::new();
    let (port, target) = (free_port(), free_port());
    up(&laptop, "hello", port, target);
    assert!(get(port).unwrap().contains("<h1>Hello from hello!</h1>"));
    let got = laptop.must(&["get"]).out;
    assert!(got.contains(&format!("http://localhost:{port}")), "{got}");
}

#[test]
fn neighbours_reach_each_other_and_have_an_address() {
    let laptop = Laptop::new();
    let (back, front) = (free_port(), free_port());
    up(&laptop, "neighbours/backend.score.yaml", back, back);
    let route = format!("resources.route.params.port={front}");
    laptop.must(&[
        "up",
        "--detach",
        &example("neighbours/frontend.score.yaml"),
        "--override-property",
        &format!("service.ports.web.port={front}"),
        "--override-property",
        &format!("containers.main.variables.PORT=\"{front}\""),
        "--override-property",
        &route,
    ]);
    assert!(get(front).unwrap().contains(&format!("The backend is at http://localhost:{back}.")));
    // The route may follow after the workload is ready.
    let endpoint = eventually(|| {
        let got = laptop.must(&["get", "frontend", "-o", "json"]).out;
        let workload: serde_json::Value = serde_json::from_str(&got).unwrap();
        workload["status"]["endpoint"].as_str().map(ToOwned::to_owned)
    });
    let endpoint = endpoint.unwrap();
    let proxy = endpoint.strip_prefix("http://frontend.localhost:").unwrap().trim_end_matches('/');
    let page = get_as(&format!("frontend.localhost:{proxy}"), proxy.parse().unwrap()).unwrap();
    assert!(page.contains("The backend is at"), "{page}");
}

#[test]
fn the_job_succeeds() {
    let laptop = Laptop::new();
    laptop.must(&["up", "--detach", &example("job")]);
    assert!(laptop.must(&["logs", "job"]).out.starts_with("counting\n"));
}

#[test]
fn containers_of_ordered_start_one_after_the_other() {
    let laptop = Laptop::new();
    let (port, cache) = (free_port(), free_port());
    laptop.must(&[
        "up",
        "--detach",
        &example("ordered"),
        "--override-property",
        &format!("service.ports.web.port={port}"),
        "--override-property",
        &format!("containers.main.variables.PORT=\"{port}\""),
        "--override-property",
        &format!("containers.cache.variables.PORT=\"{cache}\""),
        "--override-property",
        &format!("containers.cache.readinessProbe.httpGet.port={cache}"),
    ]);
    assert!(get(port).unwrap().contains("Everything before me is ready."));
    let logs = laptop.must(&["logs", "ordered"]).out;
    let order: Vec<_> = logs.lines().filter_map(|line| line.split(' ').next()).collect();
    let first = |name: &str| {
        let found = order.iter().position(|container| *container == name);
        found.unwrap_or_else(|| panic!("no line of {name}: {logs}"))
    };
    assert!(first("prepare") < first("cache") && first("cache") < first("main"), "{logs}");
}

#[test]
#[ignore = "needs postgres, psql and python3"]
fn visits_are_counted_over_restarts_and_until_the_database_is_removed() {
    let laptop = Laptop::new();
    let port = free_port();
    let run = || {
        laptop.must(&[
            "up",
            "--detach",
            &example("visits"),
            "--override-property",
            &format!("service.ports.web.port={port}"),
            "--override-property",
            &format!("containers.main.variables.PORT=\"{port}\""),
            "--override-property",
            &format!("containers.main.readinessProbe.httpGet.port={port}"),
        ]);
    };
    let visit = || get(port).unwrap().lines().last().unwrap().to_owned();
    run();
    assert_eq!((visit().as_str(), visit().as_str()), ("visits: 1", "visits: 2"));
    let described = laptop.must(&["describe", "visits"]).out;
    assert!(described.contains("`psql \"$(orchestra outputs visits db uri)\"`"), "{described}");
    let address = laptop.must(&["outputs", "visits", "db", "uri"]).out;
    let asked = std::process::Command::new("psql")
        .args([address.trim(), "-Atc", "select count(*) from visits"])
        .output();
    assert_eq!(String::from_utf8(asked.unwrap().stdout).unwrap(), "2\n");
    // The platform is killed and restarted.
    laptop.kill_platform();
    run();
    assert_eq!(visit(), "visits: 3");
    laptop.must(&["down"]);
    assert!(
        laptop.processes().iter().all(|process| !process.contains("postgres")),
        "{:?}",
        laptop.processes()
    );
    run();
    assert_eq!(visit(), "visits: 4");
    // The database server is killed, and restarts with its data.
    let server = laptop.processes().into_iter().find(|process| process.contains("postgres -D")).unwrap();
    let id = server.split(' ').next().unwrap().to_owned();
    assert!(std::process::Command::new("kill").args(["-9", &id]).status().unwrap().success());
    assert!(eventually(|| get(port).filter(|page| page.contains("visits: "))).is_some());
    laptop.must(&["wait", "visits"]);
    laptop.must(&["delete", "visits"]);
    run();
    assert_eq!(visit(), "visits: 1");
}

#[test]
#[ignore = "needs redis and python3"]
fn the_worker_counts_words() {
    let laptop = Laptop::new();
    laptop.must(&["up", "--detach", &example("worker")]);
    let waits = || laptop.must(&["logs", "worker"]).out.contains("waiting for words").then_some(());
    assert!(eventually(waits).is_some());
    let described = laptop.must(&["describe", "worker"]).out;
    assert!(described.contains("`redis-cli -u \"$(orchestra outputs worker queue uri)\"`"), "{described}");
    let address = laptop.must(&["outputs", "worker", "queue", "uri"]).out;
    let push = std::process::Command::new("redis-cli")
        .args(["-u", address.trim(), "LPUSH", "words", "hello"])
        .output();
    assert!(push.unwrap().status.success());
    let counts = || laptop.must(&["logs", "worker"]).out.contains("hello 1").then_some(());
    assert!(eventually(counts).is_some());
}
