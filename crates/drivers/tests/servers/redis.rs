//! Redis caches.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::TcpStream,
    os::unix::fs::PermissionsExt as _,
    process::Command,
};

use orchestra_drivers::process::servers::{Server, ServerStatus};

use crate::servers::support::{DataFolder, Instance, block_on, tests};

tests![
    a_cache_requires_its_password_and_keeps_its_data,
    a_killed_cache_is_restarted_and_adopted_by_the_next_platform,
    a_cache_accepts_a_new_password,
    users_of_a_cache_do_not_administer_its_server,
    a_cache_with_other_settings_is_restarted_by_the_next_platform,
];

const TYPE: &str = "redis";

fn cache() -> Instance {
    Instance {
        id: ("default".to_owned(), "cache".to_owned()),
        what: Server::Redis { version: None },
        password: "a \"secret\"".to_owned(),
    }
}

/// Responses to requests on one connection.
fn send(port: u16, password: &str, request: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let length = password.len();
    write!(stream, "*2\r\n$4\r\nAUTH\r\n${length}\r\n{password}\r\n{request}\r\nQUIT\r\n").unwrap();
    let mut responses = String::new();
    stream.read_to_string(&mut responses).unwrap();
    responses
}

fn a_cache_requires_its_password_and_keeps_its_data() {
    let data = DataFolder::new();
    block_on(async {
        let (servers, cache) = (data.servers(), cache());
        let port = cache.until_up(&servers).await;
        assert_eq!(send(port, &cache.password, "SET a 7"), "+OK\r\n+OK\r\n+OK\r\n");
        assert!(send(port, "wrong", "GET a").contains("WRONGPASS"));
        let home = data.data().join("instances/default/cache/redis");
        assert_eq!(fs::metadata(&home).unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(fs::metadata(home.join("server.conf")).unwrap().permissions().mode() & 0o777, 0o600);
        cache.release(&servers, TYPE, false).await;
        assert_eq!(data.running().len(), 0);
        assert_eq!(cache.until_up(&servers).await, port);
        assert!(send(port, &cache.password, "GET a").contains('7'));
        cache.release(&servers, TYPE, true).await;
        assert!(!home.exists());
        cache.release(&servers, TYPE, true).await;
    });
}

fn a_killed_cache_is_restarted_and_adopted_by_the_next_platform() {
    let data = DataFolder::new();
    block_on(async {
        let (servers, cache) = (data.servers(), cache());
        let port = cache.until_up(&servers).await;
        send(port, &cache.password, "SET a 7");
        let program = data.running()[0].program.unwrap().to_string();
        assert!(Command::new("kill").args(["-KILL", &program]).status().unwrap().success());
        cache.until(&servers, |status| matches!(status, ServerStatus::Down(_))).await;
        assert_eq!(cache.until_up(&servers).await, port);
        let before = data.running();
        drop(servers);
        let servers = data.servers();
        assert_eq!(cache.until_up(&servers).await, port);
        assert_eq!(data.running(), before);
    });
}

fn a_cache_accepts_a_new_password() {
    let data = DataFolder::new();
    block_on(async {
        let (servers, mut cache) = (data.servers(), cache());
        let port = cache.until_up(&servers).await;
        send(port, &cache.password, "SET a 7");
        let old = std::mem::replace(&mut cache.password, "another".to_owned());
        let port = match cache.until_up(&servers).await {
            new if new == port => port,
            new => panic!("it moved to {new}"),
        };
        assert!(send(port, &old, "GET a").contains("WRONGPASS"));
        assert!(send(port, &cache.password, "GET a").contains('7'));
    });
}

fn users_of_a_cache_do_not_administer_its_server() {
    let data = DataFolder::new();
    block_on(async {
        let (servers, cache) = (data.servers(), cache());
        let port = cache.until_up(&servers).await;
        let settings = data.data().join("instances/default/cache/redis/server.conf");
        let before = (data.running(), fs::read_to_string(&settings).unwrap());
        for command in [
            "CONFIG SET requirepass \"\"",
            "CONFIG SET bind 127.0.0.1",
            "CONFIG SET protected-mode no",
            "CONFIG REWRITE",
            "ACL SETUSER default +@all",
            "REPLICAOF NO ONE",
            "SAVE",
            "SHUTDOWN NOSAVE",
        ] {
            let responses = send(port, &cache.password, command);
            assert!(responses.contains("-NOPERM"), "{command}: {responses}");
        }
        assert_eq!((data.running(), fs::read_to_string(&settings).unwrap()), before);
        // Commands of client libraries.
        for command in [
            "HELLO 3",
            "CLIENT SETNAME me",
            "CLIENT LIST",
            "CONFIG GET maxmemory-policy",
            "INFO",
            "ROLE",
            "LATENCY LATEST",
            "SLOWLOG GET",
            "COMMAND COUNT",
            "EVAL \"return redis.call('SET', 'a', 'b')\" 1 a",
            "PUBLISH channel text",
            "FLUSHALL",
        ] {
            let responses = send(port, &cache.password, command);
            assert!(!responses.contains("\r\n-"), "{command}: {responses}");
        }
    });
}

fn a_cache_with_other_settings_is_restarted_by_the_next_platform() {
    let data = DataFolder::new();
    block_on(async {
        let (servers, cache) = (data.servers(), cache());
        let port = cache.until_up(&servers).await;
        send(port, &cache.password, "SET a 7");
        let path = data.data().join("instances/default/cache/redis/server.conf");
        let (settings, before) = (fs::read_to_string(&path).unwrap(), data.running());
        fs::write(&path, settings.replace("-@admin", "")).unwrap();
        drop(servers);
        let servers = data.servers();
        assert_eq!(cache.until_up(&servers).await, port);
        assert_ne!(data.running(), before);
        assert_eq!(fs::read_to_string(&path).unwrap(), settings);
        assert!(send(port, &cache.password, "GET a").contains('7'));
    });
}
