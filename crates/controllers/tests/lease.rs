//! Leader election: never two leaders, and a new leader when the old one is gone.
//!
//! The clock is paused and moves only when a test advances it. Tokio's paused clock advances by itself whenever all tasks
//! wait, also for the server, which works on threads of its own; a blocking task prevents that.

use std::{sync::mpsc, time::Duration};

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use kube::{Api, Client};
use orchestra_controllers::{
    engine::lease::{Leadership, Options},
    engine::shutdown::{self, ShutdownTrigger},
};
use orchestra_testkit::{Matching, TestEnv, Verb};
use tokio::{
    sync::watch,
    task::JoinHandle,
    time::{Instant, advance},
};

/// Paused clock that does not advance by itself while this value lives.
struct PausedClock {
    _released: mpsc::Sender<()>,
}

fn pause_clock() -> PausedClock {
    let (released, end) = mpsc::channel();
    tokio::time::pause();
    // Tokio's clock does not advance by itself while a blocking task runs.
    tokio::task::spawn_blocking(move || end.recv());
    PausedClock { _released: released }
}

const TIMING: Options = Options { lease: Duration::from_secs(15), renew: Duration::from_secs(5) };

struct Contender {
    leading: watch::Receiver<bool>,
    task: JoinHandle<()>,
    stopper: ShutdownTrigger,
}

fn contend(client: Client, identity: &str) -> Contender {
    let (stopper, stop) = shutdown::channel();
    let (leading, task) = Leadership::contend(client, "default", "orchestra", identity, TIMING, stop);
    Contender { leading, task, stopper }
}

impl Contender {
    async fn leads(&mut self) {
        self.leading.wait_for(|leading| *leading).await.unwrap();
    }

    async fn stops_leading(&mut self) {
        self.leading.wait_for(|leading| !*leading).await.unwrap();
    }

    fn is_leading(&self) -> bool {
        *self.leading.borrow()
    }
}

async fn lease(env: &TestEnv) -> LeaseSpec {
    let leases: Api<Lease> = Api::namespaced(env.client(), "default");
    leases.get("orchestra").await.unwrap().spec.unwrap()
}

#[tokio::test]
async fn after_a_graceful_shutdown_the_next_leads_at_once() {
    let env = TestEnv::start().await;
    let _clock = pause_clock();
    let start = Instant::now();
    let mut first = contend(env.client(), "first");
    first.leads().await;
    let watched = env.faults().hold(Matching::any().verb(Verb::Watch), 1);
    let mut second = contend(env.faulty_client(), "second");
    watched.until_triggered().await;
    watched.release();
    assert!(!second.is_leading());

    first.stopper.trigger();
    first.task.await.unwrap();
    assert!(!*first.leading.borrow());
    second.leads().await;
    assert_eq!(start.elapsed(), Duration::ZERO);
    let spec = lease(&env).await;
    assert_eq!((spec.holder_identity.as_deref(), spec.lease_transitions), (Some("second"), Some(1)));

    second.stopper.trigger();
    second.task.await.unwrap();
    assert_eq!(lease(&env).await.holder_identity, None);
}

#[tokio::test]
async fn a_contender_that_loses_the_creation_of_the_lease_watches_it_at_once() {
    let env = TestEnv::start().await;
    let _clock = pause_clock();
    let made = env.faults().hold(Matching::any().verb(Verb::Create), 1);
    let watched = env.faults().hold(Matching::any().verb(Verb::Watch), 1);
    let second = contend(env.faulty_client(), "second");
    made.until_triggered().await;
    let mut first = contend(env.client(), "first");
    first.leads().await;
    made.release();
    // It watches without waiting for its next attempt: the clock stands still.
    watched.until_triggered().await;
    assert!(first.is_leading() && !second.is_leading());
    watched.release();
}

#[tokio::test]
async fn after_a_crash_the_next_leads_when_the_lease_expires() {
    let env = TestEnv::start().await;
    let _clock = pause_clock();
    let mut first = contend(env.client(), "first");
    first.leads().await;
    first.task.abort();
    let crash = Instant::now();
    let second = contend(env.client(), "second");
    while !second.is_leading() {
        advance(Duration::from_millis(500)).await;
    }
    assert!(crash.elapsed() >= Duration::from_secs(15), "{:?}", crash.elapsed());
    assert_eq!(lease(&env).await.holder_identity.as_deref(), Some("second"));
}

#[tokio::test]
async fn a_leader_that_renews_keeps_leading() {
    let env = TestEnv::start().await;
    let _clock = pause_clock();
    let mut first = contend(env.faulty_client(), "first");
    first.leads().await;
    let second = contend(env.client(), "second");
    for _ in 0..10 {
        let before = lease(&env).await.renew_time;
        let renewal = env.faults().hold(Matching::any().verb(Verb::Update), 1);
        while !renewal.is_triggered() {
            advance(Duration::from_millis(500)).await;
        }
        renewal.release();
        while lease(&env).await.renew_time == before {}
        assert!(first.is_leading() && !second.is_leading());
    }
    assert_eq!(lease(&env).await.lease_transitions, Some(0));
}

#[tokio::test]
async fn a_leader_that_cannot_renew_stops_before_another_can_start() {
    let env = TestEnv::start().await;
    let _clock = pause_clock();
    let mut first = contend(env.faulty_client(), "first");
    first.leads().await;
    let second = contend(env.client(), "second");
    let renewal = env.faults().hold(Matching::any().verb(Verb::Update), 1);
    let reads = (1..100).map(|nth| env.faults().hold(Matching::any().verb(Verb::Get), nth));
    let _partition: Vec<_> = reads.collect();
    let mut steps = 0;
    while first.is_leading() {
        assert!(!second.is_leading());
        advance(Duration::from_millis(100)).await;
        steps += 1;
    }
    assert!(renewal.is_triggered() && (134..150).contains(&steps), "{steps}");
    while !second.is_leading() {
        assert!(!first.is_leading());
        advance(Duration::from_millis(100)).await;
        steps += 1;
    }
    assert!(steps >= 150, "{steps}");
    renewal.release();
    first.stops_leading().await;
    assert_eq!(lease(&env).await.holder_identity.as_deref(), Some("second"));
}

#[tokio::test]
async fn a_leader_whose_lease_was_taken_stops_at_its_next_renewal() {
    let env = TestEnv::start().await;
    let _clock = pause_clock();
    let mut first = contend(env.client(), "first");
    first.leads().await;
    let leases: Api<Lease> = Api::namespaced(env.client(), "default");
    let mut taken = leases.get("orchestra").await.unwrap();
    taken.spec.as_mut().unwrap().holder_identity = Some("usurper".to_owned());
    leases.replace("orchestra", &kube::api::PostParams::default(), &taken).await.unwrap();
    advance(Duration::from_secs(6)).await;
    first.stops_leading().await;
    assert_eq!(lease(&env).await.holder_identity.as_deref(), Some("usurper"));
}

#[tokio::test]
async fn of_many_contenders_exactly_one_leads() {
    let env = TestEnv::start().await;
    let _clock = pause_clock();
    let mut all: Vec<_> = (0..8).map(|n| contend(env.client(), &format!("contender-{n}"))).collect();
    let first = all.iter_mut().map(|contender| Box::pin(contender.leads()));
    futures_util::future::select_all(first).await;
    assert_eq!(all.iter().filter(|contender| contender.is_leading()).count(), 1);
    // Each leader stops and the next takes over, until all have led.
    while !all.is_empty() {
        let leader = loop {
            if let Some(leader) = all.iter().position(Contender::is_leading) {
                break leader;
            }
            advance(Duration::from_millis(100)).await;
        };
        assert_eq!(all.iter().filter(|contender| contender.is_leading()).count(), 1);
        let leader = all.swap_remove(leader);
        leader.stopper.trigger();
        leader.task.await.unwrap();
    }
}
