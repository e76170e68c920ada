//! The runtime `kubernetes`: plans as objects of the cluster whose API the platform itself uses.
//!
//! ```text
//! plan ── core::render ──► objects ── apply ──► the cluster ── watch ──► memory ── core::observe ──► what is told
//! ```
//!
//! What a plan becomes, and what is told of it, is decided by pure functions of `orchestra_core`. Here it is sent
//! (`apply`, `remove`), and what passes by is remembered in a few words each (`watch`, `held`, `memory`): an object is sent
//! only if what we own of it differs from what is wanted, and nothing is read again that a watch has told.

mod apply;
mod held;
mod kind;
mod logs;
mod look;
mod memory;
mod refusal;
mod remove;
mod watch;

use std::{
    fmt, io,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use futures_util::{future::BoxFuture, stream::BoxStream};
use kube::Client;
use orchestra_api::{
    label,
    plan::{InventoryItem, WorkloadPlanSpec},
};
use orchestra_core::render::kubernetes as render;
pub use orchestra_core::render::kubernetes::CLASS;
use tokio::{
    sync::{OnceCell, watch as channel},
    task::JoinSet,
};

use self::{
    apply::subject,
    kind::Kind,
    memory::Memory,
    watch::{Seen, Watching},
};
use crate::{DriverError, LogLine, LogWish, Observation, Removed, Runtime, Secrets, Target, news::News};

/// The name under which fields are owned.
const MANAGER: &str = "score.dev/kubernetes";
/// How long the first look at the cluster may take.
const FIRST_LOOK: Duration = Duration::from_secs(10);

/// The runtime `kubernetes`.
pub struct Kubernetes {
    client: Client,
    memory: Memory,
    news: News,
    seen: channel::Sender<Seen>,
    /// What watches the cluster, once somebody wants to know.
    watches: Mutex<JoinSet<()>>,
    /// Set when the first look is over.
    looked: OnceCell<()>,
    node_address: OnceCell<String>,
}

impl fmt::Debug for Kubernetes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kubernetes").field("is_watching", &self.is_watching()).finish_non_exhaustive()
    }
}

impl Kubernetes {
    /// The runtime of the cluster behind a client. Nothing is asked of it yet.
    pub fn open(client: Client) -> Self {
        Self {
            client,
            memory: Memory::default(),
            news: News::default(),
            seen: channel::Sender::new(Seen::default()),
            watches: Mutex::default(),
            looked: OnceCell::new(),
            node_address: OnceCell::new(),
        }
    }

    fn is_watching(&self) -> bool {
        !self.watches.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Whether all objects of a kind that are ours are known.
    fn has_seen(&self, kind: Kind) -> bool {
        self.seen.borrow().listed.contains(&kind)
    }

    /// Begins to watch, if nothing is watched yet.
    fn watch(&self) {
        let mut watches = self.watches.lock().unwrap_or_else(PoisonError::into_inner);
        if !watches.is_empty() {
            return;
        }
        let watching =
            Watching { memory: self.memory.clone(), news: self.news.clone(), seen: self.seen.clone() };
        for kind in Kind::WATCHED {
            watches.spawn(watching.clone().kind(self.client.clone(), kind));
        }
        watches.spawn(watching.clone().gateway(self.client.clone()));
        watches.spawn(watching.clone().files(self.client.clone()));
        watches.spawn(watching.inquire(self.client.clone()));
    }

    /// Waits until everything that is watched was seen once.
    async fn informed(&self) {
        if !self.is_watching() {
            return;
        }
        let look = async {
            let mut seen = self.seen.subscribe();
            // It cannot fail: the sender lives as long as the runtime.
            let looked = tokio::time::timeout(FIRST_LOOK, seen.wait_for(Seen::is_all)).await;
            if looked.is_err() {
                tracing::warn!("not everything in the cluster could be listed in time");
            }
        };
        self.looked.get_or_init(|| look).await;
    }
}

impl Runtime for Kubernetes {
    fn class(&self) -> &str {
        CLASS
    }

    fn lacks(&self, plan: &WorkloadPlanSpec) -> Vec<String> {
        render::lacks(plan)
    }

    fn inventory(&self, target: &Target) -> Vec<InventoryItem> {
        let id = (target.namespace.clone(), target.name.clone());
        let Some(rendered) = self.memory.rendered(&id, &target.plan.revision) else {
            return render::inventory(&subject(target));
        };
        let item = |(kind, name, _): &(Kind, Box<str>, _)| InventoryItem {
            kind: kind.written(),
            name: name.to_string(),
            id: None,
        };
        let mut all: Vec<_> = rendered.objects.iter().map(item).collect();
        all.sort();
        all
    }

    fn apply<'a>(
        &'a self,
        target: &'a Target,
        secrets: &'a dyn Secrets,
    ) -> BoxFuture<'a, Result<(), DriverError>> {
        Box::pin(self.settle(target, secrets))
    }

    fn observe<'a>(&'a self, target: &'a Target) -> BoxFuture<'a, Result<Observation, DriverError>> {
        Box::pin(self.look(target))
    }

    fn remove<'a>(
        &'a self,
        target: &'a Target,
        inventory: &'a [InventoryItem],
    ) -> BoxFuture<'a, Result<Removed, DriverError>> {
        Box::pin(self.take_down(target, inventory))
    }

    fn logs(&self, namespace: &str, name: &str, wish: LogWish) -> BoxStream<'static, io::Result<LogLine>> {
        logs::read(self.client.clone(), namespace, name, wish)
    }

    fn changes(&self) -> BoxStream<'static, (String, String)> {
        let changes = self.news.listen();
        self.watch();
        changes
    }
}

/// Which objects of a kind are watched: those of Workloads, and the routes of claims.
fn selector(kind: Kind) -> &'static str {
    match kind {
        Kind::Ingress | Kind::HttpRoute => "app.kubernetes.io/managed-by=orchestra",
        _ => "app.kubernetes.io/managed-by=orchestra,score.dev/workload",
    }
}

/// Which objects are of a Workload.
fn of_workload(name: &str) -> String {
    format!("{}={},{}={name}", label::MANAGED_BY, label::ORCHESTRA, label::WORKLOAD)
}
