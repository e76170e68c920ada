//! The engine `process`: what Workloads depend on, from this machine itself.
//!
//! | type | what it is here |
//! |---|---|
//! | `volume` | a folder |
//! | `secret` | generated values; of class `tls`, a certificate |
//! | `environment` | variables of the author's shell and of `.env` |
//! | `dns`, `route` | a name under `localhost`, a rule of the local reverse proxy |
//! | `service`, `service-port` | the address of another Workload |
//! | `postgres`, `redis` | a database or a cache of a server of this machine |
//!
//! Everything is asked for again and again, and nothing is remembered here that counts: what there is, is on disk, in the
//! Secret of the instance, or with the servers and the proxy. So a platform that was killed goes on where it was.

mod database;
mod environment;
mod means;
mod neighbours;
mod params;
mod secret;
#[cfg(test)]
mod tests;
mod volume;
mod web;

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
    config::builtin::PROCESS,
    provision::{self, Bound, Dependent, Instance, Provision, Release},
};
use serde_json::Value as Json;

use super::{
    Launcher, proxy, servers,
    things::{self, Thing},
};
use crate::{DriverError, Neighbourhood, Provisioner, Released, news::News};
use database::{POSTGRES, REDIS};
use means::{Id, Proxy, Servers};
use params::{Params, broken, listed, refused};
use web::Laid;

const TYPES: [&str; 9] =
    ["dns", "environment", POSTGRES, REDIS, "route", "secret", "service", "service-port", "volume"];

/// The engine `process`.
pub struct Engine {
    data: PathBuf,
    servers: Arc<dyn Servers>,
    proxy: Arc<dyn Proxy>,
    news: News,
    known: Mutex<Known>,
}

/// What was asked for since the platform began.
#[derive(Default)]
struct Known {
    /// The instances that give the environment of a Workload, by namespace and Workload.
    authors: BTreeMap<(String, String), BTreeSet<String>>,
    /// For whom routes are.
    routes: BTreeMap<Id, Dependent>,
    /// Routes whose place another one holds.
    refused: BTreeSet<Id>,
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("data", &self.data).finish_non_exhaustive()
    }
}

impl Engine {
    /// The engine of this machine, with its data in a folder that exists. `launcher` starts servers, which run on when
    /// the platform ends.
    pub async fn open(data: PathBuf, launcher: Launcher) -> io::Result<Self> {
        let data = std::path::absolute(data)?;
        let servers = servers::Servers::open(&data, launcher);
        let proxy = proxy::Proxy::open(&data).await?;
        Ok(Self::with(data, Arc::new(servers), Arc::new(proxy)))
    }

    fn with(data: PathBuf, servers: Arc<dyn Servers>, proxy: Arc<dyn Proxy>) -> Self {
        volume::sweep(&data);
        Self { data, servers, proxy, news: News::default(), known: Mutex::default() }
    }

    /// To be told when the environment of a Workload's author was noted ([`super::folders::note`]).
    pub fn noted(&self, namespace: &str, workload: &str) {
        let place = (namespace.to_owned(), workload.to_owned());
        let concerned = self.known().authors.get(&place).cloned().unwrap_or_default();
        for instance in concerned {
            self.news.tell(&(namespace.to_owned(), instance));
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn provide(
        &self,
        instance: &Instance,
        around: &dyn Neighbourhood,
    ) -> Result<Provision, DriverError> {
        let id = (instance.namespace.clone(), instance.id.clone());
        let known: &[&str] = match instance.type_.as_str() {
            "volume" => volume::PARAMS,
            "secret" => secret::params(&instance.class),
            "route" => web::ROUTE,
            "service" | "service-port" => neighbours::PARAMS,
            POSTGRES | REDIS => database::PARAMS,
            _ => &[],
        };
        let params = Params::read(instance, known)?;
        let (answer, thing) = match instance.type_.as_str() {
            "volume" => volume::ensure(&self.data, &id, &params)?,
            "secret" => secret::ensure(&instance.class, &params, around).await?,
            "environment" => {
                self.listen_to_authors(instance);
                (environment::ensure(&self.data, instance, around).await?, None)
            }
            "dns" => (web::dns(instance, &*self.proxy), None),
            "route" => self.route(&id, instance, &params, around)?,
            "service" => (neighbours::service(instance, &params, around)?, None),
            "service-port" => (neighbours::service_port(&params, around)?, None),
            POSTGRES | REDIS => {
                let servers = &*self.servers;
                (database::ensure(&id, instance, &params, around, servers).await?, None)
            }
            other => {
                return Err(refused(format!(
                    "This machine itself provides no `{other}`, but {}: ask the platform team for another engine.",
                    listed(TYPES)
                )));
            }
        };
        if let Some(thing) = thing {
            things::set(&self.data, &id, &instance.claims, &thing).map_err(broken)?;
        }
        Ok(match (answer, params.warning()) {
            (Provision::Bound(bound), Some(warning)) => {
                let message = format!("{} {warning}", bound.message);
                Provision::Bound(Bound { message, ..bound })
            }
            (answer, _) => answer,
        })
    }

    fn listen_to_authors(&self, instance: &Instance) {
        let mut known = self.known();
        for dependent in &instance.dependents {
            let place = (instance.namespace.clone(), dependent.workload.clone());
            known.authors.entry(place).or_default().insert(instance.id.clone());
        }
    }

    fn route(
        &self,
        id: &Id,
        instance: &Instance,
        params: &Params,
        around: &dyn Neighbourhood,
    ) -> Result<(Provision, Option<Thing>), DriverError> {
        let answer = web::route(id, instance, params, around, &*self.proxy);
        if !matches!(answer, Ok(Laid::Open(..))) {
            // It leads nowhere now, and holds nothing.
            self.close(id);
            things::clear(&self.data, id).map_err(broken)?;
        }
        match answer? {
            Laid::Open(answer, thing) => {
                let dependent = instance.dependents.first().cloned();
                let mut known = self.known();
                known.refused.remove(id);
                known.routes.extend(dependent.map(|dependent| (id.clone(), dependent)));
                Ok((answer, Some(thing)))
            }
            Laid::Taken { holder, place } => {
                let mut known = self.known();
                known.refused.insert(id.clone());
                let by = match known.routes.get(&holder) {
                    Some(Dependent { workload, key }) => {
                        format!(
                            "the route `{key}` of the workload `{workload}` in the namespace `{}`",
                            holder.0
                        )
                    }
                    None => format!("a route in the namespace `{}`", holder.0),
                };
                Err(refused(format!("{place} is held by {by}: choose another host or path.")))
            }
        }
    }

    /// Removes a route, and tells those that waited for its place.
    fn close(&self, id: &Id) {
        self.proxy.remove(id);
        let mut known = self.known();
        known.refused.remove(id);
        let waiting = if known.routes.remove(id).is_some() { known.refused.clone() } else { BTreeSet::new() };
        drop(known);
        for waiting in &waiting {
            self.news.tell(waiting);
        }
    }

    async fn take_down(
        &self,
        release: &Release,
        around: &dyn Neighbourhood,
    ) -> Result<Released, DriverError> {
        let id = (release.namespace.clone(), release.id.clone());
        let with_data = release.policy == DeprovisionPolicy::Delete;
        if release.policy != DeprovisionPolicy::Orphan {
            match release.type_.as_str() {
                POSTGRES | REDIS if !self.servers.release(&id, &release.type_, with_data).await => {
                    return Ok(Released::Waiting("It is being stopped.".to_owned()));
                }
                "route" => self.close(&id),
                "volume" if with_data => volume::remove(&self.data, &id)?,
                _ => {}
            }
        }
        if with_data {
            around.forget().await?;
        }
        things::clear(&self.data, &id).map_err(broken)?;
        for instances in self.known().authors.values_mut() {
            instances.remove(&release.id);
        }
        Ok(Released::Done)
    }
}

impl Provisioner for Engine {
    fn engine(&self) -> &str {
        PROCESS
    }

    fn traits(&self) -> provision::Engine {
        provision::Engine { additive: false, reads_params: true }
    }

    fn ensure<'a>(
        &'a self,
        instance: &'a Instance,
        around: &'a dyn Neighbourhood,
    ) -> BoxFuture<'a, Result<Provision, DriverError>> {
        Box::pin(self.provide(instance, around))
    }

    fn release<'a>(
        &'a self,
        release: &'a Release,
        around: &'a dyn Neighbourhood,
    ) -> BoxFuture<'a, Result<Released, DriverError>> {
        Box::pin(self.take_down(release, around))
    }

    fn changes(&self) -> BoxStream<'static, (String, String)> {
        stream::select(self.news.listen(), self.servers.changes()).boxed()
    }
}

/// What everyone may see of a thing that is there.
fn bound<'a>(outputs: impl IntoIterator<Item = (&'a str, Json)>) -> Bound {
    let outputs = outputs.into_iter().map(|(name, value)| (name.to_owned(), Output::Value(value)));
    Bound { outputs: outputs.collect(), ..Bound::default() }
}
