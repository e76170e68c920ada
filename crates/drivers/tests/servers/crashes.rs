//! Kills of a server, its shim or the platform.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _},
    path::PathBuf,
    process::{Child, Command, ExitCode, Stdio},
};

use orchestra_drivers::process::{
    Launcher,
    servers::{ServerStatus, Servers},
};

use crate::servers::support::{DataFolder, Instance, block_on, tests};

tests![
    a_killed_server_is_restarted_with_its_data,
    a_server_whose_shim_is_killed_is_restarted_with_its_data,
    a_restarted_platform_adopts_the_server,
    a_server_outlives_a_killed_platform,
    a_provision_interrupted_by_a_kill_is_completed_by_the_next_platform,
    a_server_that_died_with_the_platform_restarts_although_its_pid_is_reused,
];

/// Hidden command: a platform that provisions a database and then waits.
pub(crate) const PLATFORM: &str = "__platform";

pub(crate) fn platform() -> ExitCode {
    let data = PathBuf::from(std::env::args_os().nth(2).unwrap());
    block_on(async {
        let servers = Servers::open(&data, Launcher { program: std::env::current_exe().unwrap() });
        let a = Instance::postgres("a");
        println!("{:?}", a.ensure(&servers).await);
        a.until(&servers, |status| matches!(status, ServerStatus::Up { .. })).await;
        println!("up");
        std::io::stdin().lock().read_to_end(&mut Vec::new()).unwrap();
    });
    ExitCode::SUCCESS
}

/// Platform in a process of its own, and its output.
fn start_platform(data: &DataFolder) -> (Child, impl Iterator<Item = String> + use<>) {
    let mut platform = Command::new(std::env::current_exe().unwrap())
        .arg(PLATFORM)
        .arg(data.data())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(platform.stdout.take().unwrap()).lines().map_while(Result::ok);
    (platform, lines)
}

fn kill(pid: i32) {
    assert!(Command::new("kill").args(["-KILL", &pid.to_string()]).status().unwrap().success());
}

async fn is_restarted_after_a_kill(victim: fn(&DataFolder) -> i32) {
    let data = DataFolder::new();
    let (servers, a) = (data.servers(), Instance::postgres("a"));
    let port = a.until_up(&servers).await;
    a.query(port, "CREATE TABLE t AS SELECT 7 AS x");
    kill(victim(&data));
    a.until(&servers, |status| matches!(status, ServerStatus::Down(_))).await;
    assert_eq!(a.until_up(&servers).await, port);
    assert_eq!(a.query(port, "SELECT x FROM t"), "7");
    assert_eq!((data.running().len(), data.runs().len()), (1, 2));
    drop(servers);
    // Its drop blocks on the programs it started, which is not allowed inside a runtime.
    std::thread::spawn(move || drop(data)).join().unwrap();
}

fn a_killed_server_is_restarted_with_its_data() {
    block_on(is_restarted_after_a_kill(|data| data.running()[0].program.unwrap()));
}

fn a_server_whose_shim_is_killed_is_restarted_with_its_data() {
    block_on(is_restarted_after_a_kill(|data| data.running()[0].shim));
}

fn a_restarted_platform_adopts_the_server() {
    let data = DataFolder::new();
    block_on(async {
        let a = Instance::postgres("a");
        let servers = data.servers();
        let port = a.until_up(&servers).await;
        a.query(port, "CREATE TABLE t AS SELECT 7 AS x");
        let before = data.running();
        drop(servers);
        let servers = data.servers();
        assert_eq!(a.ensure(&servers).await, ServerStatus::Up { port }, "at once, since it runs");
        assert_eq!(data.running(), before);
        assert_eq!(a.query(port, "SELECT x FROM t"), "7");
    });
}

fn a_server_outlives_a_killed_platform() {
    let data = DataFolder::new();
    let (mut platform, mut output) = start_platform(&data);
    assert!(output.any(|line| line == "up"));
    platform.kill().unwrap();
    platform.wait().unwrap();
    let before = data.running();
    assert_eq!(before.len(), 1);
    block_on(async {
        let (servers, a) = (data.servers(), Instance::postgres("a"));
        let port = a.until_up(&servers).await;
        a.query(port, "SELECT 1");
        assert_eq!(data.running(), before);
        // The database registry survived: this is the only user, so the server stops.
        a.release(&servers, "postgres", false).await;
        assert_eq!(data.running().len(), 0);
    });
}

fn a_provision_interrupted_by_a_kill_is_completed_by_the_next_platform() {
    let data = DataFolder::new();
    let (mut platform, mut output) = start_platform(&data);
    let first = output.next().unwrap();
    assert!(first.starts_with("Starting"), "{first}");
    platform.kill().unwrap();
    platform.wait().unwrap();
    block_on(async {
        let (servers, a) = (data.servers(), Instance::postgres("a"));
        let port = a.until_up(&servers).await;
        a.query(port, "SELECT 1");
        assert_eq!(data.running().len(), 1);
    });
}

fn a_server_that_died_with_the_platform_restarts_although_its_pid_is_reused() {
    let data = DataFolder::new();
    block_on(async {
        let a = Instance::postgres("a");
        let servers = data.servers();
        a.until_up(&servers).await;
        drop(servers);
        let run = data.runs().remove(0);
        kill(data.running()[0].program.unwrap());
        orchestra_drivers::process::wait(&run).await.unwrap();
        let cluster = fs::read_dir(data.data().join("postgres")).unwrap().next().unwrap().unwrap().path();
        let lock = cluster.join("data/postmaster.pid");
        let text = fs::read_to_string(&lock).unwrap();
        let (_, rest) = text.split_once('\n').unwrap();
        fs::write(&lock, format!("{}\n{rest}", std::process::id())).unwrap();
        let servers = data.servers();
        let port = a.until_up(&servers).await;
        a.query(port, "SELECT 1");
        assert_eq!(data.runs().len(), 2, "at the first attempt");
    });
}
