//! Stops: signals, grace period, child processes.

use std::{
    fs::File,
    io::{BufRead as _, BufReader, Write as _},
    process::{Command, Stdio},
    time::Duration,
};

use futures_util::StreamExt as _;
use orchestra_drivers::process::{self, End, Run, State, Stopped};
use rustix::fs::{FlockOperation, flock};

use crate::shim::support::{RunDir, block_on, code, remaining, script, tests};

tests![
    a_program_that_handles_the_signal_exits_with_its_own_code,
    a_stop_signals_the_whole_process_group,
    a_stop_gives_child_processes_the_grace_period_too,
    a_stop_kills_processes_that_ignore_the_signal_even_outside_the_group,
    a_stop_of_a_run_that_is_not_running_is_reported,
    a_process_with_the_recycled_pid_of_a_shim_is_never_signalled,
];

fn a_program_that_handles_the_signal_exits_with_its_own_code() {
    block_on(async {
        let dir = RunDir::new();
        dir.launch(&script("trap 'echo bye; exit 3' TERM; echo ready; sleep 1000 & wait")).await;
        dir.until("ready").await;
        assert_eq!(process::stop(&dir.folder).unwrap(), Stopped::Signalled);
        let exit = dir.exit().await;
        assert_eq!((exit.end, exit.stopped), (End::Code(3), true));
        assert_eq!(dir.log(), ["ready", "bye"]);
    });
}

fn a_stop_signals_the_whole_process_group() {
    block_on(async {
        let dir = RunDir::new();
        // The program exits only after its child.
        let child = "exec 2>/dev/null; trap \"echo saved; exit\" TERM; echo up; while :; do sleep 0.02; done";
        dir.launch(&script(&format!(
            "trap : TERM; sh -c '{child}' & while kill -0 $! 2>/dev/null; do wait $!; done; exit 4"
        )))
        .await;
        dir.until("up").await;
        process::stop(&dir.folder).unwrap();
        assert_eq!(code(&dir.exit().await), 4);
        assert_eq!(dir.log(), ["up", "saved"]);
    });
}

fn a_stop_gives_child_processes_the_grace_period_too() {
    block_on(async {
        let dir = RunDir::new();
        // The program exits at once; a child in its group and one in its own session save something first.
        let saver = "exec 2>/dev/null; trap \"echo saved; exit\" TERM; echo up; while :; do sleep 0.02; done";
        let spec = script(&format!("sh -c '{saver}' & setsid sh -c '{saver}' & exec sleep 1000"));
        dir.launch(&spec).await;
        let mut lines = dir.follow();
        for _ in 0..2 {
            assert_eq!(lines.next().await.unwrap().unwrap().text, "up");
        }
        process::stop(&dir.folder).unwrap();
        assert_eq!(dir.exit().await.end, End::Signal(15));
        assert_eq!(dir.log(), ["up", "up", "saved", "saved"]);
        assert_eq!(remaining(&spec), [0; 0]);
    });
}

fn a_stop_kills_processes_that_ignore_the_signal_even_outside_the_group() {
    block_on(async {
        let dir = RunDir::new();
        let stubborn = "trap \"\" TERM; echo up; while :; do sleep 1; done";
        let mut spec = script(&format!(
            "trap '' TERM; sh -c '{stubborn}' & setsid sh -c '{stubborn}' & (setsid sh -c '{stubborn}' &); wait"
        ));
        spec.grace = Duration::from_millis(100);
        dir.launch(&spec).await;
        let mut lines = dir.follow();
        for _ in 0..3 {
            assert_eq!(lines.next().await.unwrap().unwrap().text, "up");
        }
        assert!(remaining(&spec).len() >= 4);
        process::stop(&dir.folder).unwrap();
        let exit = dir.exit().await;
        assert_eq!((exit.end, exit.stopped), (End::Signal(9), true));
        assert_eq!(remaining(&spec), [0; 0]);
    });
}

fn a_stop_of_a_run_that_is_not_running_is_reported() {
    let dir = RunDir::new();
    assert_eq!(process::stop(&dir.folder).unwrap(), Stopped::NotRunning);
    assert_eq!(code(&block_on(dir.run(&script("exit 0")))), 0);
    assert_eq!(process::stop(&dir.folder).unwrap(), Stopped::NotRunning);
}

/// True if a stop signals a process that is recorded as the shim and has its pid, with these properties.
fn is_signalled(same_start: bool, same_boot: bool, locked: bool) -> bool {
    let dir = RunDir::new();
    let mut bystander = Command::new("sh")
        .args(["-c", "trap 'echo hit' TERM; echo ready; read x; echo done"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(bystander.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "ready");

    let pid = bystander.id();
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let started: u64 =
        stat.rsplit(')').next().unwrap().split_ascii_whitespace().nth(19).unwrap().parse().unwrap();
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let run = Run {
        run: "other".to_owned(),
        shim: i32::try_from(pid).unwrap(),
        shim_started: if same_start { started } else { started - 1 },
        boot: if same_boot { boot.trim().to_owned() } else { "another".to_owned() },
        at: "2026-03-01T10:00:00Z".parse().unwrap(),
        program: None,
    };
    std::fs::write(dir.folder.join("run.json"), serde_json::to_vec(&run).unwrap()).unwrap();
    let lock = File::create(dir.folder.join("lock")).unwrap();
    if locked {
        flock(&lock, FlockOperation::NonBlockingLockExclusive).unwrap();
    }

    let stopped = process::stop(&dir.folder).unwrap();
    let found = dir.find();
    // A signalled process no longer reads.
    bystander.stdin.take().unwrap().write_all(b"go\n").ok();
    let output: Vec<_> = lines.map(Result::unwrap).collect();
    bystander.wait().unwrap();
    assert_eq!(output.last().map(String::as_str), Some("done"));
    let hit = output.contains(&"hit".to_owned());
    assert_eq!(hit, stopped == Stopped::Signalled, "{output:?}");
    assert_eq!(hit, found == State::Running(run.clone()));
    assert_eq!(!locked, found == State::Lost(run));
    hit
}

fn a_process_with_the_recycled_pid_of_a_shim_is_never_signalled() {
    assert!(!is_signalled(false, true, true));
    assert!(!is_signalled(true, false, true));
    assert!(!is_signalled(true, true, false));
    // The shim itself is signalled, so the assertions above can fail.
    assert!(is_signalled(true, true, true));
}
