//! The server: its parts, and how they are put together.

use std::sync::{
    Arc, Mutex, PoisonError, RwLock,
    atomic::{AtomicBool, Ordering},
};

use axum::{Extension, Router};
use serde_json::Value;
use tokio::sync::watch;

use crate::{
    access::Caller,
    background,
    clock::Clock,
    http,
    kinds::{Kind, builtin, registry::Registry},
    ledger::{self, Ledger},
    record::Record,
    store::{Key, Store, StoreError},
};

/// An embedded Kubernetes-style API. Clones share it.
#[derive(Clone, Debug)]
pub struct Api(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    ledger: Ledger,
    registry: RwLock<Arc<Registry>>,
    /// One at a time builds a new registry.
    building: Mutex<()>,
    clock: Clock,
    stop: watch::Sender<bool>,
    unfinished: AtomicBool,
}

/// What can be chosen.
#[derive(Clone, Debug)]
pub struct Options {
    /// The time of day.
    pub clock: Clock,
    /// How much history is kept, and how much is taken at once.
    pub ledger: ledger::Options,
}

impl Default for Options {
    fn default() -> Self {
        Self { clock: Clock::system(), ledger: ledger::Options::default() }
    }
}

impl Api {
    /// Opens a server over a store, and starts what goes on in the background: collecting garbage, emptying
    /// namespaces, accepting definitions. Needs a Tokio runtime.
    pub async fn open(store: impl Store, options: Options) -> Result<Self, StoreError> {
        let ledger = Ledger::open(store, options.ledger)?;
        let api = Self(Arc::new(Inner {
            ledger,
            registry: RwLock::default(),
            building: Mutex::new(()),
            clock: options.clock,
            stop: watch::channel(false).0,
            unfinished: AtomicBool::new(false),
        }));
        api.refresh();
        background::start(&api)
            .await
            .map_err(|status| StoreError { action: "prepare the first objects", cause: status.message })?;
        Ok(api)
    }

    /// The API for callers from outside: who they are must be in the request, as [`Caller`].
    pub fn router(&self) -> Router {
        Router::new().fallback(http::handle).with_state(self.clone())
    }

    /// The API for callers of our own process, who all are this one.
    pub fn router_for(&self, caller: Caller) -> Router {
        self.router().layer(Extension(caller))
    }

    /// Ends all watches and the background work; what is written stays.
    pub fn stop(&self) {
        self.0.stop.send_replace(true);
    }

    /// Resolves once [`stop`](Self::stop) was called.
    pub(crate) fn stopped(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut stop = self.0.stop.subscribe();
        async move {
            // An error means that the server is gone altogether.
            let _ = stop.wait_for(|stop| *stop).await;
        }
    }

    /// Whether [`stop`](Self::stop) was called.
    pub(crate) fn is_stopped(&self) -> bool {
        *self.0.stop.borrow()
    }

    /// Something in the background could not be done; it is tried again soon.
    pub(crate) fn come_back(&self) {
        self.0.unfinished.store(true, Ordering::Relaxed);
    }

    /// Whether something is to be tried again.
    pub(crate) fn take_unfinished(&self) -> bool {
        self.0.unfinished.swap(false, Ordering::Relaxed)
    }

    pub(crate) fn ledger(&self) -> &Ledger {
        &self.0.ledger
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.0.clock
    }

    /// The kinds that are served now.
    pub(crate) fn registry(&self) -> Arc<Registry> {
        Arc::clone(&self.0.registry.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Learns the definitions in the store. Called after each change of one, before it is answered.
    pub(crate) fn refresh(&self) {
        let _building = self.0.building.lock().unwrap_or_else(PoisonError::into_inner);
        let previous = self.registry();
        let definitions: Vec<Value> = self
            .0
            .ledger
            .list(builtin::DEFINITIONS, None, None, usize::MAX, None)
            .map(|listed| listed.objects)
            .unwrap_or_default()
            .iter()
            .map(|(_, object)| Record { revision: object.revision, bytes: &object.value }.stored())
            .collect();
        let registry = Arc::new(Registry::build(&definitions, &previous, self.0.ledger.revision()));
        *self.0.registry.write().unwrap_or_else(PoisonError::into_inner) = registry;
    }

    /// An object of a kind, as that kind shows it.
    pub(crate) fn read(&self, kind: &Kind, namespace: &str, name: &str) -> Option<Value> {
        let object = self.0.ledger.get(&Key::new(&kind.resource, namespace, name))?;
        Some(Record { revision: object.revision, bytes: &object.value }.object(kind))
    }
}
