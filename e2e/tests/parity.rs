//! Consistency of scripts, recordings and accepted differences, and parity of the embedded server.

use std::{collections::HashSet, fs, path::Path};

use orchestra_apiserver::{Api, Caller, Options, store::Memory};
use orchestra_e2e::parity::{
    self, Script, Target,
    accepted::Accepted,
    comparison::{self, Verdict},
};

const MOST_ACCEPTED: usize = 15;
const FEWEST_STEPS: usize = 1400;

#[test]
fn every_step_of_every_script_is_recorded() {
    let folder = parity::folder();
    let scripts = Script::all(&folder).unwrap();
    for script in &scripts {
        let recording = comparison::recording(&folder, script).unwrap();
        let recorded: Vec<_> = recording.steps.iter().map(|answer| answer.step.as_str()).collect();
        let written: Vec<_> =
            script.steps.iter().filter(|step| !step.setup).map(|step| step.name.as_str()).collect();
        assert_eq!(recorded, written, "{} must be recorded again", script.topic);
    }
    let steps: usize = scripts.iter().map(Script::recorded_steps).sum();
    assert!(steps >= FEWEST_STEPS, "only {steps} steps");
}

#[test]
fn step_names_are_unique_within_a_script() {
    for script in Script::all(&parity::folder()).unwrap() {
        let mut names = HashSet::new();
        for step in script.steps.iter().filter(|step| !step.setup) {
            assert!(names.insert(&step.name), "{}: {} twice", script.topic, step.name);
        }
    }
}

#[test]
fn few_differences_are_accepted() {
    let lines = Accepted::read(&parity::folder().join("differences.txt")).unwrap();
    assert!(lines.len() <= MOST_ACCEPTED, "{} accepted differences", lines.len());
}

async fn embedded(folder: &Path) -> Verdict {
    let server = async || {
        let api = Api::open(Memory, Options::default()).await?;
        Ok(Target::router(api.router_for(Caller::admin()), api.router()))
    };
    comparison::compare(folder, server).await.unwrap()
}

#[tokio::test]
async fn a_failing_setup_step_is_reported_although_the_responses_match() {
    let folder = tempfile::tempdir().unwrap();
    for (path, content) in [
        ("scripts/one.yaml", "about: One.\nsteps:\n- include: broken\n"),
        (
            "fixtures/broken.yaml",
            "about: Broken.\nsteps:\n- name: a kind that is not served\n  send: GET /apis/nowhere/v1/things\n",
        ),
        ("recorded/one.json", r#"{"steps": [], "versions": []}"#),
        ("differences.txt", ""),
    ] {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    let verdict = embedded(folder.path()).await;
    assert!(verdict.differences.is_empty());
    assert!(
        verdict.failures.concat().starts_with("one: a kind that is not served"),
        "{:?}",
        verdict.failures
    );
}

#[tokio::test]
async fn the_embedded_server_matches_the_recordings() {
    let verdict = embedded(&parity::folder()).await;
    assert_eq!(verdict.failures, Vec::<String>::new());
    let shown: Vec<String> = verdict.differences.iter().map(ToString::to_string).collect();
    assert!(shown.is_empty(), "{} differences:\n{}", shown.len(), shown.join("\n"));
    assert!(verdict.stale.is_empty(), "no longer different: {:?}", verdict.stale);
}
