//! Files and mounts of a program.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

use orchestra_drivers::process::{End, LaunchSpec, Mount, NotStarted, PlaceError, PlacedFile};

use crate::shim::support::{RunDir, Test, block_on, launcher, script, tests};

tests![
    files_and_mounts_appear_at_missing_targets_and_the_machine_is_unchanged,
    files_and_mounts_cover_existing_targets,
    writes_to_a_mount_persist_unless_it_is_read_only,
    a_target_behind_a_symlink_is_found,
    an_impossible_target_is_reported_and_a_file_never_hides_a_folder,
    without_files_and_mounts_there_is_no_mount_namespace,
    a_program_keeps_its_user_and_group_in_its_namespace,
    support_for_placed_files_is_detected,
];

/// Tests that need root, to share mounts and to become another user.
pub(crate) const ROOT_TESTS: &[Test] = &[
    ("mounts_of_a_program_are_not_propagated", mounts_of_a_program_are_not_propagated),
    ("the_tests_pass_for_an_unprivileged_user", the_tests_pass_for_an_unprivileged_user),
];

fn file(target: impl Into<PathBuf>, content: &str, mode: u32) -> PlacedFile {
    PlacedFile { target: target.into(), content: content.as_bytes().to_vec(), mode }
}

fn mount(source: impl Into<PathBuf>, target: impl Into<PathBuf>, read_only: bool) -> Mount {
    Mount { source: source.into(), target: target.into(), read_only }
}

/// Output of a program that succeeds.
fn output(dir: &RunDir, spec: &LaunchSpec) -> Vec<String> {
    let exit = block_on(dir.run(spec));
    assert_eq!(exit.end, End::Code(0), "{:?}", dir.log());
    dir.log()
}

fn below_root(name: &str) -> PathBuf {
    PathBuf::from(format!("/orchestra-test-{}-{name}", std::process::id()))
}

fn files_and_mounts_appear_at_missing_targets_and_the_machine_is_unchanged() {
    let dir = RunDir::new();
    let source = dir.path("source");
    fs::create_dir(&source).unwrap();
    fs::write(source.join("inside"), "data").unwrap();
    fs::write(dir.path("neighbour"), "next door").unwrap();
    let before = list(dir.path("").as_path());
    let (root, beside) = (below_root("new"), dir.path("etc/app"));
    let (r, b) = (root.display(), beside.display());
    let mut spec = script(&format!(
        "cat {r}/deep/file; stat -c %a {r}/deep/file {r}/deep/tool; {r}/deep/tool; cat {r}/data/inside; echo; \
         cat {b}/conf.yaml {b}/mounted/inside {neighbour}; echo; cat {run}/run.json > /dev/null && ls -d /proc/self /tmp",
        neighbour = dir.path("neighbour").display(),
        run = dir.folder.display(),
    ));
    spec.files = vec![
        file(root.join("deep/file"), "below the root\n", 0o640),
        file(root.join("deep/tool"), "#!/bin/sh\necho runs\n", 0o755),
        file(beside.join("conf.yaml"), "a: b\n", 0o444),
    ];
    spec.mounts =
        vec![mount(&source, root.join("data"), false), mount(&source, beside.join("mounted"), true)];
    assert_eq!(
        output(&dir, &spec),
        ["below the root", "640", "755", "runs", "data", "a: b", "datanext door", "/proc/self", "/tmp"]
    );
    assert!(!root.exists());
    assert_eq!(list(dir.path("").as_path()), before);
}

fn list(folder: &Path) -> Vec<PathBuf> {
    let mut names: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    names
}

fn files_and_mounts_cover_existing_targets() {
    let dir = RunDir::new();
    let (folder, source) = (dir.path("folder"), dir.path("source"));
    fs::create_dir(&folder).unwrap();
    fs::create_dir(&source).unwrap();
    fs::write(folder.join("config"), "of the machine\n").unwrap();
    fs::write(dir.path("other"), "other\n").unwrap();
    let mut spec = script(&format!(
        "cat {0}/config {1}; ls {2}; echo kept > {0}/new",
        folder.display(),
        dir.path("other").display(),
        source.display()
    ));
    spec.files = vec![file(folder.join("config"), "of the spec\n", 0o600)];
    spec.mounts =
        vec![mount(&folder, &source, false), mount(dir.path("folder/config"), dir.path("other"), true)];
    assert_eq!(output(&dir, &spec), ["of the spec", "of the machine", "config"]);
    assert_eq!(fs::read_to_string(folder.join("config")).unwrap(), "of the machine\n");
    // The target existed, so the folder is the real one.
    assert_eq!(fs::read_to_string(folder.join("new")).unwrap(), "kept\n");
}

fn writes_to_a_mount_persist_unless_it_is_read_only() {
    let dir = RunDir::new();
    let (data, fixed) = (dir.path("data"), dir.path("fixed"));
    fs::create_dir(&data).unwrap();
    fs::create_dir(&fixed).unwrap();
    let root = below_root("mounts");
    let r = root.display();
    let mut spec = script(&format!(
        "cat {r}/data/conf/file; echo kept > {r}/data/kept; echo more > {r}/data/conf/kept; \
         (echo no > {r}/fixed/no) 2>/dev/null || echo refused"
    ));
    spec.mounts = vec![mount(&data, root.join("data"), false), mount(&fixed, root.join("fixed"), true)];
    spec.files = vec![file(root.join("data/conf/file"), "within a mount\n", 0o600)];
    assert_eq!(output(&dir, &spec), ["within a mount", "refused"]);
    assert_eq!(fs::read_to_string(data.join("kept")).unwrap(), "kept\n");
    assert_eq!(fs::read_to_string(data.join("conf/kept")).unwrap(), "more\n");
    assert_eq!(fs::read(data.join("conf/file")).unwrap(), b"", "a mount point without content");
    assert_eq!(list(&fixed), Vec::<PathBuf>::new());
}

fn a_target_behind_a_symlink_is_found() {
    let dir = RunDir::new();
    fs::create_dir(dir.path("real")).unwrap();
    symlink("real", dir.path("link")).unwrap();
    symlink("nowhere", dir.path("real/dangling")).unwrap();
    let mut spec = script(&format!(
        "cat {0}/sub/file {1}/sub/file {1}/dangling",
        dir.path("link").display(),
        dir.path("real").display()
    ));
    spec.files = vec![
        file(dir.path("link/sub/file"), "found\n", 0o644),
        file(dir.path("real/dangling"), "instead\n", 0o644),
    ];
    assert_eq!(output(&dir, &spec), ["found", "found", "instead"]);
    assert_eq!(fs::read_link(dir.path("real/dangling")).unwrap(), Path::new("nowhere"));
}

fn an_impossible_target_is_reported_and_a_file_never_hides_a_folder() {
    let dir = RunDir::new();
    let folder = dir.path("folder");
    fs::create_dir(&folder).unwrap();
    fs::write(dir.path("plain"), "").unwrap();
    let refusal = |spec: &LaunchSpec| match block_on(RunDir::new().run(spec)).end {
        End::NotStarted(NotStarted::NotPlaced { why, .. }) => why,
        other => panic!("{other:?}"),
    };
    let mut spec = script("echo never");
    spec.files = vec![file(&folder, "x", 0o644)];
    assert_eq!(refusal(&spec), PlaceError::FolderThere);
    spec.files = vec![file(dir.path("plain/below"), "x", 0o644)];
    assert_eq!(refusal(&spec), PlaceError::FileThere);
    spec.files = vec![file(dir.path("a/../b"), "x", 0o644)];
    assert_eq!(refusal(&spec), PlaceError::NoPlace);
    spec.files = vec![file(dir.path("new"), "x", 0o644), file(dir.path("new"), "y", 0o644)];
    assert_eq!(refusal(&spec), PlaceError::Twice);
    spec.files = vec![file("/proc/new", "x", 0o644)];
    assert!(matches!(refusal(&spec), PlaceError::Refused { .. }));
    spec.files.clear();
    spec.mounts = vec![mount(dir.path("missing"), dir.path("new"), false)];
    assert_eq!(refusal(&spec), PlaceError::NoSource { wanted: dir.path("missing") });
    symlink(dir.path("loop"), dir.path("loop")).unwrap();
    spec.mounts = vec![mount(dir.path("loop"), dir.path("new"), false)];
    let PlaceError::Refused { why } = refusal(&spec) else { panic!("a link to itself is no missing file") };
    assert!(why.contains("symbolic link"), "{why}");
}

fn without_files_and_mounts_there_is_no_mount_namespace() {
    let dir = RunDir::new();
    let own = fs::read_link("/proc/self/ns/mnt").unwrap();
    assert_eq!(output(&dir, &script("readlink /proc/self/ns/mnt")), [own.to_str().unwrap()]);
}

fn a_program_keeps_its_user_and_group_in_its_namespace() {
    let dir = RunDir::new();
    let mut spec = script("id -u; id -g");
    spec.files = vec![file(dir.path("new/file"), "x", 0o644)];
    let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
    assert_eq!(output(&dir, &spec), [user.as_raw().to_string(), group.as_raw().to_string()]);
}

fn support_for_placed_files_is_detected() {
    let dir = RunDir::new();
    let permitted = block_on(launcher().can_place_files(&dir.folder));
    let mut spec = script("exit 0");
    spec.files = vec![file(dir.path("new/file"), "x", 0o644)];
    let started = block_on(dir.run(&spec)).end == End::Code(0);
    assert_eq!(permitted, started);
}

/// With shared propagation, as on most machines; only root can set it up here.
fn mounts_of_a_program_are_not_propagated() {
    let result = Command::new("unshare")
        .args(["--mount", "sh", "-c"])
        .arg(
            "mount --make-rshared / && before=$(cat /proc/self/mountinfo) \
             && \"$0\" --exact shim::writes_to_a_mount_persist_unless_it_is_read_only \
             && [ \"$before\" = \"$(cat /proc/self/mountinfo)\" ]",
        )
        .arg(std::env::current_exe().unwrap())
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&[result.stdout, result.stderr].concat()).into_owned();
    assert!(result.status.success() && output.contains("1 passed"), "{output}");
}

/// Runs all other tests as another user; only root can become one.
fn the_tests_pass_for_an_unprivileged_user() {
    let dir = RunDir::new();
    // The other user may not read the build folder. Written by another process: a child of a concurrent test may inherit
    // a file that this process has open for writing, which then cannot be executed (ETXTBSY).
    let program = dir.path("tests");
    let mut copy = Command::new("install");
    assert!(
        copy.arg("-m755").arg(std::env::current_exe().unwrap()).arg(&program).status().unwrap().success()
    );
    let result = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"])
        .arg(&program)
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&[result.stdout, result.stderr].concat()).into_owned();
    assert!(result.status.success() && !output.contains(" 0 passed"), "{output}");
}
