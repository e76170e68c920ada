//! What happens when a server, its supervisor or the platform is killed.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _},
    path::PathBuf,
    process::{Child, Command, ExitCode, Stdio},
};

use orchestra_drivers::process::{
    Launcher,
    servers::{Servers, Standing},
};

use crate::servers::support::{Instance, Place, block_on, tests};

tests![
    a_server_that_is_killed_comes_back_with_its_data,
    a_server_whose_supervisor_is_killed_comes_back_with_its_data,
    the_next_platform_finds_the_server_and_starts_no_second,
    a_server_outlives_a_platform_that_is_killed,
    a_platform_that_was_killed_while_it_made_things_is_continued_by_the_next,
    a_server_that_died_with_the_platform_comes_back_although_its_number_is_taken,
];

/// The command by which the test program plays a platform that asks for a database, and then does nothing.
pub(crate) const PLATFORM: &str = "__platform";

pub(crate) fn platform() -> ExitCode {
    let data = PathBuf::from(std::env::args_os().nth(2).unwrap());
    block_on(async {
        let servers = Servers::open(&data, Launcher { program: std::env::current_exe().unwrap() });
        let a = Instance::postgres("a");
        println!("{:?}", a.ask(&servers).await);
        a.until(&servers, |standing| matches!(standing, Standing::Up { .. })).await;
        println!("up");
        std::io::stdin().lock().read_to_end(&mut Vec::new()).unwrap();
    });
    ExitCode::SUCCESS
}

/// A platform of its own, and what it says.
fn start_platform(place: &Place) -> (Child, impl Iterator<Item = String> + use<>) {
    let mut platform = Command::new(std::env::current_exe().unwrap())
        .arg(PLATFORM)
        .arg(place.data())
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

async fn comes_back(victim: fn(&Place) -> i32) {
    let place = Place::new();
    let (servers, a) = (place.servers(), Instance::postgres("a"));
    let port = a.up(&servers).await;
    a.query(port, "CREATE TABLE t AS SELECT 7 AS x");
    kill(victim(&place));
    a.until(&servers, |standing| matches!(standing, Standing::Down(_))).await;
    assert_eq!(a.up(&servers).await, port);
    assert_eq!(a.query(port, "SELECT x FROM t"), "7");
    assert_eq!((place.running().len(), place.runs().len()), (1, 2));
    drop(servers);
    // Waits for what it started, and so may not be among what waits.
    std::thread::spawn(move || drop(place)).join().unwrap();
}

fn a_server_that_is_killed_comes_back_with_its_data() {
    block_on(comes_back(|place| place.running()[0].program.unwrap()));
}

fn a_server_whose_supervisor_is_killed_comes_back_with_its_data() {
    block_on(comes_back(|place| place.running()[0].shim));
}

fn the_next_platform_finds_the_server_and_starts_no_second() {
    let place = Place::new();
    block_on(async {
        let a = Instance::postgres("a");
        let servers = place.servers();
        let port = a.up(&servers).await;
        a.query(port, "CREATE TABLE t AS SELECT 7 AS x");
        let before = place.running();
        drop(servers);
        let servers = place.servers();
        assert_eq!(a.ask(&servers).await, Standing::Up { port }, "at once: it is there");
        assert_eq!(place.running(), before);
        assert_eq!(a.query(port, "SELECT x FROM t"), "7");
    });
}

fn a_server_outlives_a_platform_that_is_killed() {
    let place = Place::new();
    let (mut platform, mut said) = start_platform(&place);
    assert!(said.any(|line| line == "up"));
    platform.kill().unwrap();
    platform.wait().unwrap();
    let before = place.running();
    assert_eq!(before.len(), 1);
    block_on(async {
        let (servers, a) = (place.servers(), Instance::postgres("a"));
        let port = a.up(&servers).await;
        a.query(port, "SELECT 1");
        assert_eq!(place.running(), before);
        // It also knows that nobody else uses it.
        a.release(&servers, "postgres", false).await;
        assert_eq!(place.running().len(), 0);
    });
}

fn a_platform_that_was_killed_while_it_made_things_is_continued_by_the_next() {
    let place = Place::new();
    let (mut platform, mut said) = start_platform(&place);
    let first = said.next().unwrap();
    assert!(first.starts_with("Starting"), "{first}");
    platform.kill().unwrap();
    platform.wait().unwrap();
    block_on(async {
        let (servers, a) = (place.servers(), Instance::postgres("a"));
        let port = a.up(&servers).await;
        a.query(port, "SELECT 1");
        assert_eq!(place.running().len(), 1);
    });
}

fn a_server_that_died_with_the_platform_comes_back_although_its_number_is_taken() {
    let place = Place::new();
    block_on(async {
        let a = Instance::postgres("a");
        let servers = place.servers();
        a.up(&servers).await;
        drop(servers);
        let run = place.runs().remove(0);
        kill(place.running()[0].program.unwrap());
        orchestra_drivers::process::ended(&run).await.unwrap();
        let cluster = fs::read_dir(place.data().join("postgres")).unwrap().next().unwrap().unwrap().path();
        let lock = cluster.join("data/postmaster.pid");
        let text = fs::read_to_string(&lock).unwrap();
        let (_, rest) = text.split_once('\n').unwrap();
        fs::write(&lock, format!("{}\n{rest}", std::process::id())).unwrap();
        let servers = place.servers();
        let port = a.up(&servers).await;
        a.query(port, "SELECT 1");
        assert_eq!(place.runs().len(), 2, "at the first attempt");
    });
}
