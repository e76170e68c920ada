//! Consistency of the kubectl scripts and their recordings.

use orchestra_e2e::kubectl::{self, Recording, Script};

const FEWEST_COMMANDS: usize = 900;

#[test]
fn every_command_of_every_script_is_recorded() {
    let folder = kubectl::folder();
    let scripts = Script::all(&folder).unwrap();
    for script in &scripts {
        let recording =
            Recording::read(&folder.join("recorded").join(format!("{}.txt", script.topic))).unwrap();
        let recorded: Vec<_> = recording.runs.into_iter().map(|run| run.command).collect();
        assert_eq!(recorded, script.commands, "{} must be recorded again", script.topic);
    }
    let commands: usize = scripts.iter().map(|script| script.commands.len()).sum();
    assert!(commands >= FEWEST_COMMANDS, "only {commands} commands");
}

#[test]
fn no_recorded_command_timed_out() {
    let folder = kubectl::folder();
    for script in Script::all(&folder).unwrap() {
        let recording =
            Recording::read(&folder.join("recorded").join(format!("{}.txt", script.topic))).unwrap();
        // A script may use `timeout` itself.
        let hanging =
            recording.runs.iter().find(|run| run.exit == 124 && !run.command.starts_with("timeout"));
        assert_eq!(hanging, None, "{}", script.topic);
    }
}
