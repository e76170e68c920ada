//! Engine in a folder of its own, with a namespace.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
};

use futures_util::{
    future::BoxFuture,
    stream::{self, BoxStream, StreamExt},
};
use orchestra_api::{
    claim::{DeprovisionPolicy, Output},
    config::Provisioner as Entry,
    plan::Port,
    reference::SecretKeyRef,
};
use orchestra_core::{
    config::{
        self,
        provisioner::{ResourceRequest, select},
    },
    provision::{Bound, Dependent, Instance, Provision, Release},
};
use serde_json::{Map, Value as Json, json};
use tempfile::TempDir;

use super::super::{
    Engine,
    deps::{Proxy, Servers},
};
use crate::{
    DriverError, DriverErrorKind, NamespacedName, ProvisionContext, Provisioner, Released, SecretText,
    Secrets,
    process::{
        OriginStore,
        proxy::Rule,
        servers::{Server, ServerStatus},
    },
    provision_context::{Edit, InstanceSecret, SecretData},
    secret::Read,
};

pub(super) const NAMESPACE: &str = "default";
pub(super) const INSTANCE: &str = "0123456789abcdef";

pub(super) struct Fixture {
    pub(super) data: TempDir,
    pub(super) origins: OriginStore,
    pub(super) engine: Engine,
    pub(super) ctx: Namespace,
    pub(super) servers: Arc<FakeServers>,
    pub(super) proxy: Arc<Rules>,
}

impl Fixture {
    pub(super) fn new() -> Self {
        let data = tempfile::tempdir().unwrap();
        let origins = OriginStore::open(data.path());
        let (servers, proxy) = (Arc::new(FakeServers::default()), Arc::new(Rules::default()));
        let engine = Engine::with(data.path().to_owned(), origins.clone(), servers.clone(), proxy.clone());
        Self { data, origins, engine, ctx: Namespace::default(), servers, proxy }
    }

    /// Result for the claim `it` of the Workload `shop`.
    pub(super) async fn ensure(&self, type_: &str, params: Json) -> Result<Provision, DriverError> {
        self.engine.ensure(&instance(type_, params), &self.ctx).await
    }

    pub(super) async fn bound(&self, type_: &str, params: Json) -> Bound {
        match self.ensure(type_, params).await.unwrap() {
            Provision::Bound(bound) => bound,
            other => panic!("{other:?}"),
        }
    }

    /// Message of a claim that is not bound.
    pub(super) async fn message(&self, type_: &str, params: Json) -> String {
        match self.ensure(type_, params).await {
            Ok(Provision::Pending(message) | Provision::Binding(message) | Provision::Failed(_, message))
            | Err(DriverError { kind: DriverErrorKind::Refused, message, .. }) => message,
            other => panic!("{other:?}"),
        }
    }

    pub(super) async fn release(&self, type_: &str, policy: DeprovisionPolicy) -> Released {
        let release = Release {
            namespace: NAMESPACE.to_owned(),
            id: INSTANCE.to_owned(),
            type_: type_.to_owned(),
            engine: "process".to_owned(),
            policy,
            claims: vec!["shop-it".to_owned()],
            start: Vec::new(),
        };
        self.engine.release(&release, &self.ctx).await.unwrap()
    }
}

pub(super) fn instance(type_: &str, params: Json) -> Instance {
    let params = if let Json::Object(params) = params { params } else { Map::new() };
    let wanted = ResourceRequest {
        type_,
        class: "default",
        id: None,
        params: Some(&params),
        runtime_class: "process",
    };
    let entry = select(&config::Config::builtin(), &wanted, |_| true).cloned();
    Instance {
        namespace: NAMESPACE.to_owned(),
        id: INSTANCE.to_owned(),
        type_: type_.to_owned(),
        class: "default".to_owned(),
        shared_id: None,
        entry: entry.unwrap_or_else(|_| Entry { engine: "process".to_owned(), ..Entry::default() }),
        params,
        metadata: Map::new(),
        values: Map::new(),
        claims: vec!["shop-it".to_owned()],
        dependents: vec![Dependent { workload: "shop".to_owned(), key: "it".to_owned() }],
        warning: None,
    }
}

/// Literal outputs.
pub(super) fn values(bound: &Bound) -> Json {
    let plain = bound.outputs.iter().filter_map(|(name, output)| match output {
        Output::Value(value) => Some((name.clone(), value.clone())),
        Output::SecretKeyRef(_) => None,
    });
    Json::Object(plain.collect())
}

/// Names of the secret outputs.
pub(super) fn secrets(bound: &Bound) -> Vec<&str> {
    let secret = bound.outputs.iter().filter(|(_, output)| matches!(output, Output::SecretKeyRef(_)));
    secret.map(|(name, _)| name.as_str()).collect()
}

/// Namespace with Workloads, and the Secret of one instance.
#[derive(Default)]
pub(super) struct Namespace {
    pub(super) secret: Mutex<Option<(SecretData, u32)>>,
    pub(super) workloads: Mutex<BTreeMap<String, BTreeMap<String, Port>>>,
}

impl Namespace {
    /// Value of a key of the Secret.
    pub(super) fn kept(&self, key: &str) -> String {
        let secret = self.secret.lock().unwrap();
        String::from_utf8(secret.as_ref().unwrap().0[key].expose().to_vec()).unwrap()
    }

    pub(super) fn keys(&self) -> BTreeSet<String> {
        self.secret.lock().unwrap().iter().flat_map(|(contents, _)| contents.keys().cloned()).collect()
    }

    pub(super) fn declare(&self, workload: &str, ports: Json) {
        let ports = serde_json::from_value(ports).unwrap();
        self.workloads.lock().unwrap().insert(workload.to_owned(), ports);
    }
}

impl Secrets for Namespace {
    fn read<'a>(&'a self, _: &'a SecretKeyRef) -> BoxFuture<'a, Result<Option<Read>, DriverError>> {
        Box::pin(async { Ok(None) })
    }
}

impl ProvisionContext for Namespace {
    fn update_secret<'a>(&'a self, edit: &'a Edit<'a>) -> BoxFuture<'a, Result<InstanceSecret, DriverError>> {
        Box::pin(async move {
            let mut secret = self.secret.lock().unwrap();
            let (is, version) = secret.clone().unwrap_or_default();
            let contents = edit(&is)?;
            let version = if secret.is_some() && is == contents { version } else { version + 1 };
            *secret = Some((contents.clone(), version));
            Ok(InstanceSecret { name: "own".to_owned(), version: version.to_string(), contents })
        })
    }

    fn delete_secret(&self) -> BoxFuture<'_, Result<(), DriverError>> {
        *self.secret.lock().unwrap() = None;
        Box::pin(async { Ok(()) })
    }

    fn workload_ports(&self, workload: &str) -> Option<BTreeMap<String, Port>> {
        self.workloads.lock().unwrap().get(workload).cloned()
    }

    fn workload_names(&self) -> Vec<String> {
        self.workloads.lock().unwrap().keys().cloned().collect()
    }
}

/// Scripted servers.
#[derive(Default)]
pub(super) struct FakeServers {
    pub(super) status: Mutex<Option<ServerStatus>>,
    pub(super) asked: Mutex<Vec<(Server, SecretText)>>,
    pub(super) released: Mutex<Vec<bool>>,
    pub(super) stopping: Mutex<bool>,
}

impl Servers for FakeServers {
    fn ensure<'a>(
        &'a self,
        _: &'a NamespacedName,
        what: &'a Server,
        password: &'a SecretText,
    ) -> BoxFuture<'a, ServerStatus> {
        self.asked.lock().unwrap().push((what.clone(), password.clone()));
        let status = self.status.lock().unwrap().clone().unwrap();
        Box::pin(async { status })
    }

    fn release<'a>(&'a self, _: &'a NamespacedName, _: &'a str, data: bool) -> BoxFuture<'a, bool> {
        let done = !*self.stopping.lock().unwrap();
        if done {
            self.released.lock().unwrap().push(data);
        }
        Box::pin(async move { done })
    }

    fn changes(&self) -> BoxStream<'static, NamespacedName> {
        stream::pending().boxed()
    }
}

/// Proxy that records its rules.
#[derive(Default)]
pub(super) struct Rules(pub(super) Mutex<BTreeMap<NamespacedName, Vec<Rule>>>);

impl Proxy for Rules {
    fn port(&self) -> u16 {
        8000
    }

    fn set(&self, id: &NamespacedName, rules: Vec<Rule>) -> Result<(), NamespacedName> {
        let mut all = self.0.lock().unwrap();
        let place = |rule: &Rule| (rule.host.clone(), rule.path.clone());
        let wanted: BTreeSet<_> = rules.iter().map(place).collect();
        let others = all.iter().filter(|(other, _)| *other != id);
        let held = others.filter(|(_, rules)| rules.iter().any(|rule| wanted.contains(&place(rule))));
        if let Some((holder, _)) = held.into_iter().next() {
            return Err(holder.clone());
        }
        all.insert(id.clone(), rules);
        Ok(())
    }

    fn remove(&self, id: &NamespacedName) {
        self.0.lock().unwrap().remove(id);
    }
}

/// Ports as Workloads declare them.
pub(super) fn ports(named: &[(&str, u16, u16)]) -> Json {
    let port = |(name, port, target): &(&str, u16, u16)| {
        ((*name).to_owned(), json!({"port": port, "targetPort": target}))
    };
    Json::Object(named.iter().map(port).collect())
}
