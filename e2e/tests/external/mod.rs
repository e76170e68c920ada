//! External provisioner and runtime, each in its own process, with only the API and the role that is shipped for it.

mod fixture;
mod provisioner;

use std::{collections::BTreeSet, fs, path::Path};

use orchestra_controllers::Controllers;
use orchestra_e2e::platform::{Embedded, clear};
use orchestra_testkit::scripted::ScriptedRuntime;
use serde_json::{Value as Json, json};

use self::fixture::{ChildProcess, Fixture, NAMESPACE};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn external_drivers_provide_and_run_on_the_embedded_server() {
    let server = Embedded::start().await.unwrap();
    external_drivers_provide_and_run(server.kubeconfig()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a cluster: KUBECONFIG"]
async fn external_drivers_provide_and_run_on_a_real_server() {
    let kubeconfig = std::env::var("KUBECONFIG").unwrap();
    external_drivers_provide_and_run(Path::new(&kubeconfig)).await;
}

async fn external_drivers_provide_and_run(server: &Path) {
    let fixture = Fixture::set_up(server).await;
    let (controllers, processes, token) = start_one_after_the_other(&fixture).await;
    let processes = change_while_processes_restart(&fixture, processes, &token).await;
    share_a_queue(&fixture).await;
    move_to_another_backend(&fixture).await;
    controllers.stop().await;
    let controllers = move_to_a_built_in_runtime_and_back(&fixture, &token).await;
    fixture.delete("shop").await;
    assert_eq!(fixture.left().await, BTreeSet::new());
    controllers.stop().await;
    drop(processes);
    clear(&fixture.access.admin, NAMESPACE).await.unwrap();
}

/// The orchestrator starts without drivers, then the provisioner, then the runtime. Returns the token of the queue.
async fn start_one_after_the_other(fixture: &Fixture) -> (Controllers, [ChildProcess; 2], String) {
    let controllers = fixture.controllers(Vec::new()).await;
    fixture.apply("shop", json!({}), spec(1, "one")).await;
    fixture.until("shop", "ClaimsReady", "False", "BindingPending").await;

    let provisioner = fixture.provisioner();
    let waiting = fixture.until("shop", "RuntimeReady", "False", "RuntimeProvisioning").await;
    assert_eq!(waiting["status"]["claims"][0]["message"], "The queue takes messages.");
    let runtime = fixture.runtime();
    let ready = fixture.until("shop", "Ready", "True", "Succeeded").await;
    assert_eq!(ready["status"]["endpoint"], "http://shop.external.here.example.org");
    let secrets = fixture.all_secrets().await;
    let [secret] = secrets.as_slice() else { panic!("{secrets:?}") };
    let token = String::from_utf8(secret.data.clone().unwrap()["token"].0.clone()).unwrap();
    let environment = fs::read_to_string(fixture.file("here", "shop")).unwrap();
    assert!(environment.contains(&format!("app/TOKEN=it is {token}\n")), "{environment}");
    assert!(
        environment.contains("app/SHARDS=1\n") && environment.contains("app/STEP=one\n"),
        "{environment}"
    );
    let plan = fixture.plans().get("shop").await.unwrap();
    assert!(!serde_json::to_string(&plan).unwrap().contains(&token), "the plan contains the token");
    (controllers, [provisioner, runtime], token)
}

/// A dependency changes while both processes are killed and restarted.
async fn change_while_processes_restart(
    fixture: &Fixture,
    processes: [ChildProcess; 2],
    token: &str,
) -> [ChildProcess; 2] {
    drop(processes);
    fixture.apply("shop", json!({}), spec(3, "two")).await;
    fixture.until("shop", "Ready", "False", "BindingPending").await;
    let processes = [fixture.provisioner(), fixture.runtime()];
    fixture.until("shop", "Ready", "True", "Succeeded").await;
    let environment = fs::read_to_string(fixture.file("here", "shop")).unwrap();
    assert!(
        environment.contains("app/SHARDS=3\n") && environment.contains("app/STEP=two\n"),
        "{environment}"
    );
    assert!(environment.contains(token), "the token has changed");
    processes
}

/// Two Workloads share one queue, which stays when one of them is deleted.
async fn share_a_queue(fixture: &Fixture) {
    fixture.apply("till", json!({}), spec(3, "two")).await;
    fixture.until("till", "Ready", "True", "Succeeded").await;
    assert_eq!(fixture.all_secrets().await.len(), 1);
    fixture.delete("till").await;
    assert_eq!(fixture.all_secrets().await.len(), 1);
}

/// Move to another backend of the same runtime.
async fn move_to_another_backend(fixture: &Fixture) {
    fixture.apply("shop", json!({"score.dev/move": "there"}), spec(3, "two")).await;
    fixture.until_endpoint("shop", "http://shop.external.there.example.org").await;
    assert_eq!(fixture.files(), ["there.external.shop"]);
}

/// Move to a built-in runtime, and back.
async fn move_to_a_built_in_runtime_and_back(fixture: &Fixture, token: &str) -> Controllers {
    let ours = ScriptedRuntime::new("scripted");
    let controllers = fixture.controllers(vec![ours.clone()]).await;
    fixture.apply("shop", json!({"score.dev/move": "ours"}), spec(3, "two")).await;
    fixture.until_endpoint("shop", "http://shop.external.example.test").await;
    assert_eq!(ours.running(NAMESPACE, "shop").unwrap().variables["app/TOKEN"], format!("it is {token}"));
    assert_eq!(fixture.files(), Vec::<String>::new());
    fixture.apply("shop", json!({"score.dev/move": "here"}), spec(3, "two")).await;
    fixture.until_endpoint("shop", "http://shop.external.here.example.org").await;
    assert_eq!((fixture.files(), ours.all().len()), (vec!["here.external.shop".to_owned()], 0));
    controllers
}

fn spec(shards: u32, step: &str) -> Json {
    json!({
        "containers": {"app": {"image": "nginx", "variables": {
            "TOKEN": "it is ${resources.jobs.token}", "SHARDS": "${resources.jobs.shards}", "STEP": step,
        }}},
        "service": {"ports": {"web": {"port": 80}}},
        "resources": {"jobs": {"type": "queue", "id": "jobs", "params": {"shards": shards}}},
    })
}
