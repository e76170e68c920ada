//! Composition root of the server.

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex, PoisonError, RwLock, RwLockReadGuard,
        atomic::{AtomicBool, Ordering},
    },
};

use axum::{Extension, Router, http::request::Parts};
use futures_util::{Stream, stream};
use orchestra_limits::{Connections, Limits};
use serde_json::Value;
use tokio::sync::watch;

use crate::{
    access::{
        self, Access, AccessRequest, BoundSubject, Caller, Extent, InvalidCredentials, ResourceRight,
        TokenKey, policy::Policy,
    },
    audit::{AuditLog, Recording},
    background,
    clock::Clock,
    http::{self, limits::InProcess},
    kinds::{Kind, builtin, registry::Registry},
    ledger::{self, Ledger},
    store::{Key, Store, StoreError},
    stored_object::StoredObject,
};

/// Embedded Kubernetes-style API. Clones share it.
#[derive(Clone, Debug)]
pub struct Api(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    ledger: Ledger,
    access: Access,
    registry: RwLock<Arc<Registry>>,
    /// Serialises rebuilds of the registry.
    building: Mutex<()>,
    clock: Clock,
    limits: Limits,
    audit: AuditLog,
    stop: watch::Sender<bool>,
    unfinished: AtomicBool,
}

/// Options of the server.
#[derive(Clone, Debug)]
pub struct Options {
    /// Clock.
    pub clock: Clock,
    /// Limits of the history, of queued writes and of the store.
    pub ledger: ledger::Options,
    /// Key for tokens of service accounts; by default a new one.
    pub token_key: Option<TokenKey>,
    /// Limits of requests.
    pub limits: Limits,
    /// Connections of the listener, to close those of a deleted service account.
    pub connections: Option<Connections>,
    /// Audit log; by default none.
    pub audit: AuditLog,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            clock: Clock::system(),
            ledger: ledger::Options::default(),
            token_key: None,
            limits: Limits::default(),
            connections: None,
            audit: AuditLog::off(),
        }
    }
}

impl Api {
    /// Opens a server over a store, and starts its background tasks: garbage collector, namespace controller,
    /// definition controller. Needs a Tokio runtime.
    pub async fn open(store: impl Store, options: Options) -> Result<Self, StoreError> {
        let ledger = Ledger::open(store, options.ledger)?;
        let key = options.token_key.map_or_else(TokenKey::generate, Ok);
        let key =
            key.map_err(|error| StoreError { action: "make a key for tokens", cause: error.to_string() })?;
        let api = Self(Arc::new(Inner {
            ledger,
            access: Access::new(key),
            registry: RwLock::default(),
            building: Mutex::new(()),
            clock: options.clock,
            limits: options.limits,
            audit: options.audit,
            stop: watch::channel(false).0,
            unfinished: AtomicBool::new(false),
        }));
        api.refresh();
        background::start(&api)
            .await
            .map_err(|status| StoreError { action: "prepare the first objects", cause: status.message })?;
        if let Some(connections) = options.connections {
            tokio::spawn(background::connections::close_ended(api.clone(), connections));
        }
        Ok(api)
    }

    /// Router for external clients. A request has the holder of its client certificate as an extension of type
    /// [`Caller`], or a bearer token, or is anonymous.
    pub fn router(&self) -> Router {
        Router::new().fallback(http::handle).with_state(self.clone())
    }

    /// Router for clients in this process, which all act as this caller and have no limits.
    pub fn router_for(&self, caller: Caller) -> Router {
        self.router().layer(Extension(caller)).layer(Extension(InProcess))
    }

    /// User of a request, by the credentials that the [`router`](Self::router) accepts, and the end of their validity in seconds
    /// of Unix time, if they have one; `None` without credentials. Records the user of the connection.
    pub fn authenticate(&self, parts: &Parts) -> Result<Option<(Caller, Option<i64>)>, InvalidCredentials> {
        let session = access::authenticate(self, parts)?;
        Ok((!session.caller.is_anonymous()).then(|| ((*session.caller).clone(), session.expires())))
    }

    /// True if a user may do this, by the roles and bindings of the last write.
    pub fn allows(&self, caller: &Caller, request: AccessRequest<'_>) -> bool {
        self.policy().authorize(caller, &request.attributes()).is_allowed()
    }

    /// Users and groups that are bound to one of these rights in a namespace, or in the whole cluster only if it is empty; except
    /// administrators.
    pub fn subjects_with(
        &self,
        namespace: &str,
        rights: &[ResourceRight<'_>],
        extent: Extent,
    ) -> Vec<BoundSubject> {
        self.policy().subjects_with(namespace, rights, extent)
    }

    /// Namespaces with service accounts that are administrators: whoever may act as accounts of such a namespace can do everything.
    pub fn namespaces_of_administrators(&self) -> BTreeSet<String> {
        self.policy().namespaces_of_administrators()
    }

    /// An item now, and after each change of roles and bindings, until the server stops.
    pub fn rights_changes(&self) -> impl Stream<Item = ()> + Send + use<> {
        stream::unfold((self.clone(), None), |(api, seen)| async move {
            loop {
                let revision = api.ledger().revision();
                let changes = api.access().changes(api.ledger());
                if seen != Some(changes) {
                    return Some(((), (api, Some(changes))));
                }
                tokio::select! {
                    more = api.ledger().changed(revision) => if !more { return None },
                    () = api.stopped() => return None,
                }
            }
        })
    }

    /// Resolves when a user may no longer do this, their service account is deleted, or the server stops.
    pub fn revoked(
        &self,
        caller: &Caller,
        request: AccessRequest<'_>,
    ) -> impl Future<Output = ()> + Send + use<> {
        let (api, caller, wanted) = (self.clone(), caller.clone(), request.attributes());
        async move {
            let mut checked = None;
            loop {
                let revision = api.ledger().revision();
                let changes = api.access().changes(api.ledger());
                if checked.replace(changes) != Some(changes)
                    && !(access::is_account_alive(&api, &caller)
                        && api.policy().authorize(&caller, &wanted).is_allowed())
                {
                    return;
                }
                tokio::select! {
                    more = api.ledger().changed(revision) => if !more { return },
                    () = api.stopped() => return,
                }
            }
        }
    }

    /// Begins to record a request in the audit log. For servers beside this one; the [`router`](Self::router) records what
    /// it answers.
    pub fn record(&self, parts: &Parts) -> Recording {
        Recording::begin(&self.0.audit, &self.0.clock, parts)
    }

    /// Ends all watches and background tasks. Writes are durable already.
    pub fn stop(&self) {
        self.0.stop.send_replace(true);
    }

    /// Resolves once [`stop`](Self::stop) was called.
    pub(crate) fn stopped(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut stop = self.0.stop.subscribe();
        async move {
            // An error means that the server was dropped.
            let _ = stop.wait_for(|stop| *stop).await;
        }
    }

    /// True if [`stop`](Self::stop) was called.
    pub(crate) fn is_stopped(&self) -> bool {
        *self.0.stop.borrow()
    }

    /// Requests a retry of failed background work.
    pub(crate) fn request_retry(&self) {
        self.0.unfinished.store(true, Ordering::Relaxed);
    }

    /// Takes the request for a retry; true if there was one.
    pub(crate) fn take_retry_request(&self) -> bool {
        self.0.unfinished.swap(false, Ordering::Relaxed)
    }

    pub(crate) fn ledger(&self) -> &Ledger {
        &self.0.ledger
    }

    pub(crate) fn access(&self) -> &Access {
        &self.0.access
    }

    /// Roles and bindings of the last revision. Not to be held across other reads of it.
    pub(crate) fn policy(&self) -> RwLockReadGuard<'_, Policy> {
        self.0.access.policy(&self.0.ledger)
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.0.limits
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.0.clock
    }

    /// Currently served kinds.
    pub(crate) fn registry(&self) -> Arc<Registry> {
        Arc::clone(&self.0.registry.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Rebuilds the registry from the stored definitions. Called after each change of one, before the response.
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
            .map(|(_, object)| StoredObject { revision: object.revision, bytes: &object.value }.stored())
            .collect();
        let registry = Arc::new(Registry::build(&definitions, &previous, self.0.ledger.revision()));
        *self.0.registry.write().unwrap_or_else(PoisonError::into_inner) = registry;
    }

    /// Object of a kind, converted to its version.
    pub(crate) fn read(&self, kind: &Kind, namespace: &str, name: &str) -> Option<Value> {
        let object = self.0.ledger.get(&Key::new(&kind.resource, namespace, name))?;
        Some(StoredObject { revision: object.revision, bytes: &object.value }.object(kind))
    }
}
