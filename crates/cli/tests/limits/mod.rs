//! The orchestrator's server under the memory limit of its container, in front of a real API server, while callers send
//! large, slow and many requests. Uses the cluster of `KUBECONFIG`, which must not run an orchestrator; it needs no node.

#![cfg(target_os = "linux")]

mod client;
mod memory_cgroup;

use std::{
    convert::Infallible,
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use client::{Body, Broken, Target, send, token};
use futures_util::{StreamExt as _, future::join_all, stream};
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::{
    Request,
    body::{Bytes, Frame},
};
use kube::Api;
use memory_cgroup::MemoryCgroup;
use orchestra_api::Workload;
use serde_json::{Value as Json, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::{sleep, timeout},
};

use crate::cluster::{
    fixture::{Cluster, NAMESPACE},
    process::orchestra,
};

/// Memory limit in `deploy/orchestrator/deployment.yaml`.
const MEMORY_LIMIT: u64 = 256 * 1024 * 1024;
const PATH: &str = "/orchestra/v1/namespaces/shop/workloads/web";
/// Timeout of an answer to an honest client: far longer than it takes.
const TIMEOUT: Duration = Duration::from_mins(1);
const MIB: usize = 1024 * 1024;

/// Server in a control group.
struct Server {
    child: Child,
    url: String,
    /// Address of the health checks.
    health: String,
}

impl Server {
    fn start(group: &MemoryCgroup, kubeconfig: &Path) -> Self {
        let mut command = group.command(env!("CARGO_BIN_EXE_orchestra"));
        command.args([
            "serve",
            "--cluster",
            "--listen=127.0.0.1:0",
            "--health-listen=127.0.0.1:0",
            "--log=info",
        ]);
        command.env("KUBECONFIG", kubeconfig).env("POD_NAME", "limited").stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
        let mut address = || {
            let line = lines.next().expect("a line with the address").unwrap();
            line.rsplit_once(' ').expect("an address").1.trim_end_matches('.').to_owned()
        };
        let (url, health) = (address(), address());
        Self { child, url, health: health.trim_start_matches("http://").to_owned() }
    }

    /// True if the liveness probe succeeds.
    async fn is_live(&self) -> Result<bool, Broken> {
        let mut stream = TcpStream::connect(&self.health).await?;
        stream.write_all(b"GET /orchestra/healthz HTTP/1.1\r\nHost: probe\r\n\r\n").await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        Ok(answer.starts_with("HTTP/1.1 200 "))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs KUBECONFIG and root"]
async fn hostile_callers_neither_exhaust_the_memory_nor_lock_others_out() {
    let cluster = Cluster::from_environment().await;
    orchestra(&cluster.admin, &["uninstall"]).unwrap_or_default();
    orchestra(&cluster.admin, &["install", "--no-wait"]).unwrap();
    cluster.namespace(NAMESPACE).await;
    let honest = token(&cluster.account("honest", NAMESPACE, "score-user").await);
    let greedy = token(&cluster.account("greedy", NAMESPACE, "score-user").await);
    let account = cluster.account("score-orchestrator", "score-system", "").await;
    let group = MemoryCgroup::create(MEMORY_LIMIT);
    let mut server = Server::start(&group, &account);
    let target = Target::published(&server.url, &cluster.client).await;
    cluster.apply(&workload()).await;
    cluster
        .until("the workload has conditions", async |cluster| {
            let workloads: Api<Workload> = Api::namespaced(cluster.client.clone(), NAMESPACE);
            workloads.get("web").await.unwrap().status.is_some_and(|status| !status.conditions.is_empty())
        })
        .await;

    let is_over = AtomicBool::new(false);
    let witnessed = witness(&server, &target, &honest, &is_over);
    let attacked = async {
        let attacks = join_all([
            tokio::spawn(unwanted_bodies(target.clone())),
            tokio::spawn(idle_connections(target.clone())),
            tokio::spawn(unknown_tokens(target.clone())),
            tokio::spawn(costly_previews(target.clone(), greedy.clone())),
            tokio::spawn(slow_bodies(target.clone(), greedy.clone())),
            tokio::spawn(unread_answers(target.clone(), greedy.clone())),
        ]);
        for attack in attacks.await {
            println!("{}", attack.unwrap());
        }
        is_over.store(true, Ordering::Relaxed);
    };
    let ((), rounds) = tokio::join!(attacked, witnessed);
    println!("{rounds} rounds of honest requests; peak {} bytes", group.peak());
    assert_eq!(group.oom_kills(), 0);
    assert!(server.child.try_wait().unwrap().is_none(), "the server has ended");

    orchestra(&cluster.admin, &["delete", "-n", NAMESPACE, "web"]).unwrap();
    drop(server);
    orchestra(&cluster.admin, &["uninstall"]).unwrap();
    cluster.clear().await;
}

fn workload() -> Json {
    json!({
        "apiVersion": "score.dev/v1b1", "kind": "Workload", "metadata": {"name": "web", "namespace": NAMESPACE},
        "spec": {"containers": {"app": {"image": "nginx"}}},
    })
}

/// Honest requests until the attacks are over: none is refused. Returns their number.
async fn witness(server: &Server, target: &Target, token: &str, is_over: &AtomicBool) -> usize {
    let mut rounds = 0;
    while !is_over.load(Ordering::Relaxed) || rounds == 0 {
        let live = timeout(TIMEOUT, server.is_live()).await;
        assert!(matches!(live, Ok(Ok(true))), "liveness in round {rounds}: {live:?}");
        for (method, part, body) in
            [("GET", "explain", String::new()), ("POST", "plan", workload().to_string())]
        {
            let honest = || request(method, part, token, full(body.clone()));
            let status = timeout(TIMEOUT, answered(target, honest)).await;
            assert!(matches!(status, Ok(200)), "{part} in round {rounds}: {status:?}");
        }
        rounds += 1;
    }
    rounds
}

/// Status of the answer to an honest request. Like any client, this one connects again if its connection is closed before
/// the answer: during a flood, a newcomer that is not authenticated in time makes room for others.
async fn answered(target: &Target, request: impl Fn() -> Request<Body>) -> u16 {
    loop {
        if let Ok(status) = target.status(request()).await {
            return status;
        }
    }
}

fn request(method: &str, part: &str, token: &str, body: Body) -> Request<Body> {
    let mut request = Request::builder().method(method).uri(format!("https://server{PATH}/{part}"));
    request = request.header("content-type", "application/json");
    if !token.is_empty() {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    request.body(body).unwrap()
}

fn full(body: impl Into<Bytes>) -> Body {
    Full::new(body.into()).map_err(|never| match never {}).boxed_unsync()
}

/// Body in pieces, with a pause before each but the first.
fn pieces(count: usize, piece: &'static [u8], pause: Duration) -> Body {
    let pieces = stream::iter(0..count).then(move |number| async move {
        if number > 0 && !pause.is_zero() {
            sleep(pause).await;
        }
        Ok::<_, Infallible>(Frame::data(Bytes::from_static(piece)))
    });
    StreamBody::new(pieces).map_err(|never| match never {}).boxed_unsync()
}

/// Anonymous: gigabytes of bodies that belong to no caller, in many streams.
async fn unwanted_bodies(target: Target) -> String {
    static PIECE: [u8; 16 * 1024] = [b' '; 16 * 1024];
    let answers = Arc::new(AtomicUsize::new(0));
    let upload = async |answers: Arc<AtomicUsize>| {
        let Ok(connection) = target.connect().await else { return };
        let sent = (0..100).map(|_| {
            let (mut connection, answers) = (connection.clone(), Arc::clone(&answers));
            async move {
                let body = pieces(3 * MIB / PIECE.len(), &PIECE, Duration::ZERO);
                if send(&mut connection, request("POST", "plan", "", body)).await.is_ok() {
                    answers.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        join_all(sent).await;
    };
    for _ in 0..10 {
        join_all([upload(Arc::clone(&answers)), upload(Arc::clone(&answers))]).await;
    }
    format!("unwanted bodies: {} of 2000 answered", answers.load(Ordering::Relaxed))
}

/// Anonymous: more connections than there are slots, silent ones and such with half a handshake.
async fn idle_connections(target: Target) -> String {
    let mut held = Vec::new();
    for number in 0..600 {
        let Ok(mut stream) = TcpStream::connect(target.address).await else { continue };
        if number % 2 == 0 {
            let _ = stream.write_all(&[0x16, 3, 1]).await;
        }
        held.push(stream);
    }
    let encrypted: Vec<_> =
        stream::iter(0..300).map(|_| target.tls()).buffer_unordered(20).collect::<Vec<_>>().await;
    let open = encrypted.iter().filter(|stream| stream.is_ok()).count();
    format!("idle connections: {} silent, {open} encrypted", held.len())
}

/// Anonymous: tokens that the cluster does not know.
async fn unknown_tokens(target: Target) -> String {
    let attempts = (0..30).map(|connection| {
        let target = target.clone();
        async move {
            let mut refused = 0;
            let Ok(client) = target.connect().await else { return 0 };
            let sent = (0..20).map(|number| {
                let mut client = client.clone();
                async move {
                    let token = format!("unknown-{connection}-{number}");
                    send(&mut client, request("GET", "explain", &token, full(""))).await
                }
            });
            for answer in join_all(sent).await.into_iter().flatten() {
                assert!(matches!(answer.status().as_u16(), 401 | 429), "{}", answer.status());
                refused += 1;
            }
            refused
        }
    });
    format!("unknown tokens: {} of 600 answered", join_all(attempts).await.into_iter().sum::<usize>())
}

/// Authenticated: the largest and the most costly bodies, as many at a time as possible.
async fn costly_previews(target: Target, token: String) -> String {
    let with = |key: &str, value: Json| {
        let mut object = workload();
        object["spec"]["containers"]["app"][key] = value;
        Bytes::from(object.to_string())
    };
    let numbers = |count: usize| Json::Array(vec![json!(0); count]);
    let variables: serde_json::Map<String, Json> =
        (0..9_000).map(|number| (format!("V{number}"), json!("${metadata.name}"))).collect();
    let bodies = [
        with("args", numbers(1_500_000)),
        with("args", numbers(19_000)),
        with("args", json!(["x".repeat(3 * MIB - 1000)])),
        with("variables", Json::Object(variables)),
        with("files", json!({"/a": {"content": "${a.b} ".repeat(400_000)}})),
    ];
    let mut statuses = std::collections::BTreeMap::<String, usize>::new();
    for body in &bodies {
        let requests = (0..4).map(|_| {
            let (target, token, body) = (target.clone(), token.clone(), body.clone());
            async move {
                let Ok(client) = target.connect().await else { return Vec::new() };
                let sent = (0..16).map(|_| {
                    let (mut client, token, body) = (client.clone(), token.clone(), body.clone());
                    async move {
                        let response = send(&mut client, request("POST", "plan", &token, full(body))).await;
                        let Ok(response) = response else { return "broken".to_owned() };
                        let status = response.status().to_string();
                        let _ = response.into_body().collect().await;
                        status
                    }
                });
                join_all(sent).await
            }
        });
        for status in join_all(requests).await.into_iter().flatten() {
            *statuses.entry(status).or_default() += 1;
        }
    }
    format!("costly previews: {statuses:?}")
}

/// Authenticated: bodies that trickle, so that they hold what they have reserved.
async fn slow_bodies(target: Target, token: String) -> String {
    let Ok(client) = target.connect().await else { return "slow bodies: refused".to_owned() };
    let sent = (0..30).map(|_| {
        let (mut client, token) = (client.clone(), token.clone());
        async move {
            let body = pieces(30, b" ", Duration::from_secs(1));
            send(&mut client, request("POST", "plan", &token, body)).await.map(|answer| answer.status())
        }
    });
    let answers = join_all(sent).await.into_iter().flatten().count();
    format!("slow bodies: {answers} of 30 answered")
}

/// Authenticated: answers that nobody reads, and followed logs.
async fn unread_answers(target: Target, token: String) -> String {
    let mut held = Vec::new();
    for _ in 0..20 {
        let Ok(client) = target.connect().await else { continue };
        for part in ["explain", "logs?follow=true"] {
            let sent = (0..10).map(|_| {
                let (mut client, token) = (client.clone(), token.clone());
                async move { send(&mut client, request("GET", part, &token, full(""))).await }
            });
            let sent = join_all(sent);
            // Logs that are followed have no header before their first line.
            if let Ok(answers) = timeout(Duration::from_secs(1), sent).await {
                held.extend(answers.into_iter().flatten());
            }
        }
    }
    format!("unread answers: {}", held.len())
}
