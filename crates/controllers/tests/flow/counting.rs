//! Counts the requests of a client.

use std::sync::{Arc, Mutex};

use axum::{
    extract::Request,
    http::Method,
    middleware::{Next, from_fn},
};
use kube::Client;
use orchestra_apiserver::Caller;
use orchestra_testkit::TestEnv;

/// The requests that passed. Clones count together.
#[derive(Clone, Default)]
pub(crate) struct Counter(Arc<Mutex<Vec<(Method, String)>>>);

impl Counter {
    /// A client whose requests are counted.
    pub(crate) fn client(&self, env: &TestEnv) -> Client {
        let counter = self.clone();
        let counted = from_fn(move |request: Request, next: Next| {
            let passed = (request.method().clone(), request.uri().to_string());
            counter.0.lock().unwrap().push(passed);
            next.run(request)
        });
        Client::new(env.api().router_for(Caller::admin()).layer(counted), "default")
    }

    /// All requests since the last look, as `METHOD path`.
    pub(crate) fn take(&self) -> Vec<String> {
        let passed = std::mem::take(&mut *self.0.lock().unwrap());
        passed.into_iter().map(|(method, path)| format!("{method} {path}")).collect()
    }

    /// The writes since the last look, leases and events apart.
    pub(crate) fn take_writes(&self) -> Vec<String> {
        let is_write = |passed: &String| {
            !passed.starts_with("GET ") && !passed.contains("/leases") && !passed.contains("/events")
        };
        self.take().into_iter().filter(is_write).collect()
    }
}
