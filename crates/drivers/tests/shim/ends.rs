//! How runs begin and end.

use std::{
    fs,
    io::Write as _,
    process::{Command, Stdio},
};

use orchestra_drivers::process::{End, LaunchError, MARKER, NotStarted, State, shim};

use crate::shim::support::{Place, block_on, code, contents, launcher, left, order, script, tests};

tests![
    the_exit_code_of_a_program_is_recorded,
    the_signal_that_ended_a_program_is_recorded,
    a_program_that_cannot_start_is_told_in_a_sentence,
    a_program_gets_exactly_its_environment_and_directory_and_no_input,
    what_a_program_leaves_behind_is_ended_with_it,
    a_folder_takes_one_run_and_no_other,
    half_an_order_starts_nothing,
    no_secret_is_on_disk_or_in_what_others_see,
    a_shim_is_small,
];

fn the_exit_code_of_a_program_is_recorded() {
    let place = Place::new();
    let order = script("exit 7");
    let exit = block_on(place.run(&order));
    assert_eq!((exit.run, exit.end, exit.stopped), (order.run, End::Code(7), false));
}

fn the_signal_that_ended_a_program_is_recorded() {
    let exit = block_on(Place::new().run(&script("kill -9 $$")));
    assert_eq!((exit.end, exit.stopped), (End::Signal(9), false));
}

fn a_program_that_cannot_start_is_told_in_a_sentence() {
    let place = Place::new();
    // Written by another process: what this one has open for writing a child of another test may have too, and then it
    // cannot be executed.
    let file = |name: &str, interpreter: &str, mode: &str| {
        let path = place.path(name).to_str().unwrap().to_owned();
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
        assert_eq!(block_on(Place::new().run(&order(program, &[]))).end, End::NotStarted(why));
    }
    let mut nowhere = script("exit 0");
    nowhere.directory = "/no/such/folder".into();
    let why = NotStarted::NoDirectory { directory: nowhere.directory.clone() };
    assert_eq!(block_on(Place::new().run(&nowhere)).end, End::NotStarted(why));
}

fn a_program_gets_exactly_its_environment_and_directory_and_no_input() {
    let place = Place::new();
    let mut order = order("/bin/sh", &["-c", "env | sort | grep -v '^_='; pwd; cat; echo end"]);
    order.environment.insert("GREETING".to_owned(), "hello world".to_owned());
    order.directory.clone_from(&place.folder);
    assert_eq!(code(&block_on(place.run(&order))), 0);
    let here = place.folder.to_str().unwrap();
    let mut expected = vec![
        "GREETING=hello world".to_owned(),
        format!("{MARKER}={}", order.run),
        "PATH=/usr/bin:/bin".to_owned(),
        format!("PWD={here}"),
    ];
    expected.sort();
    expected.extend([here.to_owned(), "end".to_owned()]);
    assert_eq!(place.log(), expected);
}

fn what_a_program_leaves_behind_is_ended_with_it() {
    let place = Place::new();
    let order = script(
        "sleep 1000 & setsid sleep 1000 & (setsid sh -c 'trap \"\" TERM; exec sleep 1000' &) ; exit 3",
    );
    assert_eq!(code(&block_on(place.run(&order))), 3);
    assert_eq!(left(&order), [0; 0]);
}

fn a_folder_takes_one_run_and_no_other() {
    block_on(async {
        let place = Place::new();
        assert_eq!(place.find(), State::Absent);
        place.launch(&script("echo ready; exec sleep 1000")).await;
        let second = script("echo second");
        let refused = launcher().launch(&place.folder, &second).await;
        assert!(matches!(refused, Err(LaunchError::Held(_))), "{refused:?}");
        place.until("ready").await;
        orchestra_drivers::process::stop(&place.folder).unwrap();
        place.end().await;
        let refused = launcher().launch(&place.folder, &second).await;
        assert!(matches!(refused, Err(LaunchError::Used(_))), "{refused:?}");
        assert_eq!(place.log(), ["ready"]);
    });
}

fn half_an_order_starts_nothing() {
    let place = Place::new();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .arg("__shim")
        .arg(&place.folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let text = serde_json::to_vec(&script("echo first")).unwrap();
    child.stdin.take().unwrap().write_all(&text[..text.len() - 1]).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(i32::from(shim::FAILED)));
    assert_eq!(place.find(), State::Absent);
    // The folder can still be used.
    block_on(place.run(&script("echo second")));
    assert_eq!(place.log(), ["second"]);
}

fn no_secret_is_on_disk_or_in_what_others_see() {
    const SECRET: &str = "correct-horse-battery-staple";
    block_on(async {
        let place = Place::new();
        let target = place.path("secrets/password");
        let mut order = script("cmp -s \"$FILE\" - <<END && echo same\n$PASSWORD\nEND\nexec sleep 1000");
        order.environment.insert("PASSWORD".to_owned(), SECRET.to_owned());
        order.environment.insert("FILE".to_owned(), target.to_str().unwrap().to_owned());
        order.files.push(orchestra_drivers::process::PlacedFile {
            target,
            content: format!("{SECRET}\n").into_bytes(),
            mode: 0o400,
        });
        place.launch(&order).await;
        place.until("same").await;
        let State::Running(run) = place.find() else { panic!("{:?}", place.find()) };
        let mut seen = contents(place.folder.parent().unwrap());
        for pid in [Some(run.shim), run.program].into_iter().flatten() {
            seen.extend(fs::read(format!("/proc/{pid}/cmdline")).unwrap());
        }
        seen.extend(fs::read(format!("/proc/{}/environ", run.shim)).unwrap());
        assert!(!String::from_utf8_lossy(&seen).contains(SECRET));
        orchestra_drivers::process::stop(&place.folder).unwrap();
        place.end().await;
        assert!(!String::from_utf8_lossy(&contents(place.folder.parent().unwrap())).contains(SECRET));
    });
}

fn a_shim_is_small() {
    block_on(async {
        let place = Place::new();
        place.launch(&script("echo ready; exec sleep 1000")).await;
        place.until("ready").await;
        let State::Running(run) = place.find() else { panic!("{:?}", place.find()) };
        let status = fs::read_to_string(format!("/proc/{}/status", run.shim)).unwrap();
        let anonymous = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
        let kib: u64 = anonymous.trim().trim_end_matches(" kB").parse().unwrap();
        orchestra_drivers::process::stop(&place.folder).unwrap();
        place.end().await;
        assert!(kib <= 2048, "{kib} KiB");
    });
}
