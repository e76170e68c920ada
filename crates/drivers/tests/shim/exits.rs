//! Start and exit status of runs.

use std::{
    fs,
    io::Write as _,
    os::unix::fs::symlink,
    process::{Command, Stdio},
};

use orchestra_drivers::process::{End, LaunchError, MARKER, NotStarted, State, shim};

use crate::shim::support::{RunDir, block_on, code, contents, launcher, remaining, script, spec, tests};

tests![
    the_exit_code_of_a_program_is_recorded,
    the_signal_that_ended_a_program_is_recorded,
    a_program_that_cannot_start_is_reported_in_a_sentence,
    a_program_gets_exactly_its_environment_and_directory_and_no_input,
    child_processes_of_a_program_are_killed_when_it_exits,
    a_folder_accepts_one_run,
    an_incomplete_launch_spec_starts_nothing,
    secrets_are_neither_on_disk_nor_visible_to_other_users,
    a_shim_uses_little_memory,
];

fn the_exit_code_of_a_program_is_recorded() {
    let dir = RunDir::new();
    let spec = script("exit 7");
    let exit = block_on(dir.run(&spec));
    assert_eq!((exit.run, exit.end, exit.stopped), (spec.run, End::Code(7), false));
}

fn the_signal_that_ended_a_program_is_recorded() {
    let exit = block_on(RunDir::new().run(&script("kill -9 $$")));
    assert_eq!((exit.end, exit.stopped), (End::Signal(9), false));
}

fn a_program_that_cannot_start_is_reported_in_a_sentence() {
    let dir = RunDir::new();
    // Written by another process: a child of a concurrent test may inherit a file that this process has open for writing,
    // which then cannot be executed (ETXTBSY).
    let file = |name: &str, interpreter: &str, mode: &str| {
        let path = dir.path(name).to_str().unwrap().to_owned();
        let write = format!("echo '#!{interpreter}' > '{path}'; chmod {mode} '{path}'");
        assert!(Command::new("sh").args(["-c", &write]).status().unwrap().success());
        path
    };
    let plain = file("plain", "/bin/sh", "644");
    let orphan = file("orphan", "/no/such/interpreter", "755");
    let nothing = "no-such-program".to_owned();
    for (program, why) in [
        (&nothing, NotStarted::NotFound { program: nothing.clone() }),
        (&plain, NotStarted::NotExecutable { program: plain.clone() }),
        (&orphan, NotStarted::NotAProgram { program: orphan.clone() }),
    ] {
        let sentence = why.to_string();
        assert!(sentence.contains(program) && sentence.ends_with('.'), "{sentence}");
        assert_eq!(block_on(RunDir::new().run(&spec(program, &[]))).end, End::NotStarted(why));
    }
    let mut nowhere = script("exit 0");
    nowhere.directory = "/no/such/folder".into();
    let why = NotStarted::NoDirectory { directory: nowhere.directory.clone() };
    assert_eq!(block_on(RunDir::new().run(&nowhere)).end, End::NotStarted(why));
    nowhere.directory = dir.path("loop");
    symlink(&nowhere.directory, &nowhere.directory).unwrap();
    match block_on(RunDir::new().run(&nowhere)).end {
        End::NotStarted(NotStarted::Refused { why }) => assert!(why.contains("symbolic link"), "{why}"),
        other => panic!("{other:?}"),
    }
}

fn a_program_gets_exactly_its_environment_and_directory_and_no_input() {
    let dir = RunDir::new();
    let mut spec = spec("/bin/sh", &["-c", "env | sort | grep -v '^_='; pwd; cat; echo end"]);
    spec.environment.insert("GREETING".to_owned(), "hello world".to_owned());
    spec.directory.clone_from(&dir.folder);
    assert_eq!(code(&block_on(dir.run(&spec))), 0);
    let here = dir.folder.to_str().unwrap();
    let mut expected = vec![
        "GREETING=hello world".to_owned(),
        format!("{MARKER}={}", spec.run),
        "PATH=/usr/bin:/bin".to_owned(),
        format!("PWD={here}"),
    ];
    expected.sort();
    expected.extend([here.to_owned(), "end".to_owned()]);
    assert_eq!(dir.log(), expected);
}

fn child_processes_of_a_program_are_killed_when_it_exits() {
    let dir = RunDir::new();
    let spec = script(
        "sleep 1000 & setsid sleep 1000 & (setsid sh -c 'trap \"\" TERM; exec sleep 1000' &) ; exit 3",
    );
    assert_eq!(code(&block_on(dir.run(&spec))), 3);
    assert_eq!(remaining(&spec), [0; 0]);
}

fn a_folder_accepts_one_run() {
    block_on(async {
        let dir = RunDir::new();
        assert_eq!(dir.find(), State::Absent);
        dir.launch(&script("echo ready; exec sleep 1000")).await;
        let second = script("echo second");
        let refused = launcher().launch(&dir.folder, &second).await;
        assert!(matches!(refused, Err(LaunchError::Busy(_))), "{refused:?}");
        dir.until("ready").await;
        orchestra_drivers::process::stop(&dir.folder).unwrap();
        dir.exit().await;
        let refused = launcher().launch(&dir.folder, &second).await;
        assert!(matches!(refused, Err(LaunchError::Used(_))), "{refused:?}");
        assert_eq!(dir.log(), ["ready"]);
    });
}

fn an_incomplete_launch_spec_starts_nothing() {
    let dir = RunDir::new();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .arg("__shim")
        .arg(&dir.folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let text = serde_json::to_vec(&script("echo first")).unwrap();
    child.stdin.take().unwrap().write_all(&text[..text.len() - 1]).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(i32::from(shim::FAILED)));
    assert_eq!(dir.find(), State::Absent);
    // The folder is still usable.
    block_on(dir.run(&script("echo second")));
    assert_eq!(dir.log(), ["second"]);
}

fn secrets_are_neither_on_disk_nor_visible_to_other_users() {
    const SECRET: &str = "correct-horse-battery-staple";
    block_on(async {
        let dir = RunDir::new();
        let target = dir.path("secrets/password");
        let mut spec = script("cmp -s \"$FILE\" - <<END && echo same\n$PASSWORD\nEND\nexec sleep 1000");
        spec.environment.insert("PASSWORD".to_owned(), SECRET.to_owned());
        spec.environment.insert("FILE".to_owned(), target.to_str().unwrap().to_owned());
        spec.files.push(orchestra_drivers::process::PlacedFile {
            target,
            content: format!("{SECRET}\n").into_bytes(),
            mode: 0o400,
        });
        dir.launch(&spec).await;
        dir.until("same").await;
        let State::Running(run) = dir.find() else { panic!("{:?}", dir.find()) };
        let mut seen = contents(dir.folder.parent().unwrap());
        for pid in [Some(run.shim), run.program].into_iter().flatten() {
            seen.extend(fs::read(format!("/proc/{pid}/cmdline")).unwrap());
        }
        seen.extend(fs::read(format!("/proc/{}/environ", run.shim)).unwrap());
        assert!(!String::from_utf8_lossy(&seen).contains(SECRET));
        orchestra_drivers::process::stop(&dir.folder).unwrap();
        dir.exit().await;
        assert!(!String::from_utf8_lossy(&contents(dir.folder.parent().unwrap())).contains(SECRET));
    });
}

fn a_shim_uses_little_memory() {
    block_on(async {
        let dir = RunDir::new();
        dir.launch(&script("echo ready; exec sleep 1000")).await;
        dir.until("ready").await;
        let State::Running(run) = dir.find() else { panic!("{:?}", dir.find()) };
        let status = fs::read_to_string(format!("/proc/{}/status", run.shim)).unwrap();
        let anonymous = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
        let kib: u64 = anonymous.trim().trim_end_matches(" kB").parse().unwrap();
        orchestra_drivers::process::stop(&dir.folder).unwrap();
        dir.exit().await;
        assert!(kib <= 2048, "{kib} KiB");
    });
}
