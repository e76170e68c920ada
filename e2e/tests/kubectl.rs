//! The kubectl scripts and what is recorded of them fit together.

use orchestra_e2e::kubectl::{self, Recording, Script};

const FEWEST_COMMANDS: usize = 400;

#[test]
fn every_command_of_every_script_is_recorded() {
    let folder = kubectl::folder();
    let scripts = Script::all(&folder).unwrap();
    for script in &scripts {
        let recording =
            Recording::read(&folder.join("recorded").join(format!("{}.txt", script.topic))).unwrap();
        let recorded: Vec<_> = recording.runs.into_iter().map(|run| run.command).collect();
        assert_eq!(recorded, script.commands, "{} needs to be recorded anew", script.topic);
    }
    let commands: usize = scripts.iter().map(|script| script.commands.len()).sum();
    assert!(commands >= FEWEST_COMMANDS, "only {commands} commands");
}

#[test]
fn no_recorded_command_was_ended_for_hanging() {
    let folder = kubectl::folder();
    for script in Script::all(&folder).unwrap() {
        let recording =
            Recording::read(&folder.join("recorded").join(format!("{}.txt", script.topic))).unwrap();
        // `timeout` is the script's own where it is meant.
        let hanging =
            recording.runs.iter().find(|run| run.exit == 124 && !run.command.starts_with("timeout"));
        assert_eq!(hanging, None, "{}", script.topic);
    }
}
