//! Environments that differ between machines: the user, installed servers, permissions.

use std::{
    io::{BufRead as _, BufReader},
    process::{Command, Stdio},
};

use crate::servers::{
    crashes::PLATFORM,
    support::{DataFolder, tests},
};

tests![
    a_machine_without_postgres_is_reported,
    a_machine_without_user_namespaces_is_reported,
    an_unprivileged_user_can_run_postgres,
];

/// First line of output of a platform.
fn first_line(mut platform: Command) -> String {
    let mut platform = platform.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let line = BufReader::new(platform.stdout.take().unwrap()).lines().next().unwrap().unwrap();
    platform.kill().unwrap();
    platform.wait().unwrap();
    line
}

fn a_machine_without_postgres_is_reported() {
    let data = DataFolder::new();
    let mut platform = Command::new(std::env::current_exe().unwrap());
    platform.arg(PLATFORM).arg(data.data()).env("ORCHESTRA_POSTGRES", "/nowhere");
    assert_eq!(
        first_line(platform),
        "Unavailable(\"`ORCHESTRA_POSTGRES` is `/nowhere`, which does not contain the programs of postgres: set it to the folder of `postgres` and `initdb`.\")"
    );
}

fn a_machine_without_user_namespaces_is_reported() {
    assert!(rustix::process::geteuid().is_root(), "only root can become another user");
    let data = DataFolder::new();
    let mut platform = Command::new("unshare");
    platform
        .args(["--user", "--map-root-user", "sh", "-c"])
        .arg("echo 0 > /proc/sys/user/max_user_namespaces; exec \"$0\" \"$@\"")
        .arg(std::env::current_exe().unwrap())
        .arg(PLATFORM)
        .arg(data.data());
    assert_eq!(
        first_line(platform),
        "Unavailable(\"postgres does not run as root, and this machine does not allow a user namespace for it: start the platform as another user.\")"
    );
}

fn an_unprivileged_user_can_run_postgres() {
    assert!(rustix::process::geteuid().is_root(), "only root can become another user");
    // The other user may not read the build folder. Written by another process: a child of a concurrent test may inherit
    // a file that this process has open for writing, which then cannot be executed (ETXTBSY).
    let folder = tempfile::tempdir().unwrap();
    assert!(Command::new("chmod").arg("755").arg(folder.path()).status().unwrap().success());
    let program = folder.path().join("tests");
    let mut copy = Command::new("install");
    assert!(
        copy.arg("-m755").arg(std::env::current_exe().unwrap()).arg(&program).status().unwrap().success()
    );
    let result = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"])
        .arg(&program)
        .args(["a_new_database_is_owned_by_its_role", "--include-ignored"])
        .current_dir("/")
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&[result.stdout, result.stderr].concat()).into_owned();
    assert!(result.status.success() && output.contains("1 passed"), "{output}");
}
