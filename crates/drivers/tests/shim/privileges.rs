//! Privileges of a program.

use std::process::Command;

use crate::shim::support::{RunDir, Test, block_on, script, spec, tests};

tests![a_program_cannot_gain_privileges];

/// Tests that need root, to make a setuid program.
pub(crate) const ROOT_TESTS: &[Test] = &[("a_setuid_program_gains_nothing", a_setuid_program_gains_nothing)];

fn a_program_cannot_gain_privileges() {
    let dir = RunDir::new();
    block_on(dir.run(&spec("grep", &["NoNewPrivs", "/proc/self/status"])));
    assert_eq!(dir.log(), ["NoNewPrivs:\t1"]);
}

fn a_setuid_program_gains_nothing() {
    let dir = RunDir::new();
    let id = dir.path("id");
    let install = Command::new("install").args(["-m4755", "/usr/bin/id"]).arg(&id).status();
    assert!(install.unwrap().success());
    let as_another = format!("setpriv --reuid=65534 --regid=65534 --clear-groups -- {} -u", id.display());
    let outside = Command::new("sh").args(["-c", &as_another]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&outside.stdout), "0\n", "the file system allows setuid programs");
    block_on(dir.run(&script(&as_another)));
    assert_eq!(dir.log(), ["65534"]);
}
