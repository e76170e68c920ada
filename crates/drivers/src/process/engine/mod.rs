//! The engine `process`: the resources of Workloads, provided by this machine.
//!
//! | type | what is provided |
//! |---|---|
//! | `volume` | a folder |
//! | `secret` | generated values; of class `tls`, a certificate |
//! | `environment` | variables of the author's shell and of `.env` |
//! | `dns`, `route` | a name under `localhost`, a rule of the local reverse proxy |
//! | `service`, `service-port` | the address of another Workload |
//! | `postgres`, `redis` | a database or a cache of a local server |
//!
//! Calls are idempotent. What outlives the platform is on disk, in the Secret of the instance and in the servers. In memory are the
//! rules of the proxy and what the engine knows about other instances; the first calls after a start restore both.

mod database;
mod deps;
mod environment;
mod params;
mod route;
mod secret;
mod service;
#[cfg(test)]
mod tests;
mod volume;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, io,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures_util::{
    future::BoxFuture,
    stream::{self, BoxStream, StreamExt},
};
use orchestra_api::claim::{DeprovisionPolicy, Output};
use orchestra_core::{
    config::builtin::{self, PROCESS},
    provision::{self, Bound, Dependent, Instance, Provision, Release},
};
use serde_json::Value as Json;

use super::{
    Launcher, OriginStore,
    local_bindings::{self, LocalBinding},
    proxy, servers,
};
use crate::{DriverError, NamespacedName, ProvisionContext, Provisioner, Released, notify::Notifier};
use database::{POSTGRES, REDIS};
use deps::{Proxy, Servers};
use params::{Params, listed, refused, unavailable};
use route::RouteOutcome;

/// The engine `process`.
pub struct Engine {
    data: PathBuf,
    origins: OriginStore,
    servers: Arc<dyn Servers>,
    proxy: Arc<dyn Proxy>,
    notifier: Notifier,
    state: Arc<Mutex<EngineState>>,
}

/// State since the platform started.
#[derive(Default)]
struct EngineState {
    /// Instances of type `environment` of a Workload, by namespace and Workload.
    environment_instances: BTreeMap<NamespacedName, BTreeSet<String>>,
    /// Workloads of the routes.
    routes: BTreeMap<NamespacedName, Dependent>,
    /// Routes whose host and path another one has.
    refused: BTreeSet<NamespacedName>,
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("data", &self.data).finish_non_exhaustive()
    }
}

impl Engine {
    /// The engine of this machine, with its data in a folder that exists. `launcher` starts servers, which keep running when the
    /// platform ends.
    pub async fn open(data: PathBuf, launcher: Launcher, origins: OriginStore) -> io::Result<Self> {
        let data = std::path::absolute(data)?;
        let servers = servers::Servers::open(&data, launcher);
        let proxy = proxy::Proxy::open(&data).await?;
        Ok(Self::with(data, origins, Arc::new(servers), Arc::new(proxy)))
    }

    fn with(data: PathBuf, origins: OriginStore, servers: Arc<dyn Servers>, proxy: Arc<dyn Proxy>) -> Self {
        volume::purge(&data);
        Self { data, origins, servers, proxy, notifier: Notifier::default(), state: Arc::default() }
    }

    fn state(&self) -> MutexGuard<'_, EngineState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn provide(
        &self,
        instance: &Instance,
        ctx: &dyn ProvisionContext,
    ) -> Result<Provision, DriverError> {
        let id = (instance.namespace.clone(), instance.id.clone());
        let known: &[&str] = match instance.type_.as_str() {
            "volume" => volume::PARAMS,
            "secret" => secret::params(&instance.class),
            "route" => route::PARAMS,
            "service" | "service-port" => service::PARAMS,
            POSTGRES | REDIS => database::PARAMS,
            _ => &[],
        };
        let params = Params::read(instance, known)?;
        let (answer, binding) = match instance.type_.as_str() {
            "volume" => volume::ensure(&self.data, &id, &params)?,
            "secret" => secret::ensure(&instance.class, &params, ctx).await?,
            "environment" => {
                self.watch_origins(instance);
                (environment::ensure(&self.origins, instance, ctx).await?, None)
            }
            "dns" => (route::dns(instance, &*self.proxy), None),
            "route" => self.route(&id, instance, &params, ctx)?,
            "service" => (service::service(instance, &params, ctx)?, None),
            "service-port" => (service::service_port(&params, ctx)?, None),
            POSTGRES | REDIS => {
                let servers = &*self.servers;
                (database::ensure(&id, instance, &params, ctx, servers).await?, None)
            }
            other => {
                return Err(refused(format!(
                    "This machine provides no `{other}`, only {}: configure another engine for it.",
                    listed(builtin::types(PROCESS))
                )));
            }
        };
        if let Some(binding) = binding {
            local_bindings::set(&self.data, &id, &instance.claims, &binding).map_err(unavailable)?;
        }
        Ok(match (answer, params.warning()) {
            (Provision::Bound(bound), Some(warning)) => {
                let message = format!("{} {warning}", bound.message);
                Provision::Bound(Bound { message, ..bound })
            }
            (answer, _) => answer,
        })
    }

    fn watch_origins(&self, instance: &Instance) {
        let mut state = self.state();
        for dependent in &instance.dependents {
            let place = (instance.namespace.clone(), dependent.workload.clone());
            state.environment_instances.entry(place).or_default().insert(instance.id.clone());
        }
    }

    fn route(
        &self,
        id: &NamespacedName,
        instance: &Instance,
        params: &Params,
        ctx: &dyn ProvisionContext,
    ) -> Result<(Provision, Option<LocalBinding>), DriverError> {
        let answer = route::route(id, instance, params, ctx, &*self.proxy);
        if !matches!(answer, Ok(RouteOutcome::Installed(..))) {
            // It is no longer routed.
            self.close(id);
            local_bindings::clear(&self.data, id).map_err(unavailable)?;
        }
        match answer? {
            RouteOutcome::Installed(answer, binding) => {
                let dependent = instance.dependents.first().cloned();
                let mut state = self.state();
                state.refused.remove(id);
                state.routes.extend(dependent.map(|dependent| (id.clone(), dependent)));
                Ok((answer, Some(binding)))
            }
            RouteOutcome::Conflict { holder, place } => {
                let mut state = self.state();
                state.refused.insert(id.clone());
                let by = match state.routes.get(&holder) {
                    Some(Dependent { workload, key }) => {
                        format!(
                            "the route `{key}` of the workload `{workload}` in the namespace `{}`",
                            holder.0
                        )
                    }
                    None => format!("a route in the namespace `{}`", holder.0),
                };
                Err(refused(format!("{place} is already in use by {by}: choose another host or path.")))
            }
        }
    }

    /// Removes a route, and notifies those that wait for its host and path.
    fn close(&self, id: &NamespacedName) {
        self.proxy.remove(id);
        let mut state = self.state();
        state.refused.remove(id);
        let waiting = if state.routes.remove(id).is_some() { state.refused.clone() } else { BTreeSet::new() };
        drop(state);
        for waiting in &waiting {
            self.notifier.notify(waiting);
        }
    }

    async fn delete_instance(
        &self,
        release: &Release,
        ctx: &dyn ProvisionContext,
    ) -> Result<Released, DriverError> {
        let id = (release.namespace.clone(), release.id.clone());
        let with_data = release.policy == DeprovisionPolicy::Delete;
        if release.policy != DeprovisionPolicy::Orphan {
            match release.type_.as_str() {
                POSTGRES | REDIS if !self.servers.release(&id, &release.type_, with_data).await => {
                    return Ok(Released::Waiting("Stopping its server.".to_owned()));
                }
                "route" => self.close(&id),
                "volume" if with_data => volume::remove(&self.data, &id)?,
                _ => {}
            }
        }
        if with_data {
            ctx.delete_secret().await?;
        }
        local_bindings::clear(&self.data, &id).map_err(unavailable)?;
        for instances in self.state().environment_instances.values_mut() {
            instances.remove(&release.id);
        }
        Ok(Released::Done)
    }
}

impl Provisioner for Engine {
    fn name(&self) -> &str {
        PROCESS
    }

    fn capabilities(&self) -> provision::Engine {
        provision::Engine { additive: false, reads_params: true }
    }

    fn ensure<'a>(
        &'a self,
        instance: &'a Instance,
        ctx: &'a dyn ProvisionContext,
    ) -> BoxFuture<'a, Result<Provision, DriverError>> {
        Box::pin(self.provide(instance, ctx))
    }

    fn release<'a>(
        &'a self,
        release: &'a Release,
        ctx: &'a dyn ProvisionContext,
    ) -> BoxFuture<'a, Result<Released, DriverError>> {
        Box::pin(self.delete_instance(release, ctx))
    }

    fn changes(&self) -> BoxStream<'static, NamespacedName> {
        let state = Arc::clone(&self.state);
        let origins = self.origins.changes().flat_map(move |workload| {
            let state = state.lock().unwrap_or_else(PoisonError::into_inner);
            let instances = state.environment_instances.get(&workload).cloned().unwrap_or_default();
            stream::iter(instances.into_iter().map(move |instance| (workload.0.clone(), instance)))
        });
        stream::select_all([self.notifier.subscribe(), self.servers.changes(), origins.boxed()]).boxed()
    }
}

/// Literal outputs.
fn bound<'a>(outputs: impl IntoIterator<Item = (&'a str, Json)>) -> Bound {
    let outputs = outputs.into_iter().map(|(name, value)| (name.to_owned(), Output::Value(value)));
    Bound { outputs: outputs.collect(), ..Bound::default() }
}
