//! Kills of the platform and of a shim: adoption and reaping of runs.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    path::PathBuf,
    process::{Command, ExitCode, Stdio},
};

use futures_util::StreamExt as _;
use orchestra_drivers::process::{self, End, LaunchSpec, Run, State};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal},
};

use crate::shim::support::{RunDir, block_on, code, launcher, remaining, script, tests};

tests![
    a_run_outlives_the_platform_and_is_adopted_with_log_and_exit_code,
    a_shim_ignores_the_signals_of_the_terminal,
    open_files_of_the_platform_are_not_inherited,
    a_program_dies_with_its_shim_and_its_stray_processes_are_reaped,
    a_reap_leaves_running_programs_alone,
];

/// Hidden command: a platform that launches a program and then waits.
pub(crate) const LAUNCH: &str = "__launch";

pub(crate) fn launch() -> ExitCode {
    let folder = PathBuf::from(std::env::args_os().nth(2).unwrap());
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line).unwrap();
    let spec: LaunchSpec = serde_json::from_str(&line).unwrap();
    block_on(launcher().launch(&folder, &spec)).unwrap();
    println!("launched");
    std::io::stdin().lock().read_to_end(&mut Vec::new()).unwrap();
    ExitCode::SUCCESS
}

/// Launches a program from a platform process, and kills the platform.
fn launch_and_crash(mut platform: Command, spec: &LaunchSpec) {
    let mut platform = platform.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = platform.stdin.take().unwrap();
    stdin.write_all(format!("{}\n", serde_json::to_string(spec).unwrap()).as_bytes()).unwrap();
    let line = BufReader::new(platform.stdout.take().unwrap()).lines().next().unwrap().unwrap();
    assert_eq!(line, "launched");
    platform.kill().unwrap();
    platform.wait().unwrap();
}

/// Program that prints `before`, waits for a line from a FIFO, and prints it; and the FIFO.
fn waiting_program(dir: &RunDir) -> (LaunchSpec, PathBuf) {
    let gate = dir.path("gate");
    assert!(Command::new("mkfifo").arg(&gate).status().unwrap().success());
    (script(&format!("echo before; read x < {}; echo after $x; exit 5", gate.display())), gate)
}

fn running(dir: &RunDir) -> Run {
    match dir.find() {
        State::Running(run) => run,
        other => panic!("not running: {other:?}"),
    }
}

fn a_run_outlives_the_platform_and_is_adopted_with_log_and_exit_code() {
    let dir = RunDir::new();
    let (spec, gate) = waiting_program(&dir);
    let mut platform = Command::new(std::env::current_exe().unwrap());
    platform.arg(LAUNCH).arg(&dir.folder);
    launch_and_crash(platform, &spec);
    block_on(async {
        dir.until("before").await;
        assert_eq!(running(&dir).run, spec.run);
        std::fs::write(&gate, "the crash\n").unwrap();
        assert_eq!(code(&dir.exit().await), 5);
    });
    assert_eq!(dir.log(), ["before", "after the crash"]);
}

fn a_shim_ignores_the_signals_of_the_terminal() {
    block_on(async {
        let dir = RunDir::new();
        let (spec, gate) = waiting_program(&dir);
        dir.launch(&spec).await;
        dir.until("before").await;
        let run = running(&dir);
        let shim = Pid::from_raw(run.shim).unwrap();
        assert_eq!(rustix::process::getsid(Some(shim)).unwrap(), shim, "it leads its own session");
        let handle = pidfd_open(shim, PidfdFlags::empty()).unwrap();
        for signal in [Signal::HUP, Signal::INT, Signal::QUIT] {
            pidfd_send_signal(&handle, signal).unwrap();
        }
        std::fs::write(&gate, "all\n").unwrap();
        assert_eq!(code(&dir.exit().await), 5);
    });
}

fn open_files_of_the_platform_are_not_inherited() {
    let dir = RunDir::new();
    let leak = dir.path("leak");
    std::fs::write(&leak, "").unwrap();
    let (spec, gate) = waiting_program(&dir);
    let mut platform = Command::new("sh");
    platform
        .args(["-c", "exec 9<\"$3\"; exec \"$0\" \"$1\" \"$2\""])
        .arg(std::env::current_exe().unwrap())
        .args([LAUNCH.as_ref(), dir.folder.as_os_str(), leak.as_os_str()]);
    launch_and_crash(platform, &spec);
    block_on(async {
        dir.until("before").await;
        let run = running(&dir);
        for pid in [Some(run.shim), run.program].into_iter().flatten() {
            for open in std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap() {
                let path = open.unwrap().path();
                assert_ne!(std::fs::read_link(&path).ok().as_ref(), Some(&leak), "{}", path.display());
            }
        }
        std::fs::write(&gate, "all\n").unwrap();
        assert_eq!(code(&dir.exit().await), 5);
    });
}

fn a_program_dies_with_its_shim_and_its_stray_processes_are_reaped() {
    block_on(async {
        let dir = RunDir::new();
        let (_, gate) = waiting_program(&dir);
        let wait = format!("echo up; read x < {}", gate.display());
        let spec = script(&format!("setsid sh -c '{wait}' & sh -c '{wait}' & {wait}"));
        dir.launch(&spec).await;
        let mut lines = dir.follow();
        for _ in 0..3 {
            assert_eq!(lines.next().await.unwrap().unwrap().text, "up");
        }
        let run = running(&dir);
        let program = pidfd_open(Pid::from_raw(run.program.unwrap()).unwrap(), PidfdFlags::empty()).unwrap();
        let shim = pidfd_open(Pid::from_raw(run.shim).unwrap(), PidfdFlags::empty()).unwrap();
        pidfd_send_signal(&shim, Signal::KILL).unwrap();

        let lost = process::wait(&dir.folder).await.unwrap();
        assert!(matches!(&lost, State::Lost(lost) if lost.run == spec.run), "{lost:?}");
        let mut ends = [PollFd::new(&program, PollFlags::IN)];
        let timeout = Timespec { tv_sec: 60, tv_nsec: 0 };
        assert_eq!(poll(&mut ends, Some(&timeout)).unwrap(), 1, "the program dies with its shim");
        assert_eq!(remaining(&spec).len(), 2, "its stray processes do not");
        assert_eq!(process::reap(&dir.folder).await.unwrap(), 2);
        assert_eq!(remaining(&spec), [0; 0]);
        // The stream of the log ends with the run.
        assert!(lines.next().await.is_none());
    });
}

fn a_reap_leaves_running_programs_alone() {
    block_on(async {
        let dir = RunDir::new();
        let spec = script("echo ready; exec sleep 1000");
        dir.launch(&spec).await;
        dir.until("ready").await;
        assert_eq!(process::reap(&dir.folder).await.unwrap(), 0);
        assert_eq!(remaining(&spec).len(), 1);
        process::stop(&dir.folder).unwrap();
        assert_eq!(dir.exit().await.end, End::Signal(15));
    });
}
