//! Dependencies of the engine: servers for databases and caches, and the reverse proxy. They are traits, so that tests of the
//! engine can script them.

use futures_util::{future::BoxFuture, stream::BoxStream};

use crate::{
    SecretText,
    process::{
        proxy::{self, Rule},
        servers::{self, Server, ServerStatus},
    },
};

/// Namespace and identity of an instance.
pub(super) type Id = (String, String);

/// Database servers; see [`servers::Servers`].
pub(super) trait Servers: Send + Sync {
    fn ensure<'a>(
        &'a self,
        id: &'a Id,
        what: &'a Server,
        password: &'a SecretText,
    ) -> BoxFuture<'a, ServerStatus>;

    fn release<'a>(&'a self, id: &'a Id, type_: &'a str, data: bool) -> BoxFuture<'a, bool>;

    fn changes(&self) -> BoxStream<'static, Id>;
}

impl Servers for servers::Servers {
    fn ensure<'a>(
        &'a self,
        id: &'a Id,
        what: &'a Server,
        password: &'a SecretText,
    ) -> BoxFuture<'a, ServerStatus> {
        Box::pin(self.ensure(id, what, password))
    }

    fn release<'a>(&'a self, id: &'a Id, type_: &'a str, data: bool) -> BoxFuture<'a, bool> {
        Box::pin(self.release(id, type_, data))
    }

    fn changes(&self) -> BoxStream<'static, Id> {
        self.changes()
    }
}

/// Reverse proxy; see [`proxy::Proxy`].
pub(super) trait Proxy: Send + Sync {
    fn port(&self) -> u16;

    fn set(&self, id: &Id, rules: Vec<Rule>) -> Result<(), Id>;

    fn remove(&self, id: &Id);
}

impl Proxy for proxy::Proxy {
    fn port(&self) -> u16 {
        self.port()
    }

    fn set(&self, id: &Id, rules: Vec<Rule>) -> Result<(), Id> {
        self.set(id, rules)
    }

    fn remove(&self, id: &Id) {
        self.remove(id);
    }
}
