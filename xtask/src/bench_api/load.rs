//! Load on a server.

use super::Failure;
use super::client::{Answer, Client, Connection};
use http_body_util::BodyExt;
use hyper::body::{Bytes, Incoming};
use hyper::{Method, StatusCode};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// Namespace of the measurement, deleted afterwards.
const NAMESPACE: &str = "bench-api";
/// Objects per deletion request, so that none times out.
const PAGE: usize = 500;

/// Server with a namespace for the measurement.
pub(crate) struct Target {
    client: Arc<Client>,
    namespace: String,
    /// `/api/v1/namespaces/NAME/configmaps`
    path: String,
}

impl Target {
    /// Server whose namespace exists.
    pub(crate) fn new(kubeconfig: &Path) -> Result<Self, Failure> {
        let client = Arc::new(Client::from_kubeconfig(kubeconfig)?);
        Ok(Self::of(client, NAMESPACE))
    }

    fn of(client: Arc<Client>, namespace: &str) -> Self {
        let path = format!("/api/v1/namespaces/{namespace}/configmaps");
        Self { client, namespace: namespace.to_owned(), path }
    }

    /// Creates the namespace.
    pub(crate) async fn prepare(kubeconfig: &Path) -> Result<Self, Failure> {
        let target = Self::new(kubeconfig)?;
        target.create_namespace().await?;
        Ok(target)
    }

    /// The same server with another new namespace: one has room for a part of the store only.
    pub(crate) async fn beside(&self, name: &str) -> Result<Self, Failure> {
        let target = Self::of(Arc::clone(&self.client), &format!("{NAMESPACE}-{name}"));
        target.create_namespace().await?;
        Ok(target)
    }

    async fn create_namespace(&self) -> Result<(), Failure> {
        let body = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": self.namespace } });
        let mut connection = self.client.connect().await?;
        let answer = connection.call(Method::POST, "/api/v1/namespaces", body.to_string()).await?;
        expect(StatusCode::CREATED, answer).map(drop)
    }

    /// Deletes the namespace and its objects.
    pub(crate) async fn remove(&self) -> Result<(), Failure> {
        let mut connection = self.client.connect().await?;
        let page = format!("{}?limit={PAGE}", self.path);
        loop {
            let deleted = connection.call(Method::DELETE, &page, String::new()).await?;
            if count(&expect(StatusCode::OK, deleted)?)? < PAGE {
                break;
            }
        }
        let namespace = format!("/api/v1/namespaces/{}", self.namespace);
        expect(StatusCode::OK, connection.call(Method::DELETE, &namespace, String::new()).await?)?;
        Ok(())
    }

    /// Creates objects sequentially on each connection for a duration, and returns the latencies.
    pub(crate) async fn create_for(
        &self,
        connections: usize,
        prefix: &str,
        time: Duration,
    ) -> Result<Vec<Duration>, Failure> {
        let start = Instant::now();
        self.create_while(connections, prefix, move |_| start.elapsed() < time).await
    }

    /// Fills the namespace up to a number of objects.
    pub(crate) async fn fill(&self, objects: usize) -> Result<(), Failure> {
        let there = count(&self.list().await?.0)?;
        self.create_while(16, "fill", move |object| there + object < objects).await?;
        match count(&self.list().await?.0)? {
            filled if filled == objects => Ok(()),
            filled => Err(format!("there are {filled} objects instead of {objects}").into()),
        }
    }

    /// List of all objects in one response, and its latency.
    pub(crate) async fn list(&self) -> Result<(Bytes, Duration), Failure> {
        let mut connection = self.client.connect().await?;
        let asked = Instant::now();
        let answer = connection.call(Method::GET, &self.path, String::new()).await?;
        Ok((expect(StatusCode::OK, answer)?, asked.elapsed()))
    }

    /// Creates objects on several connections while the function, which gets the number of the next, returns true.
    async fn create_while(
        &self,
        connections: usize,
        prefix: &str,
        allowed: impl Fn(usize) -> bool + Copy + Send + 'static,
    ) -> Result<Vec<Duration>, Failure> {
        let next = Arc::new(AtomicUsize::new(0));
        let mut workers = JoinSet::new();
        for _ in 0..connections {
            let (client, next) = (Arc::clone(&self.client), Arc::clone(&next));
            let (path, prefix) = (self.path.clone(), prefix.to_owned());
            workers.spawn(async move {
                let mut connection = client.connect().await?;
                let mut durations = Vec::new();
                loop {
                    let object = next.fetch_add(1, Ordering::Relaxed);
                    if !allowed(object) {
                        return Ok::<_, Failure>(durations);
                    }
                    let asked = Instant::now();
                    create(&mut connection, &path, &format!("{prefix}-{object}")).await?;
                    durations.push(asked.elapsed());
                }
            });
        }
        let mut durations = Vec::new();
        while let Some(worker) = workers.join_next().await {
            durations.extend(worker??);
        }
        Ok(durations)
    }

    /// Writes one object at a time, waits until every watch has seen it, and returns the latencies.
    pub(crate) async fn fan_out(&self, watchers: usize, writes: usize) -> Result<Vec<Duration>, Failure> {
        let (sender, mut seen) = mpsc::unbounded_channel();
        let mut watches = JoinSet::new();
        for _ in 0..watchers {
            let mut connection = self.client.connect().await?;
            let path = format!("{}?watch=true&timeoutSeconds=600", self.path);
            watches.spawn(follow(connection.watch(&path).await?, sender.clone()));
        }
        drop(sender);
        let mut connection = self.client.connect().await?;
        let mut durations = Vec::new();
        for write in 0..writes {
            let asked = Instant::now();
            create(&mut connection, &self.path, &format!("fan-{write}")).await?;
            for _ in 0..watchers {
                seen.recv().await.ok_or("all watches have ended")?;
            }
            durations.push(asked.elapsed());
        }
        Ok(durations)
    }
}

/// Reports each event of an object of the fan-out.
async fn follow(mut events: Incoming, seen: mpsc::UnboundedSender<()>) {
    let mut line = Vec::new();
    while let Some(Ok(frame)) = events.frame().await {
        for piece in frame.data_ref().into_iter().flat_map(|data| data.split_inclusive(|&byte| byte == b'\n'))
        {
            line.extend_from_slice(piece);
            if line.ends_with(b"\n") {
                let is_ours = line.windows(12).any(|window| window == br#""name":"fan-"#);
                line.clear();
                if is_ours && seen.send(()).is_err() {
                    return;
                }
            }
        }
    }
}

/// Creates a config map with about 300 bytes of data.
async fn create(connection: &mut Connection, path: &str, name: &str) -> Result<(), Failure> {
    let body = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": { "name": name },
        "data": { "greeting": "a".repeat(100), "farewell": "b".repeat(100), "rest": "c".repeat(80) },
    });
    expect(StatusCode::CREATED, connection.call(Method::POST, path, body.to_string()).await?)?;
    Ok(())
}

/// Body of the response, or an error if the status differs.
fn expect(status: StatusCode, answer: Answer) -> Result<Bytes, Failure> {
    if answer.0 == status { Ok(answer.1) } else { Err(String::from_utf8_lossy(&answer.1).into()) }
}

fn count(list: &[u8]) -> Result<usize, Failure> {
    let list: Value = serde_json::from_slice(list)?;
    Ok(list["items"].as_array().map_or(0, Vec::len))
}
