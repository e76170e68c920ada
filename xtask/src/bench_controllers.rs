//! Benchmarks of the controllers for `benches/RESULTS.md`: latency, throughput, memory and writes per Workload.
//!
//! Runtime and provisioner are instant, so that only our own time is measured. The embedded API uses the durable store.
//! With a kubeconfig the API is a real server, and memory is measured in a separate process with the controllers only.

#![allow(clippy::cast_precision_loss, reason = "figures are printed with one digit")]

use std::{
    fs,
    path::Path,
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use axum::http::{Method, Request};
use futures_util::{StreamExt, TryStreamExt, stream};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api, Client, Config,
    api::{DeleteParams, ListParams, Patch, PatchParams},
    config::{KubeConfigOptions, Kubeconfig},
};
use orchestra_api::{ConditionStatus, ConditionType, Workload, crd};
use orchestra_apiserver::{
    Api as Embedded, Caller, Options as ServerOptions,
    store::{Folder, Redb},
};
use orchestra_controllers::{Controllers, Options};
use orchestra_testkit::scripted::{ScriptedProvisioner, ScriptedRuntime};
use serde_json::{Value as Json, json};
use tower::ServiceBuilder;

use crate::budgets::{self, Verdict};

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Workloads applied sequentially.
const SEQUENTIAL_WORKLOADS: usize = 300;
/// Workloads applied concurrently.
const CONCURRENT_WORKLOADS: usize = 1_000;
/// Concurrent requests while Workloads are applied.
const MAX_CONCURRENT_REQUESTS: usize = 16;
/// Namespace of the Workloads.
const NAMESPACE: &str = "bench";

const DOCUMENT: &str = "
apiVersion: score.dev/v1b1
kind: OrchestratorConfig
spec:
  profiles: [{name: web-service, backends: [{backendId: here, runtimeClass: scripted}]}]
  provisioners: [{type: postgres, engine: builtin}]
";

/// Prints the measurements, and compares them with the budgets.
pub(crate) fn run(server: Option<&Path>, held: usize) -> Result<(), String> {
    if cfg!(debug_assertions) {
        return Err("run it with `cargo run --profile dist -p xtask -- bench-controllers`".to_owned());
    }
    let runtime = tokio::runtime::Runtime::new().map_err(|error| error.to_string())?;
    runtime.block_on(measure(server, held)).map_err(|error| error.to_string())
}

/// Prints the memory of controllers that start with the objects of a server.
pub(crate) fn hold(server: &Path) -> Result<(), String> {
    let runtime = tokio::runtime::Runtime::new().map_err(|error| error.to_string())?;
    let holding = async {
        let client = connect(server).await?;
        let controllers = Controllers::start(client.clone(), options(&client)).await?;
        controllers.idle().await;
        println!("{}", resident()?);
        controllers.stop().await;
        Ok::<(), Failure>(())
    };
    runtime.block_on(holding).map_err(|error| error.to_string())
}

/// Memory of the controllers in a separate process, in bytes.
fn held_alone(server: &Path) -> Result<usize, Failure> {
    let program = std::env::current_exe()?;
    let output = Command::new(program).arg("hold-controllers").arg("--server").arg(server).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().parse().map_err(|_| String::from_utf8_lossy(&output.stderr).into_owned().into())
}

async fn connect(kubeconfig: &Path) -> Result<Client, Failure> {
    let config = Kubeconfig::read_from(kubeconfig)?;
    let config = Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await?;
    Ok(Client::try_from(config)?)
}

/// Controllers with an instant runtime and an instant provisioner.
fn options(client: &Client) -> Options {
    Options {
        runtimes: vec![Arc::new(ScriptedRuntime::new("scripted"))],
        provisioners: vec![Arc::new(ScriptedProvisioner::new("builtin", "secret", client.clone()))],
        ..Options::default()
    }
}

async fn measure(server: Option<&Path>, held: usize) -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    let writes = Arc::new(AtomicUsize::new(0));
    let (client, counted) = if let Some(kubeconfig) = server {
        let client = connect(kubeconfig).await?;
        (client.clone(), client)
    } else {
        let store = Redb::open(Folder::hold(folder.path())?)?;
        let api = Embedded::open(store, ServerOptions::default()).await?;
        let (router, counter) = (api.router_for(Caller::admin()), Arc::clone(&writes));
        let counting = ServiceBuilder::new()
            .map_request(move |request: Request<kube::client::Body>| {
                let is_event = request.uri().path().contains("/events");
                if !is_event && !matches!(*request.method(), Method::GET) {
                    counter.fetch_add(1, Ordering::Relaxed);
                }
                request
            })
            .service(router.clone());
        (Client::new(router, NAMESPACE), Client::new(counting, NAMESPACE))
    };
    prepare(&client).await?;
    let memory = || server.map_or_else(resident, held_alone);
    let is_embedded = server.is_none();
    let mut verdict = Verdict::default();
    let empty = memory()?;
    let controllers = Controllers::start(counted.clone(), options(&client)).await?;
    let workloads: Api<Workload> = Api::namespaced(client.clone(), NAMESPACE);
    println!("resident with nothing: {:.1} MiB", mebibytes(empty));

    let mut times = Vec::new();
    writes.store(0, Ordering::Relaxed);
    for index in 0..SEQUENTIAL_WORKLOADS {
        times.push(one(&workloads, &format!("single-{index}")).await?);
    }
    let per_workload = writes.load(Ordering::Relaxed) as f64 / SEQUENTIAL_WORKLOADS as f64;
    times.sort_unstable();
    let p99 = millis(times[SEQUENTIAL_WORKLOADS * 99 / 100]);
    println!(
        "apply to Ready, one at a time, of {SEQUENTIAL_WORKLOADS}: median {:.1} ms, p99 {p99:.1} ms, worst {:.1} ms; {per_workload:.2} writes each",
        millis(times[SEQUENTIAL_WORKLOADS / 2]),
        millis(times[SEQUENTIAL_WORKLOADS - 1])
    );
    if is_embedded {
        verdict.check(&budgets::READY, p99);
        verdict.check(&budgets::WRITES, per_workload);
    }

    let started = Instant::now();
    apply_many(&workloads, "many", CONCURRENT_WORKLOADS, with_claim()).await?;
    until_ready(&workloads, SEQUENTIAL_WORKLOADS + CONCURRENT_WORKLOADS).await?;
    let ready = started.elapsed().as_secs_f64();
    println!("{CONCURRENT_WORKLOADS} with one claim each, applied at once, all Ready: {ready:.2} s");
    if is_embedded {
        verdict.check(&budgets::READY_WITH_CLAIMS, ready);
    }

    if held > SEQUENTIAL_WORKLOADS + CONCURRENT_WORKLOADS {
        let started = Instant::now();
        apply_many(&workloads, "held", held - SEQUENTIAL_WORKLOADS - CONCURRENT_WORKLOADS, without_claim())
            .await?;
        until_ready(&workloads, held).await?;
        println!(
            "{} more, all Ready: {:.1} s",
            held - SEQUENTIAL_WORKLOADS - CONCURRENT_WORKLOADS,
            started.elapsed().as_secs_f64()
        );
        controllers.idle().await;
        let now = memory()?;
        let each = (now as f64 - empty as f64) / held as f64 / 1024.0;
        println!(
            "resident with {held}: {:.1} MiB; ({now} − {empty}) / {held} = {each:.1} KiB each",
            mebibytes(now)
        );
        if !is_embedded {
            verdict.check(&budgets::WORKLOAD_MEMORY, each);
        }
        controllers.stop().await;
        writes.store(0, Ordering::Relaxed);
        let started = Instant::now();
        let controllers = Controllers::start(counted, options(&client)).await?;
        controllers.idle().await;
        let written = writes.load(Ordering::Relaxed);
        println!("a second pass over {held}: {written} writes, {:.2} s", started.elapsed().as_secs_f64());
        if is_embedded {
            verdict.check(&budgets::SECOND_PASS, written as f64);
        }
        controllers.stop().await;
    }
    if server.is_some() {
        workloads.delete_collection(&DeleteParams::default(), &ListParams::default()).await?;
    }
    Ok(verdict.finish()?)
}

async fn prepare(client: &Client) -> Result<(), Failure> {
    let apply = PatchParams::apply("bench").force();
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    for definition in crd::all() {
        let name = definition.metadata.name.clone().unwrap_or_default();
        definitions.patch(&name, &apply, &Patch::Apply(definition)).await?;
    }
    let namespaces: Api<k8s_openapi::api::core::v1::Namespace> = Api::all(client.clone());
    for name in ["score-system", NAMESPACE] {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        namespaces.patch(name, &apply, &Patch::Apply(namespace)).await?;
    }
    let maps: Api<k8s_openapi::api::core::v1::ConfigMap> = Api::namespaced(client.clone(), "score-system");
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "orchestrator-config"},
        "data": {"config.yaml": DOCUMENT},
    });
    maps.patch("orchestrator-config", &apply, &Patch::Apply(map)).await?;
    let workloads: Api<Workload> = Api::namespaced(client.clone(), NAMESPACE);
    while workloads.list(&ListParams::default().limit(1)).await.is_err() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(())
}

/// Applies one Workload, and returns the time until it is ready.
async fn one(workloads: &Api<Workload>, name: &str) -> Result<Duration, Failure> {
    let version = workloads.list(&ListParams::default().limit(1)).await?.metadata.resource_version;
    let started = Instant::now();
    apply(workloads, name, without_claim()).await?;
    let params = kube::api::WatchParams::default().fields(&format!("metadata.name={name}"));
    let events = workloads.watch(&params, &version.unwrap_or_default()).await?;
    let mut events = std::pin::pin!(events);
    while let Some(event) = events.try_next().await? {
        if let kube::api::WatchEvent::Added(workload) | kube::api::WatchEvent::Modified(workload) = event
            && is_ready(&workload)
        {
            return Ok(started.elapsed());
        }
    }
    Err("the watch ended".into())
}

async fn apply(workloads: &Api<Workload>, name: &str, spec: Json) -> Result<(), Failure> {
    let object = json!({
        "apiVersion": "score.dev/v1b1", "kind": "Workload", "metadata": {"name": name}, "spec": spec,
    });
    workloads.patch(name, &PatchParams::apply("bench").force(), &Patch::Apply(object)).await?;
    Ok(())
}

async fn apply_many(
    workloads: &Api<Workload>,
    prefix: &str,
    count: usize,
    spec: Json,
) -> Result<(), Failure> {
    stream::iter((0..count).map(Ok::<_, Failure>))
        .try_for_each_concurrent(MAX_CONCURRENT_REQUESTS, async |index| {
            apply(workloads, &format!("{prefix}-{index}"), spec.clone()).await
        })
        .await
}

async fn until_ready(workloads: &Api<Workload>, count: usize) -> Result<(), Failure> {
    let listed = workloads.list(&ListParams::default()).await?;
    let mut ready: std::collections::BTreeSet<String> =
        listed.items.iter().filter(|w| is_ready(w)).map(name).collect();
    let version = listed.metadata.resource_version.unwrap_or_default();
    drop(listed.items);
    let events = workloads.watch(&kube::api::WatchParams::default().timeout(290), &version).await?;
    let mut events = std::pin::pin!(events);
    while ready.len() < count {
        let Some(event) = events.next().await.transpose()? else { return Err("the watch ended".into()) };
        if let kube::api::WatchEvent::Added(workload) | kube::api::WatchEvent::Modified(workload) = event
            && is_ready(&workload)
        {
            ready.insert(name(&workload));
        }
    }
    Ok(())
}

fn name(workload: &Workload) -> String {
    workload.metadata.name.clone().unwrap_or_default()
}

fn is_ready(workload: &Workload) -> bool {
    let conditions = workload.status.iter().flat_map(|status| &status.conditions);
    conditions
        .filter(|condition| condition.type_ == ConditionType::Ready)
        .any(|condition| condition.status == ConditionStatus::True)
}

fn without_claim() -> Json {
    json!({
        "containers": {"main": {"image": "nginx", "variables": {"A": "b", "NAME": "${metadata.name}"}}},
        "service": {"ports": {"web": {"port": 80}}},
    })
}

fn with_claim() -> Json {
    json!({
        "containers": {"main": {"image": "nginx", "variables": {"DB": "${resources.db.host}:${resources.db.password}"}}},
        "service": {"ports": {"web": {"port": 80}}},
        "resources": {"db": {"type": "postgres"}},
    })
}

/// Resident memory of this process, in bytes.
fn resident() -> Result<usize, Failure> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).ok_or("no VmRSS")?;
    let kibibytes: usize = line.split_whitespace().nth(1).ok_or("no number")?.parse()?;
    Ok(kibibytes * 1024)
}

fn mebibytes(bytes: usize) -> f64 {
    bytes as f64 / 1024.0 / 1024.0
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
