//! A process that dies at a chosen moment.
//!
//! What a process does to the world are the writes it sends to the API and the calls it makes to drivers. These are
//! its points, counted from 1; between two of them nothing changes outside, so that whoever survives a death at each
//! point survives one at any time. A [`Crash`] counts the points, and at one of them cuts the process off for good.

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
    DriverError, Neighbourhood, Observation, Provisioner, Released, Removed, Runtime, Secrets, Target,
};
use tokio::sync::watch;
use tower::{BoxError, Layer, Service};

use crate::{BrokenConnection, Verb};

/// What happens at the point that was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// The process dies, and nothing is done.
    Before,
    /// It is done, the process hears of it, and dies.
    After,
    /// It is done, and the process dies before it hears of it.
    Unheard,
    /// It is done and the process never hears of it, but lives on.
    Lost,
}

impl Cut {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Before, Self::After, Self::Unheard, Self::Lost];
}

/// Counts what a process does, and cuts it off at a point. As a layer it stands between the process and the API;
/// drivers get [`mortal`](Self::mortal). Clones are the same.
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
    /// Only counts.
    pub fn never() -> Self {
        Self::new(None)
    }

    /// Cuts off at this point, counted from 1.
    pub fn at(point: usize, how: Cut) -> Self {
        Self::new(Some((point, how)))
    }

    fn new(at: Option<(usize, Cut)>) -> Self {
        Self(Arc::new(Shared { at: Mutex::new(at), done: Mutex::default(), dead: watch::Sender::new(false) }))
    }

    /// What was done so far, a line for each point.
    pub fn points(&self) -> Vec<String> {
        self.done().points.clone()
    }

    /// All requests so far but watches.
    pub fn requests(&self) -> Vec<String> {
        self.done().requests.clone()
    }

    /// Waits for the death.
    pub async fn dies(&self) {
        // It cannot fail: the sender lives as long as this.
        let _ = self.0.dead.subscribe().wait_for(|dead| *dead).await;
    }

    /// A driver whose calls are points.
    pub fn mortal<D>(&self, driver: D) -> Mortal<D> {
        Mortal { crash: self.clone(), driver }
    }

    /// Spares the process, if it lives: it does not die any more, also not of what is under way.
    pub fn spare(&self) {
        *self.chosen() = None;
    }

    fn chosen(&self) -> MutexGuard<'_, Option<(usize, Cut)>> {
        self.0.at.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn done(&self) -> MutexGuard<'_, Done> {
        self.0.done.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it has died.
    pub fn is_dead(&self) -> bool {
        *self.0.dead.borrow()
    }

    /// Dies, unless it was spared meanwhile. Tells whether it is dead.
    fn die(&self) -> bool {
        let chosen = self.chosen();
        if chosen.is_some() {
            self.0.dead.send_replace(true);
        }
        self.is_dead()
    }

    /// Counts a point, and tells what happens there.
    fn reach(&self, what: String) -> Option<Cut> {
        let mut done = self.done();
        done.points.push(what);
        let reached = done.points.len();
        self.chosen().filter(|(at, _)| *at == reached).map(|(_, how)| how)
    }

    /// What happens to a request.
    fn strike(&self, request: &Parts) -> Option<Cut> {
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

    /// Makes a call of a driver a point. A process that is dead does nothing more, for ever.
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
        Err(DriverError::Transient { reason, message })
    }
}

impl<S> Layer<S> for Crash {
    type Service = MortalService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        MortalService { crash: self.clone(), inner }
    }
}

/// The API, as a process sees it that may die.
#[derive(Clone, Debug)]
pub struct MortalService<S> {
    crash: Crash,
    inner: S,
}

impl<B, S> Service<axum::http::Request<B>> for MortalService<S>
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
        // The clone may not be ready; the one that was asked is.
        let mut inner = std::mem::replace(&mut self.inner, clone);
        let (parts, body) = request.into_parts();
        let cut = self.crash.strike(&parts);
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

/// A driver as a process sees it that may die. What the driver has made outlives the process.
#[derive(Clone, Debug)]
pub struct Mortal<D> {
    crash: Crash,
    driver: D,
}

impl<R: Runtime> Runtime for Mortal<R> {
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

impl<P: Provisioner> Provisioner for Mortal<P> {
    fn engine(&self) -> &str {
        self.driver.engine()
    }

    fn traits(&self) -> Engine {
        self.driver.traits()
    }

    fn ensure<'a>(
        &'a self,
        instance: &'a Instance,
        around: &'a dyn Neighbourhood,
    ) -> BoxFuture<'a, Result<Provision, DriverError>> {
        let what = format!("ensure {}", instance.type_);
        Box::pin(self.crash.call(what, self.driver.ensure(instance, around)))
    }

    fn release<'a>(
        &'a self,
        release: &'a Release,
        around: &'a dyn Neighbourhood,
    ) -> BoxFuture<'a, Result<Released, DriverError>> {
        let what = format!("release {}", release.type_);
        Box::pin(self.crash.call(what, self.driver.release(release, around)))
    }

    fn changes(&self) -> BoxStream<'static, (String, String)> {
        self.driver.changes()
    }
}
