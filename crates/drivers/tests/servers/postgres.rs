//! Databases.

use std::{fs, net::TcpListener, os::unix::fs::PermissionsExt as _};

use orchestra_drivers::process::servers::{Server, Standing};

use crate::servers::support::{Instance, Place, block_on, contents, psql, tests};

tests![
    a_database_is_made_from_nothing_and_answers_its_role,
    two_instances_share_a_server_and_cannot_enter_each_others_database,
    data_and_password_survive_when_nobody_uses_them,
    what_is_released_with_its_data_is_gone_and_the_rest_stays,
    the_last_that_is_released_with_its_data_leaves_nothing,
    an_instance_that_comes_back_before_its_data_is_removed_begins_anew,
    a_new_password_takes_the_place_of_the_old_one,
    a_server_whose_port_was_taken_moves_to_another,
    a_version_that_is_not_there_is_told,
    only_the_user_gets_near_the_data_and_no_password_is_in_it,
];

const TYPE: &str = "postgres";

fn a_database_is_made_from_nothing_and_answers_its_role() {
    let place = Place::new();
    block_on(async {
        let (servers, a) = (place.servers(), Instance::postgres("a"));
        let port = a.up(&servers).await;
        a.query(port, "CREATE TABLE t (x text); INSERT INTO t VALUES ('here')");
        assert_eq!(a.query(port, "SELECT x, current_user, current_database() FROM t"), "here|user-a|db-a");
        assert_eq!(a.ask(&servers).await, Standing::Up { port }, "to ask again changes nothing");
        let right = a.query(
            port,
            "SELECT rolsuper OR rolcreatedb OR rolcreaterole FROM pg_roles WHERE rolname = current_user",
        );
        assert_eq!(right, "f");
        assert_eq!(a.query(port, "SHOW fsync"), "on");
    });
}

fn two_instances_share_a_server_and_cannot_enter_each_others_database() {
    let place = Place::new();
    block_on(async {
        let (servers, a, b) = (place.servers(), Instance::postgres("a"), Instance::postgres("b"));
        let (port, other) = tokio::join!(a.up(&servers), b.up(&servers));
        assert_eq!(port, other);
        assert_eq!(place.running().len(), 1);
        a.query(port, "SELECT 1");
        b.query(port, "SELECT 1");
        for database in ["db-b", "postgres", "template1"] {
            let refused = psql(port, database, "user-a", &a.password, "SELECT 1");
            let why = String::from_utf8_lossy(&refused.stderr).into_owned();
            assert!(!refused.status.success() && why.contains("permission denied"), "{database}: {why}");
        }
        assert!(!psql(port, "db-a", "user-a", &b.password, "SELECT 1").status.success());
        assert!(!psql(port, "db-a", "postgres", "", "SELECT 1").status.success());
    });
}

fn data_and_password_survive_when_nobody_uses_them() {
    let place = Place::new();
    block_on(async {
        let (servers, a) = (place.servers(), Instance::postgres("a"));
        let port = a.up(&servers).await;
        a.query(port, "CREATE TABLE t AS SELECT 7 AS x");
        a.release(&servers, TYPE, false).await;
        assert_eq!(place.running().len(), 0, "a server that nobody uses is stopped");
        a.release(&servers, TYPE, false).await;
        assert_eq!(a.up(&servers).await, port, "others were told the port");
        assert_eq!(a.query(port, "SELECT x FROM t"), "7");
    });
}

fn what_is_released_with_its_data_is_gone_and_the_rest_stays() {
    let place = Place::new();
    block_on(async {
        let (servers, a, b) = (place.servers(), Instance::postgres("a"), Instance::postgres("b"));
        let port = a.up(&servers).await;
        b.up(&servers).await;
        b.query(port, "CREATE TABLE t AS SELECT 7 AS x");
        // Somebody who has not left does not keep it.
        let mut guest = std::process::Command::new("psql")
            .args(["-h", "127.0.0.1", "-p", &port.to_string(), "-d", "db-a", "-U", "user-a", "-X", "-q"])
            .env("PGPASSWORD", &a.password)
            .args(["-c", "SELECT pg_sleep(1000)"])
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        while b.query(port, "SELECT count(*) FROM pg_stat_activity WHERE datname = 'db-a'") == "0" {}
        a.release(&servers, TYPE, true).await;
        assert!(!guest.wait().unwrap().success());
        let left =
            "SELECT count(*) FROM pg_database d, pg_roles r WHERE datname = 'db-a' OR rolname = 'user-a'";
        assert_eq!(b.query(port, left), "0");
        assert_eq!(b.query(port, "SELECT x FROM t"), "7");

        // The server is down, and is started to remove one and keep the other.
        a.up(&servers).await;
        a.release(&servers, TYPE, false).await;
        b.release(&servers, TYPE, false).await;
        assert_eq!(place.running().len(), 0);
        a.release(&servers, TYPE, true).await;
        assert_eq!(place.running().len(), 0);
        b.up(&servers).await;
        assert_eq!(b.query(port, left), "0");
        assert_eq!(b.query(port, "SELECT x FROM t"), "7");
    });
}

fn the_last_that_is_released_with_its_data_leaves_nothing() {
    let place = Place::new();
    block_on(async {
        let (servers, a) = (place.servers(), Instance::postgres("a"));
        a.release(&servers, TYPE, true).await;
        a.up(&servers).await;
        a.release(&servers, TYPE, true).await;
        assert_eq!(place.running().len(), 0);
        let left = fs::read_dir(place.data().join("postgres")).unwrap().next().unwrap().unwrap().path();
        assert!(!left.join("data").exists());
        a.release(&servers, TYPE, true).await;
    });
}

fn an_instance_that_comes_back_before_its_data_is_removed_begins_anew() {
    let place = Place::new();
    block_on(async {
        let (servers, a) = (place.servers(), Instance::postgres("a"));
        let port = a.up(&servers).await;
        a.query(port, "CREATE TABLE t AS SELECT 7 AS x");
        assert!(!servers.release(&a.id, TYPE, true).await, "it has only just begun");
        a.up(&servers).await;
        assert_eq!(a.query(port, "SELECT count(*) FROM pg_tables WHERE tablename = 't'"), "0");
        assert_eq!(place.running().len(), 1);
    });
}

fn a_new_password_takes_the_place_of_the_old_one() {
    let place = Place::new();
    block_on(async {
        let (servers, mut a) = (place.servers(), Instance::postgres("a"));
        let port = a.up(&servers).await;
        let old = std::mem::replace(&mut a.password, "another".to_owned());
        a.up(&servers).await;
        a.query(port, "SELECT 1");
        assert!(!psql(port, "db-a", "user-a", &old, "SELECT 1").status.success());
    });
}

fn a_server_whose_port_was_taken_moves_to_another() {
    let place = Place::new();
    block_on(async {
        let (servers, a) = (place.servers(), Instance::postgres("a"));
        let port = a.up(&servers).await;
        a.release(&servers, TYPE, false).await;
        let _taken = TcpListener::bind(("127.0.0.1", port)).unwrap();
        let other = a.up(&servers).await;
        assert_ne!(other, port);
        a.query(other, "SELECT 1");
    });
}

fn a_version_that_is_not_there_is_told() {
    let place = Place::new();
    block_on(async {
        let (servers, mut a) = (place.servers(), Instance::postgres("a"));
        let wish = |wanted: &str| Server::Postgres {
            database: "db-a".to_owned(),
            user: "user-a".to_owned(),
            version: Some(wanted.to_owned()),
        };
        a.what = wish("99");
        let Standing::Lacking(why) = a.ask(&servers).await else { panic!("it was found") };
        assert!(why.starts_with("postgres 99 is not installed on this machine, which has "), "{why}");
        a.what = wish("newest");
        let Standing::Lacking(why) = a.ask(&servers).await else { panic!("it was found") };
        assert_eq!(why, "`newest` is not a version of postgres: ask for one like `16`, or for none.");
        a.release(&servers, TYPE, true).await;

        a.what = Instance::postgres("a").what;
        a.up(&servers).await;
        a.what = wish("99");
        let Standing::Lacking(why) = a.ask(&servers).await else { panic!("it was moved") };
        assert!(why.starts_with("The data is kept by postgres "), "{why}");
    });
}

fn only_the_user_gets_near_the_data_and_no_password_is_in_it() {
    let place = Place::new();
    block_on(async {
        let (servers, a) = (place.servers(), Instance::postgres("a"));
        let port = a.up(&servers).await;
        assert!(!a.psql(port, "SELECT nothing").status.success());
        let cluster = fs::read_dir(place.data().join("postgres")).unwrap().next().unwrap().unwrap().path();
        for folder in [&cluster, &cluster.join("data")] {
            assert_eq!(fs::metadata(folder).unwrap().permissions().mode() & 0o777, 0o700);
        }
        let everything = contents(&place.data());
        let password = a.password.as_bytes();
        assert!(!everything.windows(password.len()).any(|window| window == password));
        let run = place.running().remove(0);
        let arguments = fs::read(format!("/proc/{}/cmdline", run.program.unwrap())).unwrap();
        assert!(!String::from_utf8_lossy(&arguments).contains("secret"));
    });
}
