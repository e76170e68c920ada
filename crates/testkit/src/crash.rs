//! Crash of a process at a chosen point.
//!
//! A process has effects only by writes to the API and calls of drivers. These are its crash points, counted from 1.
//! Nothing changes between two of them, so a process that survives a crash at each point survives one at any time. A
//! [`Crash`] counts the points, and disconnects the process at one of them for good.

use std::{
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
};

use axum::{
    extract::Request,
    http::{Method, request::Parts},
    response::Response,
};
use futures_util::{future::BoxFuture, stream::BoxStream};
use orchestra_api::{
    condition::Reason,
    plan::{InventoryItem, WorkloadPlanSpec},
};
use orchestra_core::provision::{Engine, Instance, Provision, Release};
use orchestra_drivers::{
    DriverError, Observation, ProvisionContext, Provisioner, Released, Removed, Runtime, Secrets, Target,
};
use tokio::sync::watch;
use tower::{BoxError, Layer, Service};

use crate::{BrokenConnection, Verb};

/// Kind of failure at the chosen point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// The process dies before the effect.
    Before,
    /// The process dies after it has received the response.
    After,
    /// The process dies after the effect, without the response.
    Unheard,
    /// The response is lost, and the process continues.
    Lost,
}

impl Cut {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Before, Self::After, Self::Unheard, Self::Lost];
}

/// Counter of crash points that disconnects the process at one of them. It is a layer between the process and the API;
/// [`wrap_driver`](Self::wrap_driver) wraps drivers. Clones share the state.
#[derive(Clone, Debug)]
pub struct Crash(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    at: Mutex<Option<(usize, Cut)>>,
    done: Mutex<Done>,
    dead: watch::Sender<bool>,
}

#[derive(Debug, Default)]
struct Done {
    points: Vec<String>,
    requests: Vec<String>,
}

impl Crash {
    /// Counts only.
    pub fn never() -> Self {
        Self::new(None)
    }

    /// Crashes at this point, counted from 1.
    pub fn at(point: usize, how: Cut) -> Self {
        Self::new(Some((point, how)))
    }

    fn new(at: Option<(usize, Cut)>) -> Self {
        Self(Arc::new(Shared { at: Mutex::new(at), done: Mutex::default(), dead: watch::Sender::new(false) }))
    }

    /// Points so far, one line each.
    pub fn points(&self) -> Vec<String> {
        self.done().points.clone()
    }

    /// Requests so far, except watches.
    pub fn requests(&self) -> Vec<String> {
        self.done().requests.clone()
    }

    /// Waits for the crash.
    pub async fn until_dead(&self) {
        // Cannot fail: `self` owns the sender.
        let _ = self.0.dead.subscribe().wait_for(|dead| *dead).await;
    }

    /// Driver whose calls are crash points.
    pub fn wrap_driver<D>(&self, driver: D) -> CrashingDriver<D> {
        CrashingDriver { crash: self.clone(), driver }
    }

    /// Cancels the crash if it has not happened yet, including one in progress.
    pub fn cancel(&self) {
        *self.chosen() = None;
    }

    fn chosen(&self) -> MutexGuard<'_, Option<(usize, Cut)>> {
        self.0.at.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn done(&self) -> MutexGuard<'_, Done> {
        self.0.done.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True after the crash.
    pub fn is_dead(&self) -> bool {
        *self.0.dead.borrow()
    }

    /// Crashes unless the crash was cancelled. Returns true if the process is dead.
    fn die(&self) -> bool {
        let chosen = self.chosen();
        if chosen.is_some() {
            self.0.dead.send_replace(true);
        }
        self.is_dead()
    }

    /// Counts a point, and returns its failure.
    fn reach(&self, what: String) -> Option<Cut> {
        let mut done = self.done();
        done.points.push(what);
        let reached = done.points.len();
        self.chosen().filter(|(at, _)| *at == reached).map(|(_, how)| how)
    }

    /// Failure of a request.
    fn failure_of(&self, request: &Parts) -> Option<Cut> {
        if self.is_dead() {
            return Some(Cut::Before);
        }
        if Verb::of(request) == Some(Verb::Watch) {
            return None;
        }
        let line = format!("{} {}", request.method, request.uri.path());
        self.done().requests.push(line.clone());
        if request.method == Method::GET { None } else { self.reach(line) }
    }

    /// Calls a driver as a crash point. A dead process stays pending.
    async fn call<T>(
        &self,
        what: String,
        call: impl Future<Output = Result<T, DriverError>>,
    ) -> Result<T, DriverError> {
        if self.is_dead() {
            std::future::pending::<()>().await;
        }
        let cut = self.reach(what);
        match cut {
            None => return call.await,
            Some(Cut::Before) => {}
            Some(Cut::Lost) => drop(call.await?),
            Some(Cut::After | Cut::Unheard) => drop(call.await),
        }
        if cut != Some(Cut::Lost) && self.die() {
            std::future::pending::<()>().await;
        }
        let (reason, message) = (Reason::NetworkUnavailable, "The answer was lost.".to_owned());
        Err(DriverError::transient(reason, message))
    }
}

impl<S> Layer<S> for Crash {
    type Service = CrashingService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        CrashingService { crash: self.clone(), inner }
    }
}

/// API for a process that may crash.
#[derive(Clone, Debug)]
pub struct CrashingService<S> {
    crash: Crash,
    inner: S,
}

impl<B, S> Service<axum::http::Request<B>> for CrashingService<S>
where
    B: axum::body::HttpBody<Data = axum::body::Bytes, Error: Into<BoxError>> + Send + 'static,
    S: Service<Request, Response = Response, Error: Into<BoxError>, Future: Send> + Clone + Send + 'static,
{
    type Response = Response;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, request: axum::http::Request<B>) -> Self::Future {
        let clone = self.inner.clone();
        // Only the original has been polled for readiness, not the clone.
        let mut inner = std::mem::replace(&mut self.inner, clone);
        let (parts, body) = request.into_parts();
        let cut = self.crash.failure_of(&parts);
        let request = Request::from_parts(parts, axum::body::Body::new(body));
        let crash = self.crash.clone();
        Box::pin(async move {
            if cut == Some(Cut::Before) {
                crash.die();
                return Err(BrokenConnection.into());
            }
            let answer = inner.call(request).await.map_err(Into::into);
            match cut {
                None | Some(Cut::Before) => answer,
                Some(Cut::After) => {
                    crash.die();
                    answer
                }
                Some(Cut::Unheard) => {
                    crash.die();
                    Err(BrokenConnection.into())
                }
                Some(Cut::Lost) => Err(BrokenConnection.into()),
            }
        })
    }
}

/// Driver for a process that may crash. What the driver has created outlives the process.
#[derive(Clone, Debug)]
pub struct CrashingDriver<D> {
    crash: Crash,
    driver: D,
}

impl<R: Runtime> Runtime for CrashingDriver<R> {
    fn class(&self) -> &str {
        self.driver.class()
    }

    fn lacks(&self, plan: &WorkloadPlanSpec) -> Vec<String> {
        self.driver.lacks(plan)
    }

    fn inventory(&self, target: &Target) -> Vec<InventoryItem> {
        self.driver.inventory(target)
    }

    fn apply<'a>(
        &'a self,
        target: &'a Target,
        secrets: &'a dyn Secrets,
    ) -> BoxFuture<'a, Result<(), DriverError>> {
        let what = format!("apply {}", target.name);
        Box::pin(self.crash.call(what, self.driver.apply(target, secrets)))
    }

    fn observe<'a>(&'a self, target: &'a Target) -> BoxFuture<'a, Result<Observation, DriverError>> {
        self.driver.observe(target)
    }

    fn remove<'a>(
        &'a self,
        target: &'a Target,
        inventory: &'a [InventoryItem],
    ) -> BoxFuture<'a, Result<Removed, DriverError>> {
        let what = format!("remove {}", target.name);
        Box::pin(self.crash.call(what, async { self.driver.remove(target, inventory).await }))
    }

    fn changes(&self) -> BoxStream<'static, (String, String)> {
        self.driver.changes()
    }
}

impl<P: Provisioner> Provisioner for CrashingDriver<P> {
    fn name(&self) -> &str {
        self.driver.name()
    }

    fn capabilities(&self) -> Engine {
        self.driver.capabilities()
    }

    fn ensure<'a>(
        &'a self,
        instance: &'a Instance,
        ctx: &'a dyn ProvisionContext,
    ) -> BoxFuture<'a, Result<Provision, DriverError>> {
        let what = format!("ensure {}", instance.type_);
        Box::pin(self.crash.call(what, self.driver.ensure(instance, ctx)))
    }

    fn release<'a>(
        &'a self,
        release: &'a Release,
        ctx: &'a dyn ProvisionContext,
    ) -> BoxFuture<'a, Result<Released, DriverError>> {
        let what = format!("release {}", release.type_);
        Box::pin(self.crash.call(what, self.driver.release(release, ctx)))
    }

    fn changes(&self) -> BoxStream<'static, (String, String)> {
        self.driver.changes()
    }
}
