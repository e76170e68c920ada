//! Files of the repository that a release depends on: workflows, and the version of Rust that they and the documentation name.

use std::fs;

use serde_json::Value as Json;

fn read(path: &str) -> String {
    fs::read_to_string(format!("{}/../{path}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// Versions in a text that stand directly behind a marker.
fn versions(text: &str, marker: &str) -> Vec<String> {
    let is_version = |c: &char| c.is_ascii_digit() || *c == '.';
    text.split(marker).skip(1).map(|rest| rest.chars().take_while(is_version).collect()).collect()
}

#[test]
fn all_files_name_the_same_version_of_rust() {
    let minor = versions(&read("Cargo.toml"), "rust-version = \"").remove(0);
    let full = versions(&read(".github/workflows/release.yml"), "RUST_VERSION: \"").remove(0);
    assert!(full.starts_with(&format!("{minor}.")), "{full} is not a version of {minor}");
    for (path, marker, expected) in [
        (".github/workflows/ci.yml", "rustup toolchain install ", &full),
        (".github/workflows/ci.yml", "rustup default ", &full),
        ("docs/releases.md", "rustup toolchain install ", &full),
        ("docs/releases.md", "cargo +", &full),
        ("Dockerfile", "FROM rust:", &minor),
        ("README.md", "a stable Rust toolchain (", &minor),
        ("CONTRIBUTING.md", "a stable Rust toolchain (", &minor),
    ] {
        let found = versions(&read(path), marker);
        assert!(!found.is_empty(), "{path} has no `{marker}`");
        assert!(found.iter().all(|version| version == expected), "{path}: {found:?} instead of {expected}");
    }
}

fn jobs(workflow: &str) -> Vec<(String, Json)> {
    let parsed: Json = serde_saphyr::from_str(&read(workflow)).unwrap();
    let jobs = parsed["jobs"].as_object().unwrap();
    jobs.iter().map(|(name, job)| (name.clone(), job.clone())).collect()
}

const WORKFLOWS: [&str; 2] = [".github/workflows/ci.yml", ".github/workflows/release.yml"];

#[test]
fn jobs_of_workflows_end_in_time_and_need_jobs_that_exist() {
    for workflow in WORKFLOWS {
        let jobs = jobs(workflow);
        for (name, job) in &jobs {
            // A job that calls another workflow has the timeouts of its jobs.
            assert!(job["uses"].is_string() || job["timeout-minutes"].is_u64(), "{workflow}: {name}");
            let needed = match &job["needs"] {
                Json::Array(names) => names.clone(),
                Json::Null => vec![],
                name => vec![name.clone()],
            };
            for needed in needed {
                assert!(jobs.iter().any(|(name, _)| *name == needed), "{workflow}: {name} needs {needed}");
            }
        }
    }
}

#[test]
fn only_the_steps_that_publish_get_a_token() {
    for workflow in WORKFLOWS {
        for (name, job) in jobs(workflow) {
            let env = job["env"].to_string();
            assert!(!env.contains("token") && !env.contains("secrets"), "{workflow}: {name}: {env}");
        }
    }
}

#[test]
fn actions_are_pinned_to_a_commit() {
    for workflow in WORKFLOWS {
        for (name, job) in jobs(workflow) {
            for step in job["steps"].as_array().into_iter().flatten() {
                let Some(action) = step["uses"].as_str() else { continue };
                let commit = action.split_once('@').map_or("", |(_, commit)| commit);
                let is_commit = commit.len() == 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
                assert!(is_commit, "{workflow}: {name}: {action}");
            }
        }
    }
}
