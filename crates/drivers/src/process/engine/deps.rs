//! Dependencies of the engine: servers for databases and caches, and the reverse proxy. They are traits, so that tests of the
//! engine can script them.

use futures_util::{future::BoxFuture, stream::BoxStream};

use crate::{
    NamespacedName, SecretText,
    process::{
        proxy::{self, Rule},
        servers::{self, Server, ServerStatus},
    },
};

/// Database servers; see [`servers::Servers`].
pub(super) trait Servers: Send + Sync {
    fn ensure<'a>(
        &'a self,
        id: &'a NamespacedName,
        what: &'a Server,
        password: &'a SecretText,
    ) -> BoxFuture<'a, ServerStatus>;

    fn release<'a>(&'a self, id: &'a NamespacedName, type_: &'a str, data: bool) -> BoxFuture<'a, bool>;

    fn changes(&self) -> BoxStream<'static, NamespacedName>;
}

impl Servers for servers::Servers {
    fn ensure<'a>(
        &'a self,
        id: &'a NamespacedName,
        what: &'a Server,
        password: &'a SecretText,
    ) -> BoxFuture<'a, ServerStatus> {
        Box::pin(self.ensure(id, what, password))
    }

    fn release<'a>(&'a self, id: &'a NamespacedName, type_: &'a str, data: bool) -> BoxFuture<'a, bool> {
        Box::pin(self.release(id, type_, data))
    }

    fn changes(&self) -> BoxStream<'static, NamespacedName> {
        self.changes()
    }
}

/// Reverse proxy; see [`proxy::Proxy`].
pub(super) trait Proxy: Send + Sync {
    fn port(&self) -> u16;

    fn set(&self, id: &NamespacedName, rules: Vec<Rule>) -> Result<(), NamespacedName>;

    fn remove(&self, id: &NamespacedName);
}

impl Proxy for proxy::Proxy {
    fn port(&self) -> u16 {
        self.port()
    }

    fn set(&self, id: &NamespacedName, rules: Vec<Rule>) -> Result<(), NamespacedName> {
        self.set(id, rules)
    }

    fn remove(&self, id: &NamespacedName) {
        self.remove(id);
    }
}
