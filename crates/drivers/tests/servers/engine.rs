//! Engine `process` with real servers and the proxy, as a Workload sees it.

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
    DriverError, ProvisionContext, Provisioner as _, Released, Secrets,
    process::{Engine, Launcher, OriginStore},
    provision_context::{Edit, InstanceSecret, SecretData},
    secret::Read,
};
use serde_json::json;

use crate::servers::support::{DataFolder, block_on, tests};

tests![the_uri_of_a_database_works_across_restarts_and_releases, a_route_responds_at_its_address,];

/// Namespace with one Workload, and the Secret of one instance.
#[derive(Default)]
struct Namespace {
    secret: Mutex<Option<SecretData>>,
    ports: BTreeMap<String, Port>,
}

impl Namespace {
    fn secret_value(&self, key: &str) -> String {
        let secret = self.secret.lock().unwrap();
        String::from_utf8(secret.as_ref().unwrap()[key].expose().to_vec()).unwrap()
    }
}

impl Secrets for Namespace {
    fn read<'a>(&'a self, _: &'a SecretKeyRef) -> BoxFuture<'a, Result<Option<Read>, DriverError>> {
        Box::pin(async { Ok(None) })
    }
}

impl ProvisionContext for Namespace {
    fn update_secret<'a>(&'a self, edit: &'a Edit<'a>) -> BoxFuture<'a, Result<InstanceSecret, DriverError>> {
        Box::pin(async move {
            let mut secret = self.secret.lock().unwrap();
            let contents = edit(&secret.clone().unwrap_or_default())?;
            *secret = Some(contents.clone());
            Ok(InstanceSecret { name: "own".to_owned(), version: "1".to_owned(), contents })
        })
    }

    fn delete_secret(&self) -> BoxFuture<'_, Result<(), DriverError>> {
        *self.secret.lock().unwrap() = None;
        Box::pin(async { Ok(()) })
    }

    fn workload_ports(&self, _: &str) -> Option<BTreeMap<String, Port>> {
        Some(self.ports.clone())
    }

    fn workload_names(&self) -> Vec<String> {
        vec!["shop".to_owned()]
    }
}

async fn engine(data: &DataFolder) -> Engine {
    let launcher = Launcher { program: std::env::current_exe().unwrap() };
    Engine::open(data.data(), launcher, OriginStore::open(&data.data())).await.unwrap()
}

/// Instance of the Workload `shop`.
async fn bound(engine: &Engine, ctx: &Namespace, type_: &str) -> Bound {
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
        match engine.ensure(&instance, ctx).await.unwrap() {
            Provision::Bound(bound) => return bound,
            Provision::Binding(_) => {}
            other => panic!("{other:?}"),
        }
        changes.next().await.unwrap();
    }
}

async fn release(engine: &Engine, ctx: &Namespace, policy: DeprovisionPolicy) {
    let release = Release {
        namespace: "default".to_owned(),
        id: "0123456789abcdef".to_owned(),
        type_: "postgres".to_owned(),
        engine: "process".to_owned(),
        policy,
        claims: vec!["shop-it".to_owned()],
        start: Vec::new(),
    };
    let mut changes = engine.changes();
    while engine.release(&release, ctx).await.unwrap() != Released::Done {
        changes.next().await.unwrap();
    }
}

/// Output of a statement, or its error.
fn query(uri: &str, statement: &str) -> Result<String, String> {
    let output =
        Command::new("psql").args(["-X", "-q", "-t", "-A", "-w", uri, "-c", statement]).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap().trim().to_owned();
    if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
}

fn the_uri_of_a_database_works_across_restarts_and_releases() {
    let data = DataFolder::new();
    block_on(async {
        let (ctx, first) = (Namespace::default(), engine(&data).await);
        let outputs = bound(&first, &ctx, "postgres").await;
        let password = ctx.secret_value("password");
        assert!(!format!("{outputs:?}").contains(&password));
        query(&ctx.secret_value("uri"), "CREATE TABLE t AS SELECT 'here' AS x").unwrap();
        drop(first);
        let second = engine(&data).await;
        for policy in [DeprovisionPolicy::Orphan, DeprovisionPolicy::Retain] {
            release(&second, &ctx, policy).await;
            bound(&second, &ctx, "postgres").await;
            assert_eq!(ctx.secret_value("password"), password, "{policy:?}");
            assert_eq!(
                query(&ctx.secret_value("connection_string"), "SELECT x FROM t").unwrap(),
                "here",
                "{policy:?}"
            );
        }
        release(&second, &ctx, DeprovisionPolicy::Delete).await;
        assert!(ctx.secret.lock().unwrap().is_none());
        bound(&second, &ctx, "postgres").await;
        assert_ne!(ctx.secret_value("password"), password);
        let error = query(&ctx.secret_value("uri"), "SELECT x FROM t").unwrap_err();
        assert!(error.contains("does not exist"), "{error}");
    });
}

fn a_route_responds_at_its_address() {
    let data = DataFolder::new();
    let program = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = program.local_addr().unwrap().port();
    thread::spawn(move || {
        let (mut connection, _) = program.accept().unwrap();
        let mut start = [0; 16];
        connection.read_exact(&mut start).unwrap();
        connection
            .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\nconnection: close\r\n\r\nshop")
            .unwrap();
    });
    let declared = json!({"web": {"port": port, "targetPort": port}});
    let ctx = Namespace { ports: serde_json::from_value(declared).unwrap(), ..Namespace::default() };
    block_on(async {
        let engine = engine(&data).await;
        let message = bound(&engine, &ctx, "route").await.message;
        let address = message.strip_prefix("Answers at http://shop.localhost:").unwrap();
        let proxy: u16 = address.split('/').next().unwrap().parse().unwrap();
        let response = tokio::task::spawn_blocking(move || get(proxy)).await.unwrap();
        assert!(response.starts_with("HTTP/1.1 200") && response.ends_with("shop"), "{response}");
    });
}

/// Response to a request for the start page of the shop.
fn get(port: u16) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    write!(stream, "GET / HTTP/1.1\r\nhost: shop.localhost:{port}\r\nconnection: close\r\n\r\n").unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    response
}
