//! What differs from machine to machine: who the user is, what is installed, what is allowed.

use std::{
    io::{BufRead as _, BufReader},
    process::{Command, Stdio},
};

use crate::servers::{
    crashes::PLATFORM,
    support::{Place, tests},
};

tests![
    where_postgres_is_not_installed_that_is_told,
    where_root_cannot_be_somebody_else_that_is_told,
    it_works_for_users_without_privileges_too,
];

/// The first thing that a platform says, which is started by this.
fn first_word(mut platform: Command) -> String {
    let mut platform = platform.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let said = BufReader::new(platform.stdout.take().unwrap()).lines().next().unwrap().unwrap();
    platform.kill().unwrap();
    platform.wait().unwrap();
    said
}

fn where_postgres_is_not_installed_that_is_told() {
    let place = Place::new();
    let mut platform = Command::new(std::env::current_exe().unwrap());
    platform.arg(PLATFORM).arg(place.data()).env("ORCHESTRA_POSTGRES", "/nowhere");
    assert_eq!(
        first_word(platform),
        "Lacking(\"`ORCHESTRA_POSTGRES` names `/nowhere`, which does not hold the programs of postgres: let it name the folder of `postgres` and `initdb`.\")"
    );
}

fn where_root_cannot_be_somebody_else_that_is_told() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let place = Place::new();
    let mut platform = Command::new("unshare");
    platform
        .args(["--user", "--map-root-user", "sh", "-c"])
        .arg("echo 0 > /proc/sys/user/max_user_namespaces; exec \"$0\" \"$@\"")
        .arg(std::env::current_exe().unwrap())
        .arg(PLATFORM)
        .arg(place.data());
    assert_eq!(
        first_word(platform),
        "Lacking(\"postgres does not run as root, and this machine does not let the platform run it as somebody else: start the platform as another user.\")"
    );
}

fn it_works_for_users_without_privileges_too() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    // Where the program was built others may not look. Written by another process: what this one has open for writing
    // a child of another test may have too, and then it cannot be executed.
    let folder = tempfile::tempdir().unwrap();
    assert!(Command::new("chmod").arg("755").arg(folder.path()).status().unwrap().success());
    let program = folder.path().join("tests");
    let mut copy = Command::new("install");
    assert!(
        copy.arg("-m755").arg(std::env::current_exe().unwrap()).arg(&program).status().unwrap().success()
    );
    let tried = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"])
        .arg(&program)
        .args(["a_database_is_made_from_nothing", "--include-ignored"])
        .current_dir("/")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&[tried.stdout, tried.stderr].concat()).into_owned();
    assert!(tried.status.success() && said.contains("1 passed"), "{said}");
}
