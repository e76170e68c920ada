//! Reverse proxy for all routes of this machine: it listens on the loopback addresses, and forwards requests by host and path to
//! local programs.
//!
//! Its port is published, so it is kept across restarts. Its rules live in memory; the engine sets them again.

mod carry;
mod rules;

#[cfg(test)]
mod tests;

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    path::Path,
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinSet,
    time::sleep,
};

use crate::NamespacedName;

pub use self::rules::Rule;
use self::rules::Rules;
use super::record;

/// Port that is tried first; not one of the usual ports of programs.
const FIRST_PORT: u16 = 8088;
/// Delay after a failed accept, which means that the process is out of descriptors: connections have to close first.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(100);

/// The proxy; serves until it is dropped.
#[derive(Debug)]
pub struct Proxy {
    port: u16,
    rules: Arc<RwLock<Rules>>,
    _tasks: JoinSet<()>,
}

impl Proxy {
    /// Starts to serve: on its last port, which is saved in the data folder, or on another that is free.
    pub async fn open(data: &Path) -> io::Result<Self> {
        let file = data.join("proxy.json");
        let kept = record::read(&file).ok().flatten();
        let (port, listeners) = listen([kept, Some(FIRST_PORT), Some(0)]).await?;
        if kept != Some(port) {
            record::write(&file, &port)?;
        }
        let rules = Arc::new(RwLock::new(Rules::default()));
        let mut tasks = JoinSet::new();
        for listener in listeners {
            tasks.spawn(serve(listener, Arc::clone(&rules)));
        }
        Ok(Self { port, rules, _tasks: tasks })
    }

    /// Port that it listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Replaces the rules of an instance; or returns the instance that has the same host and path, and changes nothing.
    pub fn set(&self, id: &NamespacedName, rules: Vec<Rule>) -> Result<(), NamespacedName> {
        self.rules.write().unwrap_or_else(PoisonError::into_inner).set(id, rules)
    }

    /// Removes the rules of an instance.
    pub fn remove(&self, id: &NamespacedName) {
        self.rules.write().unwrap_or_else(PoisonError::into_inner).remove(id);
    }
}

/// Listens on the first of these ports that is free; 0 is any.
async fn listen(ports: [Option<u16>; 3]) -> io::Result<(u16, Vec<TcpListener>)> {
    let mut refused = io::Error::from(io::ErrorKind::AddrInUse);
    for port in ports.into_iter().flatten() {
        match listen_on(port).await {
            Ok(listening) => return Ok(listening),
            Err(error) => refused = error,
        }
    }
    Err(refused)
}

/// Listens on a port of both loopback addresses. Without IPv6, IPv4 is enough; but if another program has the port on IPv6,
/// browsers would reach that program.
async fn listen_on(port: u16) -> io::Result<(u16, Vec<TcpListener>)> {
    let older = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    let port = older.local_addr()?.port();
    match TcpListener::bind((Ipv6Addr::LOCALHOST, port)).await {
        Ok(newer) => Ok((port, vec![older, newer])),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => Err(error),
        Err(_) => Ok((port, vec![older])),
    }
}

async fn serve(listener: TcpListener, rules: Arc<RwLock<Rules>>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, from)) => {
                    connections.spawn(serve_connection(stream, from.ip(), Arc::clone(&rules)));
                }
                Err(_) => sleep(ACCEPT_RETRY_DELAY).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn serve_connection(stream: TcpStream, from: IpAddr, rules: Arc<RwLock<Rules>>) {
    let service = service_fn(|request| carry::answer(&rules, from, request));
    // The client sees the connection close.
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades()
        .await;
}
