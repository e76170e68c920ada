//! Stopping.

use std::{
    fs::File,
    io::{BufRead as _, BufReader, Write as _},
    process::{Command, Stdio},
    time::Duration,
};

use futures_util::StreamExt as _;
use orchestra_drivers::process::{self, End, Run, State, Stopped};
use rustix::fs::{FlockOperation, flock};

use crate::shim::support::{Place, block_on, code, left, script, tests};

tests![
    a_program_that_stops_when_asked_ends_with_its_own_code,
    a_stop_asks_the_whole_group,
    a_stop_lets_those_that_the_program_started_end_in_time,
    a_stop_ends_all_that_do_not_want_to_also_outside_the_group,
    a_stop_of_what_does_not_run_says_so,
    a_process_that_got_the_number_of_a_shim_is_never_signalled,
];

fn a_program_that_stops_when_asked_ends_with_its_own_code() {
    block_on(async {
        let place = Place::new();
        place.launch(&script("trap 'echo bye; exit 3' TERM; echo ready; sleep 1000 & wait")).await;
        place.until("ready").await;
        assert_eq!(process::stop(&place.folder).unwrap(), Stopped::Asked);
        let exit = place.end().await;
        assert_eq!((exit.end, exit.stopped), (End::Code(3), true));
        assert_eq!(place.log(), ["ready", "bye"]);
    });
}

fn a_stop_asks_the_whole_group() {
    block_on(async {
        let place = Place::new();
        // The program itself goes only when the other has.
        let other = "exec 2>/dev/null; trap \"echo saved; exit\" TERM; echo up; while :; do sleep 0.02; done";
        place
            .launch(&script(&format!(
                "trap : TERM; sh -c '{other}' & while kill -0 $! 2>/dev/null; do wait $!; done; exit 4"
            )))
            .await;
        place.until("up").await;
        process::stop(&place.folder).unwrap();
        assert_eq!(code(&place.end().await), 4);
        assert_eq!(place.log(), ["up", "saved"]);
    });
}

fn a_stop_lets_those_that_the_program_started_end_in_time() {
    block_on(async {
        let place = Place::new();
        // The program goes at once; one in its group and one with a session of its own have something to save.
        let saver = "exec 2>/dev/null; trap \"echo saved; exit\" TERM; echo up; while :; do sleep 0.02; done";
        let order = script(&format!("sh -c '{saver}' & setsid sh -c '{saver}' & exec sleep 1000"));
        place.launch(&order).await;
        let mut lines = place.follow();
        for _ in 0..2 {
            assert_eq!(lines.next().await.unwrap().unwrap().text, "up");
        }
        process::stop(&place.folder).unwrap();
        assert_eq!(place.end().await.end, End::Signal(15));
        assert_eq!(place.log(), ["up", "up", "saved", "saved"]);
        assert_eq!(left(&order), [0; 0]);
    });
}

fn a_stop_ends_all_that_do_not_want_to_also_outside_the_group() {
    block_on(async {
        let place = Place::new();
        let stubborn = "trap \"\" TERM; echo up; while :; do sleep 1; done";
        let mut order = script(&format!(
            "trap '' TERM; sh -c '{stubborn}' & setsid sh -c '{stubborn}' & (setsid sh -c '{stubborn}' &); wait"
        ));
        order.grace = Duration::from_millis(100);
        place.launch(&order).await;
        let mut lines = place.follow();
        for _ in 0..3 {
            assert_eq!(lines.next().await.unwrap().unwrap().text, "up");
        }
        assert!(left(&order).len() >= 4);
        process::stop(&place.folder).unwrap();
        let exit = place.end().await;
        assert_eq!((exit.end, exit.stopped), (End::Signal(9), true));
        assert_eq!(left(&order), [0; 0]);
    });
}

fn a_stop_of_what_does_not_run_says_so() {
    let place = Place::new();
    assert_eq!(process::stop(&place.folder).unwrap(), Stopped::NotRunning);
    assert_eq!(code(&block_on(place.run(&script("exit 0")))), 0);
    assert_eq!(process::stop(&place.folder).unwrap(), Stopped::NotRunning);
}

/// Whether a stop hits a process that is noted as the shim, when it has the number of the shim and the rest is so.
fn hit(same_start: bool, same_boot: bool, locked: bool) -> bool {
    let place = Place::new();
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
    std::fs::write(place.folder.join("run.json"), serde_json::to_vec(&run).unwrap()).unwrap();
    let lock = File::create(place.folder.join("lock")).unwrap();
    if locked {
        flock(&lock, FlockOperation::NonBlockingLockExclusive).unwrap();
    }

    let stopped = process::stop(&place.folder).unwrap();
    let found = place.find();
    // One that was hit has stopped waiting.
    bystander.stdin.take().unwrap().write_all(b"go\n").ok();
    let said: Vec<_> = lines.map(Result::unwrap).collect();
    bystander.wait().unwrap();
    assert_eq!(said.last().map(String::as_str), Some("done"));
    let hit = said.contains(&"hit".to_owned());
    assert_eq!(hit, stopped == Stopped::Asked, "{said:?}");
    assert_eq!(hit, found == State::Running(run.clone()));
    assert_eq!(!locked, found == State::Lost(run));
    hit
}

fn a_process_that_got_the_number_of_a_shim_is_never_signalled() {
    assert!(!hit(false, true, true));
    assert!(!hit(true, false, true));
    assert!(!hit(true, true, false));
    // And if it is the one: so the checks above say something.
    assert!(hit(true, true, true));
}
