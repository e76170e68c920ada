//! Files and mounts at their targets.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

use orchestra_drivers::process::{End, Misplaced, Mount, NotStarted, Order, PlacedFile};

use crate::shim::support::{Place, block_on, launcher, script, tests};

tests![
    files_and_mounts_are_at_targets_that_do_not_exist_and_the_machine_stays_as_it_was,
    files_and_mounts_cover_what_exists,
    a_mount_is_written_to_for_good_unless_it_is_only_to_be_read,
    a_target_behind_a_link_is_found,
    what_cannot_be_put_somewhere_is_told_and_a_file_never_hides_a_folder,
    without_files_and_mounts_there_is_no_namespace,
    a_program_stays_who_it_is_in_its_own_view,
    a_machine_that_permits_it_is_known,
    what_is_mounted_for_a_program_reaches_nobody_else,
    it_works_for_users_without_privileges_too,
];

fn file(target: impl Into<PathBuf>, content: &str, mode: u32) -> PlacedFile {
    PlacedFile { target: target.into(), content: content.as_bytes().to_vec(), mode }
}

fn mount(source: impl Into<PathBuf>, target: impl Into<PathBuf>, read_only: bool) -> Mount {
    Mount { source: source.into(), target: target.into(), read_only }
}

/// Runs to a good end; what it said.
fn said(place: &Place, order: &Order) -> Vec<String> {
    let exit = block_on(place.run(order));
    assert_eq!(exit.end, End::Code(0), "{:?}", place.log());
    place.log()
}

fn below_root(name: &str) -> PathBuf {
    PathBuf::from(format!("/orchestra-test-{}-{name}", std::process::id()))
}

fn files_and_mounts_are_at_targets_that_do_not_exist_and_the_machine_stays_as_it_was() {
    let place = Place::new();
    let source = place.path("source");
    fs::create_dir(&source).unwrap();
    fs::write(source.join("inside"), "data").unwrap();
    fs::write(place.path("neighbour"), "next door").unwrap();
    let before = list(place.path("").as_path());
    let (root, beside) = (below_root("new"), place.path("etc/app"));
    let (r, b) = (root.display(), beside.display());
    let mut order = script(&format!(
        "cat {r}/deep/file; stat -c %a {r}/deep/file {r}/deep/tool; {r}/deep/tool; cat {r}/data/inside; echo; \
         cat {b}/conf.yaml {b}/mounted/inside {neighbour}; echo; cat {run}/run.json > /dev/null && ls -d /proc/self /tmp",
        neighbour = place.path("neighbour").display(),
        run = place.folder.display(),
    ));
    order.files = vec![
        file(root.join("deep/file"), "below the root\n", 0o640),
        file(root.join("deep/tool"), "#!/bin/sh\necho runs\n", 0o755),
        file(beside.join("conf.yaml"), "a: b\n", 0o444),
    ];
    order.mounts =
        vec![mount(&source, root.join("data"), false), mount(&source, beside.join("mounted"), true)];
    assert_eq!(
        said(&place, &order),
        ["below the root", "640", "755", "runs", "data", "a: b", "datanext door", "/proc/self", "/tmp"]
    );
    assert!(!root.exists());
    assert_eq!(list(place.path("").as_path()), before);
}

fn list(folder: &Path) -> Vec<PathBuf> {
    let mut names: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    names
}

fn files_and_mounts_cover_what_exists() {
    let place = Place::new();
    let (folder, source) = (place.path("folder"), place.path("source"));
    fs::create_dir(&folder).unwrap();
    fs::create_dir(&source).unwrap();
    fs::write(folder.join("config"), "of the machine\n").unwrap();
    fs::write(place.path("other"), "other\n").unwrap();
    let mut order = script(&format!(
        "cat {0}/config {1}; ls {2}; echo kept > {0}/new",
        folder.display(),
        place.path("other").display(),
        source.display()
    ));
    order.files = vec![file(folder.join("config"), "of the order\n", 0o600)];
    order.mounts =
        vec![mount(&folder, &source, false), mount(place.path("folder/config"), place.path("other"), true)];
    assert_eq!(said(&place, &order), ["of the order", "of the machine", "config"]);
    assert_eq!(fs::read_to_string(folder.join("config")).unwrap(), "of the machine\n");
    // Nothing was missing there, so that the folder is the real one.
    assert_eq!(fs::read_to_string(folder.join("new")).unwrap(), "kept\n");
}

fn a_mount_is_written_to_for_good_unless_it_is_only_to_be_read() {
    let place = Place::new();
    let (data, fixed) = (place.path("data"), place.path("fixed"));
    fs::create_dir(&data).unwrap();
    fs::create_dir(&fixed).unwrap();
    let root = below_root("mounts");
    let r = root.display();
    let mut order = script(&format!(
        "cat {r}/data/conf/file; echo kept > {r}/data/kept; echo more > {r}/data/conf/kept; \
         (echo no > {r}/fixed/no) 2>/dev/null || echo refused"
    ));
    order.mounts = vec![mount(&data, root.join("data"), false), mount(&fixed, root.join("fixed"), true)];
    order.files = vec![file(root.join("data/conf/file"), "within a mount\n", 0o600)];
    assert_eq!(said(&place, &order), ["within a mount", "refused"]);
    assert_eq!(fs::read_to_string(data.join("kept")).unwrap(), "kept\n");
    assert_eq!(fs::read_to_string(data.join("conf/kept")).unwrap(), "more\n");
    assert_eq!(fs::read(data.join("conf/file")).unwrap(), b"", "a place, and no content");
    assert_eq!(list(&fixed), Vec::<PathBuf>::new());
}

fn a_target_behind_a_link_is_found() {
    let place = Place::new();
    fs::create_dir(place.path("real")).unwrap();
    symlink("real", place.path("link")).unwrap();
    symlink("nowhere", place.path("real/dangling")).unwrap();
    let mut order = script(&format!(
        "cat {0}/sub/file {1}/sub/file {1}/dangling",
        place.path("link").display(),
        place.path("real").display()
    ));
    order.files = vec![
        file(place.path("link/sub/file"), "found\n", 0o644),
        file(place.path("real/dangling"), "instead\n", 0o644),
    ];
    assert_eq!(said(&place, &order), ["found", "found", "instead"]);
    assert_eq!(fs::read_link(place.path("real/dangling")).unwrap(), Path::new("nowhere"));
}

fn what_cannot_be_put_somewhere_is_told_and_a_file_never_hides_a_folder() {
    let place = Place::new();
    let folder = place.path("folder");
    fs::create_dir(&folder).unwrap();
    fs::write(place.path("plain"), "").unwrap();
    let refusal = |order: &Order| match block_on(Place::new().run(order)).end {
        End::NotStarted(NotStarted::NotPlaced { why, .. }) => why,
        other => panic!("{other:?}"),
    };
    let mut order = script("echo never");
    order.files = vec![file(&folder, "x", 0o644)];
    assert_eq!(refusal(&order), Misplaced::FolderThere);
    order.files = vec![file(place.path("plain/below"), "x", 0o644)];
    assert_eq!(refusal(&order), Misplaced::FileThere);
    order.files = vec![file(place.path("a/../b"), "x", 0o644)];
    assert_eq!(refusal(&order), Misplaced::NoPlace);
    order.files = vec![file(place.path("new"), "x", 0o644), file(place.path("new"), "y", 0o644)];
    assert_eq!(refusal(&order), Misplaced::Twice);
    order.files = vec![file("/proc/new", "x", 0o644)];
    assert!(matches!(refusal(&order), Misplaced::Refused { .. }));
    order.files.clear();
    order.mounts = vec![mount(place.path("missing"), place.path("new"), false)];
    assert_eq!(refusal(&order), Misplaced::NoSource { wanted: place.path("missing") });
}

fn without_files_and_mounts_there_is_no_namespace() {
    let place = Place::new();
    let own = fs::read_link("/proc/self/ns/mnt").unwrap();
    assert_eq!(said(&place, &script("readlink /proc/self/ns/mnt")), [own.to_str().unwrap()]);
}

fn a_program_stays_who_it_is_in_its_own_view() {
    let place = Place::new();
    let mut order = script("id -u; id -g");
    order.files = vec![file(place.path("new/file"), "x", 0o644)];
    let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
    assert_eq!(said(&place, &order), [user.as_raw().to_string(), group.as_raw().to_string()]);
}

fn a_machine_that_permits_it_is_known() {
    let place = Place::new();
    let permitted = block_on(launcher().permitted(&place.folder));
    let mut order = script("exit 0");
    order.files = vec![file(place.path("new/file"), "x", 0o644)];
    let started = block_on(place.run(&order)).end == End::Code(0);
    assert_eq!(permitted, started);
}

/// Most machines hand mounts on to whoever shares them, which only root can set up here.
fn what_is_mounted_for_a_program_reaches_nobody_else() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let tried = Command::new("unshare")
        .args(["--mount", "sh", "-c"])
        .arg(
            "mount --make-rshared / && before=$(cat /proc/self/mountinfo) \
             && \"$0\" --exact a_mount_is_written_to_for_good_unless_it_is_only_to_be_read \
             && [ \"$before\" = \"$(cat /proc/self/mountinfo)\" ]",
        )
        .arg(std::env::current_exe().unwrap())
        .output()
        .unwrap();
    let said = [tried.stdout, tried.stderr].concat();
    assert!(tried.status.success(), "{}", String::from_utf8_lossy(&said));
}

/// The same tests once more, as somebody who may do nothing; only root can become somebody else.
fn it_works_for_users_without_privileges_too() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let place = Place::new();
    // Where the program was built others may not look. Written by another process: what this one has open for writing
    // a child of another test may have too, and then it cannot be executed.
    let program = place.path("tests");
    let mut copy = Command::new("install");
    assert!(
        copy.arg("-m755").arg(std::env::current_exe().unwrap()).arg(&program).status().unwrap().success()
    );
    let tried = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"])
        .arg(&program)
        .output()
        .unwrap();
    let said = [tried.stdout, tried.stderr].concat();
    assert!(tried.status.success(), "{}", String::from_utf8_lossy(&said));
}
