//! Postgres databases.

use std::{fs, net::TcpListener, os::unix::fs::PermissionsExt as _};

use orchestra_drivers::process::servers::{Server, ServerStatus};

use crate::servers::support::{DataFolder, Instance, block_on, contents, psql, tests};

tests![
    a_new_database_is_owned_by_its_role,
    two_instances_share_a_server_and_cannot_access_each_others_database,
    data_and_password_survive_a_release,
    a_release_with_data_deletes_the_database_and_no_other,
    the_last_release_with_data_deletes_the_cluster,
    an_instance_claimed_again_during_its_deletion_starts_empty,
    a_new_password_replaces_the_old_one,
    an_invalid_password_fails_its_own_instance_only,
    a_server_whose_port_was_taken_moves_to_another,
    a_missing_version_is_reported,
    the_data_is_private_and_contains_no_password,
];

const TYPE: &str = "postgres";

fn a_new_database_is_owned_by_its_role() {
    let data = DataFolder::new();
    block_on(async {
        let (servers, a) = (data.servers(), Instance::postgres("a"));
        let port = a.until_up(&servers).await;
        a.query(port, "CREATE TABLE t (x text); INSERT INTO t VALUES ('here')");
        assert_eq!(a.query(port, "SELECT x, current_user, current_database() FROM t"), "here|user-a|db-a");
        assert_eq!(a.ensure(&servers).await, ServerStatus::Up { port }, "ensure is idempotent");
        let right = a.query(
            port,
            "SELECT rolsuper OR rolcreatedb OR rolcreaterole FROM pg_roles WHERE rolname = current_user",
        );
        assert_eq!(right, "f");
        assert_eq!(a.query(port, "SHOW fsync"), "on");
    });
}

fn two_instances_share_a_server_and_cannot_access_each_others_database() {
    let data = DataFolder::new();
    block_on(async {
        let (servers, a, b) = (data.servers(), Instance::postgres("a"), Instance::postgres("b"));
        let (port, other) = tokio::join!(a.until_up(&servers), b.until_up(&servers));
        assert_eq!(port, other);
        assert_eq!(data.running().len(), 1);
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

fn data_and_password_survive_a_release() {
    let data = DataFolder::new();
    block_on(async {
        let (servers, a) = (data.servers(), Instance::postgres("a"));
        let port = a.until_up(&servers).await;
        a.query(port, "CREATE TABLE t AS SELECT 7 AS x");
        a.release(&servers, TYPE, false).await;
        assert_eq!(data.running().len(), 0, "an unused server is stopped");
        a.release(&servers, TYPE, false).await;
        assert_eq!(a.until_up(&servers).await, port, "the port is stable, since bindings contain it");
        assert_eq!(a.query(port, "SELECT x FROM t"), "7");
    });
}

fn a_release_with_data_deletes_the_database_and_no_other() {
    let data = DataFolder::new();
    block_on(async {
        let (servers, a, b) = (data.servers(), Instance::postgres("a"), Instance::postgres("b"));
        let port = a.until_up(&servers).await;
        b.until_up(&servers).await;
        b.query(port, "CREATE TABLE t AS SELECT 7 AS x");
        // An open connection does not prevent the deletion.
        let mut connection = std::process::Command::new("psql")
            .args(["-h", "127.0.0.1", "-p", &port.to_string(), "-d", "db-a", "-U", "user-a", "-X", "-q"])
            .env("PGPASSWORD", &a.password)
            .args(["-c", "SELECT pg_sleep(1000)"])
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        while b.query(port, "SELECT count(*) FROM pg_stat_activity WHERE datname = 'db-a'") == "0" {}
        a.release(&servers, TYPE, true).await;
        assert!(!connection.wait().unwrap().success());
        let remaining =
            "SELECT count(*) FROM pg_database d, pg_roles r WHERE datname = 'db-a' OR rolname = 'user-a'";
        assert_eq!(b.query(port, remaining), "0");
        assert_eq!(b.query(port, "SELECT x FROM t"), "7");

        // A stopped server is started to drop one database and keep the other.
        a.until_up(&servers).await;
        a.release(&servers, TYPE, false).await;
        b.release(&servers, TYPE, false).await;
        assert_eq!(data.running().len(), 0);
        a.release(&servers, TYPE, true).await;
        assert_eq!(data.running().len(), 0);
        b.until_up(&servers).await;
        assert_eq!(b.query(port, remaining), "0");
        assert_eq!(b.query(port, "SELECT x FROM t"), "7");
    });
}

fn the_last_release_with_data_deletes_the_cluster() {
    let data = DataFolder::new();
    block_on(async {
        let (servers, a) = (data.servers(), Instance::postgres("a"));
        a.release(&servers, TYPE, true).await;
        a.until_up(&servers).await;
        a.release(&servers, TYPE, true).await;
        assert_eq!(data.running().len(), 0);
        let cluster = fs::read_dir(data.data().join("postgres")).unwrap().next().unwrap().unwrap().path();
        assert!(!cluster.join("data").exists());
        a.release(&servers, TYPE, true).await;
    });
}

fn an_instance_claimed_again_during_its_deletion_starts_empty() {
    let data = DataFolder::new();
    block_on(async {
        let (servers, a) = (data.servers(), Instance::postgres("a"));
        let port = a.until_up(&servers).await;
        a.query(port, "CREATE TABLE t AS SELECT 7 AS x");
        assert!(!servers.release(&a.id, TYPE, true).await, "the deletion has only started");
        a.until_up(&servers).await;
        assert_eq!(a.query(port, "SELECT count(*) FROM pg_tables WHERE tablename = 't'"), "0");
        assert_eq!(data.running().len(), 1);
    });
}

fn a_new_password_replaces_the_old_one() {
    let data = DataFolder::new();
    block_on(async {
        let (servers, mut a) = (data.servers(), Instance::postgres("a"));
        let port = a.until_up(&servers).await;
        let old = std::mem::replace(&mut a.password, "another".to_owned());
        a.until_up(&servers).await;
        a.query(port, "SELECT 1");
        assert!(!psql(port, "db-a", "user-a", &old, "SELECT 1").status.success());
    });
}

fn an_invalid_password_fails_its_own_instance_only() {
    let data = DataFolder::new();
    block_on(async {
        let (servers, mut a, b) = (data.servers(), Instance::postgres("a"), Instance::postgres("b"));
        "with\0nul".clone_into(&mut a.password);
        a.ensure(&servers).await;
        let port = b.until_up(&servers).await;
        b.query(port, "SELECT 1");
        let names_password =
            |status: &ServerStatus| matches!(status, ServerStatus::Starting(why) if why.contains("password"));
        a.until(&servers, names_password).await;
        "corrected".clone_into(&mut a.password);
        a.until_up(&servers).await;
        a.query(port, "SELECT 1");
    });
}

fn a_server_whose_port_was_taken_moves_to_another() {
    let data = DataFolder::new();
    block_on(async {
        let (servers, a) = (data.servers(), Instance::postgres("a"));
        let port = a.until_up(&servers).await;
        a.release(&servers, TYPE, false).await;
        let _taken = TcpListener::bind(("127.0.0.1", port)).unwrap();
        let other = a.until_up(&servers).await;
        assert_ne!(other, port);
        a.query(other, "SELECT 1");
    });
}

fn a_missing_version_is_reported() {
    let data = DataFolder::new();
    block_on(async {
        let (servers, mut a) = (data.servers(), Instance::postgres("a"));
        let with_version = |wanted: &str| Server::Postgres {
            database: "db-a".to_owned(),
            user: "user-a".to_owned(),
            version: Some(wanted.to_owned()),
        };
        a.what = with_version("99");
        let ServerStatus::Unavailable(why) = a.ensure(&servers).await else { panic!("it was found") };
        assert!(why.starts_with("postgres 99 is not installed on this machine, which has "), "{why}");
        a.what = with_version("newest");
        let ServerStatus::Unavailable(why) = a.ensure(&servers).await else { panic!("it was found") };
        assert_eq!(
            why,
            "The parameter `version` is `newest`, which is not a version of postgres: write one like `16`, or none."
        );
        a.release(&servers, TYPE, true).await;

        a.what = Instance::postgres("a").what;
        a.until_up(&servers).await;
        a.what = with_version("99");
        let ServerStatus::Unavailable(why) = a.ensure(&servers).await else { panic!("it was moved") };
        assert!(why.starts_with("The data was created by postgres "), "{why}");
    });
}

fn the_data_is_private_and_contains_no_password() {
    let data = DataFolder::new();
    block_on(async {
        let (servers, a) = (data.servers(), Instance::postgres("a"));
        let port = a.until_up(&servers).await;
        assert!(!a.psql(port, "SELECT nothing").status.success());
        let cluster = fs::read_dir(data.data().join("postgres")).unwrap().next().unwrap().unwrap().path();
        for folder in [&cluster, &cluster.join("data")] {
            assert_eq!(fs::metadata(folder).unwrap().permissions().mode() & 0o777, 0o700);
        }
        let everything = contents(&data.data());
        let password = a.password.as_bytes();
        assert!(!everything.windows(password.len()).any(|window| window == password));
        let run = data.running().remove(0);
        let arguments = fs::read(format!("/proc/{}/cmdline", run.program.unwrap())).unwrap();
        assert!(!String::from_utf8_lossy(&arguments).contains("secret"));
    });
}
