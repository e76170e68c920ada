//! Caches. Where no server for them is installed, that this is told is all that can be seen.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::TcpStream,
    os::unix::fs::PermissionsExt as _,
    process::Command,
};

use orchestra_drivers::process::servers::{Server, Servers, Standing};

use crate::servers::support::{Instance, Place, block_on, tests};

tests![
    a_cache_answers_its_password_and_keeps_its_data,
    a_cache_that_is_killed_comes_back_and_the_next_platform_finds_it,
    a_cache_takes_a_new_password,
];

const TYPE: &str = "redis";

fn cache() -> Instance {
    Instance {
        id: ("default".to_owned(), "cache".to_owned()),
        what: Server::Redis { version: None },
        password: "a \"secret\"".to_owned(),
    }
}

/// Whether this machine has one; if not, checks what is told.
async fn is_there(cache: &Instance, servers: &Servers) -> bool {
    let standing = cache.until(servers, |standing| !matches!(standing, Standing::Starting(_))).await;
    let Standing::Lacking(why) = standing else { return true };
    assert_eq!(
        why,
        "redis is not installed on this machine: install it (Debian, Ubuntu: `apt install redis-server`; macOS: `brew install redis`), or let the platform team choose another engine for it."
    );
    cache.release(servers, TYPE, true).await;
    false
}

/// What it answers to requests on one connection.
fn say(port: u16, password: &str, request: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let length = password.len();
    write!(stream, "*2\r\n$4\r\nAUTH\r\n${length}\r\n{password}\r\n{request}\r\nQUIT\r\n").unwrap();
    let mut said = String::new();
    stream.read_to_string(&mut said).unwrap();
    said
}

fn a_cache_answers_its_password_and_keeps_its_data() {
    let place = Place::new();
    block_on(async {
        let (servers, cache) = (place.servers(), cache());
        if !is_there(&cache, &servers).await {
            return;
        }
        let port = cache.up(&servers).await;
        assert_eq!(say(port, &cache.password, "SET a 7"), "+OK\r\n+OK\r\n+OK\r\n");
        assert!(say(port, "wrong", "GET a").contains("WRONGPASS"));
        let home = place.data().join("instances/default/cache/redis");
        assert_eq!(fs::metadata(&home).unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(fs::metadata(home.join("server.conf")).unwrap().permissions().mode() & 0o777, 0o600);
        cache.release(&servers, TYPE, false).await;
        assert_eq!(place.running().len(), 0);
        assert_eq!(cache.up(&servers).await, port);
        assert!(say(port, &cache.password, "GET a").contains('7'));
        cache.release(&servers, TYPE, true).await;
        assert!(!home.exists());
        cache.release(&servers, TYPE, true).await;
    });
}

fn a_cache_that_is_killed_comes_back_and_the_next_platform_finds_it() {
    let place = Place::new();
    block_on(async {
        let (servers, cache) = (place.servers(), cache());
        if !is_there(&cache, &servers).await {
            return;
        }
        let port = cache.up(&servers).await;
        say(port, &cache.password, "SET a 7");
        let program = place.running()[0].program.unwrap().to_string();
        assert!(Command::new("kill").args(["-KILL", &program]).status().unwrap().success());
        cache.until(&servers, |standing| matches!(standing, Standing::Down(_))).await;
        assert_eq!(cache.up(&servers).await, port);
        let before = place.running();
        drop(servers);
        let servers = place.servers();
        assert_eq!(cache.up(&servers).await, port);
        assert_eq!(place.running(), before);
    });
}

fn a_cache_takes_a_new_password() {
    let place = Place::new();
    block_on(async {
        let (servers, mut cache) = (place.servers(), cache());
        if !is_there(&cache, &servers).await {
            return;
        }
        let port = cache.up(&servers).await;
        say(port, &cache.password, "SET a 7");
        let old = std::mem::replace(&mut cache.password, "another".to_owned());
        let port = match cache.up(&servers).await {
            new if new == port => port,
            new => panic!("it moved to {new}"),
        };
        assert!(say(port, &old, "GET a").contains("WRONGPASS"));
        assert!(say(port, &cache.password, "GET a").contains('7'));
    });
}
