//! Counter of the requests of a client.

use std::sync::{Arc, Mutex};

use axum::{
    extract::Request,
    http::Method,
    middleware::{Next, from_fn},
};
use kube::Client;
use orchestra_apiserver::Caller;
use orchestra_testkit::TestEnv;

/// Requests so far. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Counter(Arc<Mutex<Vec<(Method, String)>>>);

impl Counter {
    /// Client whose requests are counted.
    pub(crate) fn client(&self, env: &TestEnv) -> Client {
        let counter = self.clone();
        let counted = from_fn(move |request: Request, next: Next| {
            counter.0.lock().unwrap().push((request.method().clone(), request.uri().to_string()));
            next.run(request)
        });
        Client::new(env.api().router_for(Caller::admin()).layer(counted), "default")
    }

    /// Takes all requests since the last call, as `METHOD path`.
    pub(crate) fn take(&self) -> Vec<String> {
        let requests = std::mem::take(&mut *self.0.lock().unwrap());
        requests.into_iter().map(|(method, path)| format!("{method} {path}")).collect()
    }

    /// Takes the writes since the last call, without those of leases and events.
    pub(crate) fn take_writes(&self) -> Vec<String> {
        let is_write = |request: &String| {
            !request.starts_with("GET ") && !request.contains("/leases") && !request.contains("/events")
        };
        self.take().into_iter().filter(is_write).collect()
    }
}
