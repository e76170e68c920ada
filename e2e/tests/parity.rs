//! The scripts, the recordings and the list of accepted differences fit together, and the
//! embedded server answers as the real one did.

use std::collections::HashSet;

use orchestra_apiserver::{Api, Caller, Options, store::Memory};
use orchestra_e2e::parity::{self, Script, Target, accepted::Accepted, playing};

const MOST_ACCEPTED: usize = 15;
const FEWEST_STEPS: usize = 350;

#[test]
fn every_step_of_every_script_is_recorded() {
    let folder = parity::folder();
    let scripts = Script::all(&folder).unwrap();
    for script in &scripts {
        let recording = playing::recording(&folder, script).unwrap();
        let recorded: Vec<_> = recording.steps.iter().map(|answer| answer.step.as_str()).collect();
        let written: Vec<_> =
            script.steps.iter().filter(|step| !step.setup).map(|step| step.name.as_str()).collect();
        assert_eq!(recorded, written, "{} needs to be recorded anew", script.topic);
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

#[tokio::test]
async fn the_embedded_server_answers_as_the_real_one_did() {
    let verdict = playing::judge(&parity::folder(), async || {
        let api = Api::open(Memory, Options::default()).await?;
        Ok(Target::router(api.router_for(Caller::admin())))
    })
    .await
    .unwrap();
    let shown: Vec<String> = verdict.differences.iter().map(ToString::to_string).collect();
    assert!(shown.is_empty(), "{} differences:\n{}", shown.len(), shown.join("\n"));
    assert!(verdict.stale.is_empty(), "no longer different: {:?}", verdict.stale);
}
