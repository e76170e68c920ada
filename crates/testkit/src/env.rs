//! Test environment.

use std::{fmt::Display, panic::Location};

use k8s_openapi::{
    api::core::v1::Namespace, apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Client, ResourceExt,
    api::{Patch, PatchParams, PostParams},
};
use orchestra_apiserver::{Api, Caller, Options, store::Memory};
use serde::Serialize;
use serde_json::Value;
use tower::Layer;

use crate::{
    Crash, Faults, ManualClock, PollOutcome,
    wait::{eventually, must},
};

/// Field manager of the environment.
const MANAGER: &str = "testkit";

/// In-process server with a manual clock and fault injection. Dropping it stops the server and its watches.
#[derive(Debug)]
pub struct TestEnv {
    api: Api,
    clock: ManualClock,
    faults: Faults,
}

impl Drop for TestEnv {
    fn drop(&mut self) {
        self.api.stop();
    }
}

impl TestEnv {
    /// Starts an empty server. Needs a Tokio runtime.
    ///
    /// # Panics
    ///
    /// If the server does not start.
    #[track_caller]
    pub fn start() -> impl Future<Output = Self> + Send {
        Self::start_with(Options::default())
    }

    /// Starts a server with options, such as a short watch history. Its clock is the manual one.
    ///
    /// # Panics
    ///
    /// If the server does not start.
    #[track_caller]
    pub fn start_with(mut options: Options) -> impl Future<Output = Self> + Send {
        let place = Location::caller();
        async move {
            let clock = ManualClock::default();
            options.clock = clock.for_server();
            let api = must(Api::open(Memory, options).await, "start the server", place);
            Self { api, clock, faults: Faults::default() }
        }
    }

    /// Server.
    pub fn api(&self) -> &Api {
        &self.api
    }

    /// Client of the administrator, in the namespace `default`.
    pub fn client(&self) -> Client {
        Client::new(self.api.router_for(Caller::admin()), "default")
    }

    /// Client of a user, in the namespace `default`.
    pub fn client_of(&self, caller: Caller) -> Client {
        Client::new(self.api.router_for(caller), "default")
    }

    /// Client like [`client`](Self::client) with the injected [`faults`](Self::faults).
    pub fn faulty_client(&self) -> Client {
        Client::new(self.faults.layer(self.api.router_for(Caller::admin())), "default")
    }

    /// Client like [`client`](Self::client) of a process that may crash.
    pub fn crashing_client(&self, crash: &Crash) -> Client {
        Client::new(crash.layer(self.api.router_for(Caller::admin())), "default")
    }

    /// Faults of [`faulty_client`](Self::faulty_client).
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    /// Clock of the server.
    pub fn clock(&self) -> &ManualClock {
        &self.clock
    }

    /// Creates a namespace.
    ///
    /// # Panics
    ///
    /// If it cannot be created.
    #[track_caller]
    pub fn namespace(&self, name: &str) -> impl Future<Output = Namespace> + Send {
        let place = Location::caller();
        let namespaces: kube::Api<Namespace> = kube::Api::all(self.client());
        let mut namespace = Namespace::default();
        namespace.metadata.name = Some(name.to_owned());
        async move {
            let created = namespaces.create(&PostParams::default(), &namespace).await;
            must(created, "create the namespace", place)
        }
    }

    /// Applies a CRD, as a type or as JSON, and waits until it is established.
    ///
    /// ```
    /// use orchestra_testkit::TestEnv;
    /// use serde_json::json;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let env = TestEnv::start().await;
    /// let definition = env.install(json!({
    ///     "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
    ///     "metadata": {"name": "boats.sea.example.org"},
    ///     "spec": {
    ///         "group": "sea.example.org", "scope": "Namespaced", "names": {"plural": "boats", "kind": "Boat"},
    ///         "versions": [{
    ///             "name": "v1", "served": true, "storage": true,
    ///             "schema": {"openAPIV3Schema": {"type": "object"}},
    ///         }],
    ///     },
    /// }));
    /// assert_eq!(definition.await.spec.names.singular.as_deref(), Some("boat"));
    /// # }
    /// ```
    ///
    /// # Panics
    ///
    /// If it is rejected, or not established in time.
    #[track_caller]
    pub fn install(&self, definition: impl Serialize) -> impl Future<Output = CustomResourceDefinition> {
        let place = Location::caller();
        let definition = serde_json::to_value(definition);
        let definitions: kube::Api<CustomResourceDefinition> = kube::Api::all(self.client());
        async move {
            let definition = must(definition, "write the definition as JSON", place);
            let name = definition["metadata"]["name"].as_str().unwrap_or_default().to_owned();
            let params = PatchParams::apply(MANAGER).force();
            let applied = definitions.patch(&name, &params, &Patch::Apply::<Value>(definition)).await;
            let name = must(applied, "apply the definition", place).name_any();
            eventually(format!("{name} is established"), async || {
                let definition = definitions.get(&name).await?;
                Ok::<_, kube::Error>(is_established(&definition).then_some(definition))
            })
            .await
        }
    }

    /// Polls until the awaited value is there, and returns it; see [`eventually`].
    ///
    /// # Panics
    ///
    /// After 30 seconds, with the description, the last outcome and the location of the caller.
    #[track_caller]
    pub fn eventually<F, Look>(
        &self,
        description: impl Display,
        poll: F,
    ) -> impl Future<Output = <Look::Output as PollOutcome>::Value>
    where
        F: FnMut() -> Look,
        Look: Future<Output: PollOutcome>,
    {
        eventually(description, poll)
    }
}

fn is_established(definition: &CustomResourceDefinition) -> bool {
    let conditions = definition.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions.into_iter().flatten().any(|c| c.type_ == "Established" && c.status == "True")
}
