//! The engine that gives these servers and the proxy to claims, as whoever depends on them sees it.

use std::{
    collections::BTreeMap,
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    process::Command,
    sync::Mutex,
    thread,
};

use futures_util::{StreamExt as _, future::BoxFuture};
use orchestra_api::{
    claim::DeprovisionPolicy, config::Provisioner as Entry, plan::Port, reference::SecretKeyRef,
};
use orchestra_core::provision::{Bound, Dependent, Instance, Provision, Release};
use orchestra_drivers::{
    DriverError, Neighbourhood, Provisioner as _, Released, Secrets,
    neighbourhood::{Contents, Edit, Kept},
    process::{Engine, Launcher},
    secret::Read,
};
use serde_json::json;

use crate::servers::support::{Place, block_on, tests};

tests![
    the_address_of_a_database_opens_it_whoever_started_the_platform,
    a_route_answers_at_the_address_that_it_tells,
];

/// A namespace with one Workload, and the Secret of one instance.
#[derive(Default)]
struct Namespace {
    secret: Mutex<Option<Contents>>,
    ports: BTreeMap<String, Port>,
}

impl Namespace {
    fn kept(&self, key: &str) -> String {
        let secret = self.secret.lock().unwrap();
        String::from_utf8(secret.as_ref().unwrap()[key].expose().to_vec()).unwrap()
    }
}

impl Secrets for Namespace {
    fn read<'a>(&'a self, _: &'a SecretKeyRef) -> BoxFuture<'a, Result<Option<Read>, DriverError>> {
        Box::pin(async { Ok(None) })
    }
}

impl Neighbourhood for Namespace {
    fn keep<'a>(&'a self, edit: &'a Edit<'a>) -> BoxFuture<'a, Result<Kept, DriverError>> {
        Box::pin(async move {
            let mut secret = self.secret.lock().unwrap();
            let contents = edit(&secret.clone().unwrap_or_default())?;
            *secret = Some(contents.clone());
            Ok(Kept { name: "own".to_owned(), version: "1".to_owned(), contents })
        })
    }

    fn forget(&self) -> BoxFuture<'_, Result<(), DriverError>> {
        *self.secret.lock().unwrap() = None;
        Box::pin(async { Ok(()) })
    }

    fn neighbour(&self, _: &str) -> Option<BTreeMap<String, Port>> {
        Some(self.ports.clone())
    }

    fn neighbours(&self) -> Vec<String> {
        vec!["shop".to_owned()]
    }
}

async fn engine(place: &Place) -> Engine {
    let launcher = Launcher { program: std::env::current_exe().unwrap() };
    Engine::open(place.data(), launcher).await.unwrap()
}

/// What the Workload `shop` gets.
async fn bound(engine: &Engine, around: &Namespace, type_: &str) -> Bound {
    let instance = Instance {
        namespace: "default".to_owned(),
        id: "0123456789abcdef".to_owned(),
        type_: type_.to_owned(),
        class: "default".to_owned(),
        shared_id: None,
        params: serde_json::Map::new(),
        metadata: serde_json::Map::new(),
        values: serde_json::Map::new(),
        entry: Entry { type_: type_.to_owned(), engine: "process".to_owned(), ..Entry::default() },
        claims: vec!["shop-it".to_owned()],
        dependents: vec![Dependent { workload: "shop".to_owned(), key: "it".to_owned() }],
        warning: None,
    };
    let mut changes = engine.changes();
    loop {
        match engine.ensure(&instance, around).await.unwrap() {
            Provision::Bound(bound) => return bound,
            Provision::Binding(_) => {}
            other => panic!("{other:?}"),
        }
        changes.next().await.unwrap();
    }
}

async fn release(engine: &Engine, around: &Namespace, policy: DeprovisionPolicy) {
    let release = Release {
        namespace: "default".to_owned(),
        id: "0123456789abcdef".to_owned(),
        type_: "postgres".to_owned(),
        engine: "process".to_owned(),
        policy,
        claims: vec!["shop-it".to_owned()],
    };
    let mut changes = engine.changes();
    while engine.release(&release, around).await.unwrap() != Released::Done {
        changes.next().await.unwrap();
    }
}

/// What a statement answers, or the complaint.
fn query(uri: &str, statement: &str) -> Result<String, String> {
    let output =
        Command::new("psql").args(["-X", "-q", "-t", "-A", "-w", uri, "-c", statement]).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap().trim().to_owned();
    if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
}

fn the_address_of_a_database_opens_it_whoever_started_the_platform() {
    let place = Place::new();
    block_on(async {
        let (around, first) = (Namespace::default(), engine(&place).await);
        let told = bound(&first, &around, "postgres").await;
        let password = around.kept("password");
        assert!(!format!("{told:?}").contains(&password));
        query(&around.kept("uri"), "CREATE TABLE t AS SELECT 'here' AS x").unwrap();
        drop(first);
        let second = engine(&place).await;
        for policy in [DeprovisionPolicy::Orphan, DeprovisionPolicy::Retain] {
            release(&second, &around, policy).await;
            bound(&second, &around, "postgres").await;
            assert_eq!(around.kept("password"), password, "{policy:?}");
            assert_eq!(
                query(&around.kept("connection_string"), "SELECT x FROM t").unwrap(),
                "here",
                "{policy:?}"
            );
        }
        release(&second, &around, DeprovisionPolicy::Delete).await;
        assert!(around.secret.lock().unwrap().is_none());
        bound(&second, &around, "postgres").await;
        assert_ne!(around.kept("password"), password);
        let complaint = query(&around.kept("uri"), "SELECT x FROM t").unwrap_err();
        assert!(complaint.contains("does not exist"), "{complaint}");
    });
}

fn a_route_answers_at_the_address_that_it_tells() {
    let place = Place::new();
    let program = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = program.local_addr().unwrap().port();
    thread::spawn(move || {
        let (mut asked, _) = program.accept().unwrap();
        let mut start = [0; 16];
        asked.read_exact(&mut start).unwrap();
        asked.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\nconnection: close\r\n\r\nshop").unwrap();
    });
    let declared = json!({"web": {"port": port, "targetPort": port}});
    let around = Namespace { ports: serde_json::from_value(declared).unwrap(), ..Namespace::default() };
    block_on(async {
        let engine = engine(&place).await;
        let told = bound(&engine, &around, "route").await.message;
        let address = told.strip_prefix("Answers at http://shop.localhost:").unwrap();
        let proxy: u16 = address.split('/').next().unwrap().parse().unwrap();
        let answer = tokio::task::spawn_blocking(move || ask(proxy)).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("shop"), "{answer}");
    });
}

/// Asks for the start page of the shop.
fn ask(port: u16) -> String {
    let mut asking = TcpStream::connect(("127.0.0.1", port)).unwrap();
    write!(asking, "GET / HTTP/1.1\r\nhost: shop.localhost:{port}\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    asking.read_to_string(&mut answer).unwrap();
    answer
}
