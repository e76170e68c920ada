//! Runtime `kubernetes`: plans as objects of the cluster whose API the platform itself uses.
//!
//! ```text
//! plan ── core::render ──► objects ── apply ──► the cluster ── watch ──► cache ── core::observe ──► status
//! ```
//!
//! Pure functions of `orchestra_core` render the objects and derive the status. This module applies and deletes (`apply`,
//! `remove`), and caches a summary of what it watches (`watch`, `object_state`, `cache`): an object is applied only if
//! the fields that we own differ, and nothing is read that a watch delivers.

mod api_error;
mod apply;
mod cache;
mod kind;
mod logs;
mod node_address;
mod object_state;
mod observe;
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
    cache::Cache,
    kind::Kind,
    node_address::NodeAddress,
    watch::{SyncStatus, Watching},
};
use crate::{
    DriverError, LogLine, LogQuery, NamespacedName, Observation, Removed, Runtime, Secrets, Target,
    notify::Notifier,
};

/// Field manager.
const MANAGER: &str = "score.dev/kubernetes";
/// Longest wait for the first list of all kinds; a reconcile without them reads single objects.
const CACHE_SYNC_TIMEOUT: Duration = Duration::from_secs(10);

/// Runtime `kubernetes`.
pub struct Kubernetes {
    client: Client,
    cache: Cache,
    notifier: Notifier,
    sync: channel::Sender<SyncStatus>,
    /// Watches, started by the first subscriber.
    watches: Mutex<JoinSet<()>>,
    /// Set when the first lists are done.
    synced: OnceCell<()>,
    node_address: NodeAddress,
}

impl fmt::Debug for Kubernetes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kubernetes").field("is_watching", &self.is_watching()).finish_non_exhaustive()
    }
}

impl Kubernetes {
    /// Runtime on the cluster of a client. Sends no request yet.
    pub fn open(client: Client) -> Self {
        Self {
            client,
            cache: Cache::default(),
            notifier: Notifier::default(),
            sync: channel::Sender::new(SyncStatus::default()),
            watches: Mutex::default(),
            synced: OnceCell::new(),
            node_address: NodeAddress::default(),
        }
    }

    fn is_watching(&self) -> bool {
        !self.watches.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// True if all our objects of a kind are cached.
    fn has_synced(&self, kind: Kind) -> bool {
        self.sync.borrow().listed.contains(&kind)
    }

    /// Starts the watches, unless they run.
    fn watch(&self) {
        let mut watches = self.watches.lock().unwrap_or_else(PoisonError::into_inner);
        if !watches.is_empty() {
            return;
        }
        let watching =
            Watching { cache: self.cache.clone(), notifier: self.notifier.clone(), sync: self.sync.clone() };
        for kind in Kind::WATCHED {
            watches.spawn(watching.clone().kind(self.client.clone(), kind));
        }
        watches.spawn(watching.clone().gateway(self.client.clone()));
        watches.spawn(watching.clone().files(self.client.clone()));
        watches.spawn(watching.explain_stuck(self.client.clone()));
    }

    /// Waits until all watched kinds were listed once, or for too long. What is listed later is notified.
    async fn wait_for_sync(&self) {
        if !self.is_watching() {
            return;
        }
        let wait = async {
            let mut sync = self.sync.subscribe();
            // Never fails: the sender lives as long as the runtime.
            let is_late =
                tokio::time::timeout(CACHE_SYNC_TIMEOUT, sync.wait_for(SyncStatus::is_all)).await.is_err();
            if is_late {
                tracing::warn!("not everything in the cluster could be listed in time");
            }
            self.sync.send_modify(|sync| sync.is_wait_over = true);
        };
        self.synced.get_or_init(|| wait).await;
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
        let Some(rendered) = self.cache.rendered(&id, &target.plan.revision) else {
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
        Box::pin(self.apply_plan(target, secrets))
    }

    fn observe<'a>(&'a self, target: &'a Target) -> BoxFuture<'a, Result<Observation, DriverError>> {
        Box::pin(self.observe_workload(target))
    }

    fn remove<'a>(
        &'a self,
        target: &'a Target,
        inventory: &'a [InventoryItem],
    ) -> BoxFuture<'a, Result<Removed, DriverError>> {
        Box::pin(self.delete_inventory(target, inventory))
    }

    fn logs(&self, namespace: &str, name: &str, query: LogQuery) -> BoxStream<'static, io::Result<LogLine>> {
        logs::read(self.client.clone(), namespace, name, query)
    }

    fn changes(&self) -> BoxStream<'static, NamespacedName> {
        let changes = self.notifier.subscribe();
        self.watch();
        changes
    }
}

/// Label selector of the watched objects of a kind: those of Workloads, and the routes of claims.
fn selector(kind: Kind) -> &'static str {
    match kind {
        Kind::Ingress | Kind::HttpRoute => "app.kubernetes.io/managed-by=orchestra",
        _ => "app.kubernetes.io/managed-by=orchestra,score.dev/workload",
    }
}

/// Label selector of the objects of a Workload.
fn of_workload(name: &str) -> String {
    format!("{}={},{}={name}", label::MANAGED_BY, label::ORCHESTRA, label::WORKLOAD)
}
