//! What happens when the platform, or a shim, is killed.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    path::PathBuf,
    process::{Command, ExitCode, Stdio},
};

use futures_util::StreamExt as _;
use orchestra_drivers::process::{self, End, Order, Run, State};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal},
};

use crate::shim::support::{Place, block_on, code, launcher, left, script, tests};

tests![
    a_run_outlives_the_platform_and_is_found_again_with_log_and_exit_code,
    a_shim_does_not_mind_what_happens_to_the_terminal,
    nothing_that_the_platform_has_open_reaches_what_it_runs,
    a_program_dies_with_its_shim_and_the_strays_are_swept,
    a_sweep_leaves_alone_what_is_not_lost,
];

/// The command by which the test program plays a platform that launches and then does nothing.
pub(crate) const LAUNCH: &str = "__launch";

pub(crate) fn launch() -> ExitCode {
    let folder = PathBuf::from(std::env::args_os().nth(2).unwrap());
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line).unwrap();
    let order: Order = serde_json::from_str(&line).unwrap();
    block_on(launcher().launch(&folder, &order)).unwrap();
    println!("launched");
    std::io::stdin().lock().read_to_end(&mut Vec::new()).unwrap();
    ExitCode::SUCCESS
}

/// Launches an order by a platform that is killed when it has.
fn launch_and_crash(mut platform: Command, order: &Order) {
    let mut platform = platform.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = platform.stdin.take().unwrap();
    stdin.write_all(format!("{}\n", serde_json::to_string(order).unwrap()).as_bytes()).unwrap();
    let said = BufReader::new(platform.stdout.take().unwrap()).lines().next().unwrap().unwrap();
    assert_eq!(said, "launched");
    platform.kill().unwrap();
    platform.wait().unwrap();
}

/// A program that says `before`, waits for a word in a file, and says it.
fn waiting(place: &Place) -> (Order, PathBuf) {
    let gate = place.path("gate");
    assert!(Command::new("mkfifo").arg(&gate).status().unwrap().success());
    (script(&format!("echo before; read x < {}; echo after $x; exit 5", gate.display())), gate)
}

fn running(place: &Place) -> Run {
    match place.find() {
        State::Running(run) => run,
        other => panic!("not running: {other:?}"),
    }
}

fn a_run_outlives_the_platform_and_is_found_again_with_log_and_exit_code() {
    let place = Place::new();
    let (order, gate) = waiting(&place);
    let mut platform = Command::new(std::env::current_exe().unwrap());
    platform.arg(LAUNCH).arg(&place.folder);
    launch_and_crash(platform, &order);
    block_on(async {
        place.until("before").await;
        assert_eq!(running(&place).run, order.run);
        std::fs::write(&gate, "the crash\n").unwrap();
        assert_eq!(code(&place.end().await), 5);
    });
    assert_eq!(place.log(), ["before", "after the crash"]);
}

fn a_shim_does_not_mind_what_happens_to_the_terminal() {
    block_on(async {
        let place = Place::new();
        let (order, gate) = waiting(&place);
        place.launch(&order).await;
        place.until("before").await;
        let run = running(&place);
        let shim = Pid::from_raw(run.shim).unwrap();
        assert_eq!(rustix::process::getsid(Some(shim)).unwrap(), shim, "it has a session of its own");
        let held = pidfd_open(shim, PidfdFlags::empty()).unwrap();
        for signal in [Signal::HUP, Signal::INT, Signal::QUIT] {
            pidfd_send_signal(&held, signal).unwrap();
        }
        std::fs::write(&gate, "all\n").unwrap();
        assert_eq!(code(&place.end().await), 5);
    });
}

fn nothing_that_the_platform_has_open_reaches_what_it_runs() {
    let place = Place::new();
    let leak = place.path("leak");
    std::fs::write(&leak, "").unwrap();
    let (order, gate) = waiting(&place);
    let mut platform = Command::new("sh");
    platform
        .args(["-c", "exec 9<\"$3\"; exec \"$0\" \"$1\" \"$2\""])
        .arg(std::env::current_exe().unwrap())
        .args([LAUNCH.as_ref(), place.folder.as_os_str(), leak.as_os_str()]);
    launch_and_crash(platform, &order);
    block_on(async {
        place.until("before").await;
        let run = running(&place);
        for pid in [Some(run.shim), run.program].into_iter().flatten() {
            for open in std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap() {
                let path = open.unwrap().path();
                assert_ne!(std::fs::read_link(&path).ok().as_ref(), Some(&leak), "{}", path.display());
            }
        }
        std::fs::write(&gate, "all\n").unwrap();
        assert_eq!(code(&place.end().await), 5);
    });
}

fn a_program_dies_with_its_shim_and_the_strays_are_swept() {
    block_on(async {
        let place = Place::new();
        let (_, gate) = waiting(&place);
        let wait = format!("echo up; read x < {}", gate.display());
        let order = script(&format!("setsid sh -c '{wait}' & sh -c '{wait}' & {wait}"));
        place.launch(&order).await;
        let mut lines = place.follow();
        for _ in 0..3 {
            assert_eq!(lines.next().await.unwrap().unwrap().text, "up");
        }
        let run = running(&place);
        let program = pidfd_open(Pid::from_raw(run.program.unwrap()).unwrap(), PidfdFlags::empty()).unwrap();
        let shim = pidfd_open(Pid::from_raw(run.shim).unwrap(), PidfdFlags::empty()).unwrap();
        pidfd_send_signal(&shim, Signal::KILL).unwrap();

        let lost = process::ended(&place.folder).await.unwrap();
        assert!(matches!(&lost, State::Lost(lost) if lost.run == order.run), "{lost:?}");
        let mut ends = [PollFd::new(&program, PollFlags::IN)];
        let patience = Timespec { tv_sec: 60, tv_nsec: 0 };
        assert_eq!(poll(&mut ends, Some(&patience)).unwrap(), 1, "the program dies with its shim");
        assert_eq!(left(&order).len(), 2, "its strays do not");
        assert_eq!(process::sweep(&place.folder).await.unwrap(), 2);
        assert_eq!(left(&order), [0; 0]);
        // Nobody follows for ever what nobody writes.
        assert!(lines.next().await.is_none());
    });
}

fn a_sweep_leaves_alone_what_is_not_lost() {
    block_on(async {
        let place = Place::new();
        let order = script("echo ready; exec sleep 1000");
        place.launch(&order).await;
        place.until("ready").await;
        assert_eq!(process::sweep(&place.folder).await.unwrap(), 0);
        assert_eq!(left(&order).len(), 1);
        process::stop(&place.folder).unwrap();
        assert_eq!(place.end().await.end, End::Signal(15));
    });
}
