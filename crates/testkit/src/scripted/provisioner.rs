//! Scripted provisioner.

use std::collections::BTreeMap;

use futures_util::{future::BoxFuture, stream::BoxStream};
use k8s_openapi::{ByteString, api::core::v1::Secret};
use kube::{
    Api, Client,
    api::{Patch, PatchParams},
};
use orchestra_api::{
    claim::{DeprovisionPolicy, Output},
    condition::Reason,
    label,
    reference::SecretKeyRef,
};
use orchestra_core::provision::{Bound, Engine, Instance, Provision, Release};
use orchestra_drivers::{DriverError, ProvisionContext, Provisioner, Released};
use serde_json::json;

use super::{NamespacedName, Outside};

/// Behaviour of the provisioner for one type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ProvisionScript {
    /// Binds at once, with the outputs `host`, `port`, `name`, `username` and the secret `password`.
    #[default]
    Bind,
    /// Stays in progress.
    Make,
    /// Binds without the output `host`.
    BindInPart,
    /// Rejects the claim.
    Refuse(Reason, String),
    /// Fails with a transient error.
    Fail(Reason, String),
    /// Binds, and never finishes its release.
    ReleaseForever,
}

/// Scripted provisioner. Clones share the state.
#[derive(Clone)]
pub struct ScriptedProvisioner {
    engine: String,
    client: Client,
    outside: Outside<State>,
}

impl std::fmt::Debug for ScriptedProvisioner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ScriptedProvisioner").field("engine", &self.engine).finish_non_exhaustive()
    }
}

#[derive(Debug, Default)]
struct State {
    password: String,
    scripts: BTreeMap<String, ProvisionScript>,
    /// Existing instances, with the number of `ensure` calls.
    made: BTreeMap<NamespacedName, usize>,
    /// Number of creations of each instance, including deleted ones.
    creations: BTreeMap<NamespacedName, usize>,
    released: Vec<(NamespacedName, DeprovisionPolicy)>,
    types: BTreeMap<NamespacedName, String>,
}

impl ScriptedProvisioner {
    /// Provisioner of an engine that stores this password in Secrets.
    pub fn new(engine: &str, password: &str, client: Client) -> Self {
        let provisioner = Self { engine: engine.to_owned(), client, outside: Outside::default() };
        password.clone_into(&mut provisioner.outside.lock().password);
        provisioner
    }

    /// Rotates the password of every instance.
    pub fn rotate(&self, password: &str) {
        let mut state = self.outside.lock();
        password.clone_into(&mut state.password);
        let concerned: Vec<_> = state.made.keys().cloned().collect();
        drop(state);
        for key in concerned {
            self.outside.notify(key);
        }
    }

    /// Sets the behaviour for a type.
    pub fn script(&self, type_: &str, script: ProvisionScript) {
        let mut state = self.outside.lock();
        state.scripts.insert(type_.to_owned(), script);
        let concerned: Vec<_> =
            state.types.iter().filter(|(_, known)| *known == type_).map(|(key, _)| key.clone()).collect();
        drop(state);
        for key in concerned {
            self.outside.notify(key);
        }
    }

    /// Existing instances, with the number of `ensure` calls.
    pub fn instances(&self) -> BTreeMap<NamespacedName, usize> {
        self.outside.lock().made.clone()
    }

    /// Number of creations of each instance, including deleted ones.
    pub fn creations(&self) -> BTreeMap<NamespacedName, usize> {
        self.outside.lock().creations.clone()
    }

    /// Released instances, with their policies.
    pub fn released(&self) -> Vec<(NamespacedName, DeprovisionPolicy)> {
        self.outside.lock().released.clone()
    }

    fn script_of(&self, type_: &str) -> ProvisionScript {
        self.outside.lock().scripts.get(type_).cloned().unwrap_or_default()
    }

    fn forget(&self, key: NamespacedName, policy: DeprovisionPolicy) {
        let mut state = self.outside.lock();
        if state.made.remove(&key).is_some() {
            state.released.push((key, policy));
        }
    }

    /// Stores the password of an instance in a Secret, and returns its name and resource version.
    async fn keep_secret(&self, instance: &Instance) -> Result<(String, String), DriverError> {
        let name = format!("instance-{}", instance.id);
        let password = self.outside.lock().password.clone().into_bytes();
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": name, "labels": {label::INSTANCE: instance.id}},
            "data": {"password": ByteString(password)},
        });
        let api: Api<Secret> = Api::namespaced(self.client.clone(), &instance.namespace);
        let written = api.patch(&name, &PatchParams::apply("scripted").force(), &Patch::Apply(secret)).await;
        let written = written.map_err(|error| DriverError::unreachable(format!("no secret: {error}")))?;
        Ok((name, written.metadata.resource_version.unwrap_or_default()))
    }
}

impl Provisioner for ScriptedProvisioner {
    fn name(&self) -> &str {
        &self.engine
    }

    fn capabilities(&self) -> Engine {
        Engine { additive: false, reads_params: true }
    }

    fn ensure<'a>(
        &'a self,
        instance: &'a Instance,
        _: &'a dyn ProvisionContext,
    ) -> BoxFuture<'a, Result<Provision, DriverError>> {
        Box::pin(async move {
            let key = (instance.namespace.clone(), instance.id.clone());
            self.outside.lock().types.insert(key.clone(), instance.type_.clone());
            let script = self.script_of(&instance.type_);
            match &script {
                ProvisionScript::Make => return Ok(Provision::Binding("It is being made.".to_owned())),
                ProvisionScript::Refuse(reason, message) => {
                    return Ok(Provision::Failed(*reason, message.clone()));
                }
                ProvisionScript::Fail(reason, message) => {
                    return Err(DriverError::transient(*reason, message.clone()));
                }
                _ => {}
            }
            let (secret, version) = self.keep_secret(instance).await?;
            {
                let mut state = self.outside.lock();
                let asked = state.made.entry(key.clone()).or_default();
                *asked += 1;
                if *asked == 1 {
                    *state.creations.entry(key).or_default() += 1;
                }
            }
            let mut outputs = BTreeMap::from([
                ("host".to_owned(), Output::Value(json!(format!("{}.example.test", instance.type_)))),
                ("port".to_owned(), Output::Value(json!(5432))),
                ("name".to_owned(), Output::Value(json!("app"))),
                ("username".to_owned(), Output::Value(json!("app"))),
                (
                    "password".to_owned(),
                    Output::SecretKeyRef(SecretKeyRef { name: secret.clone(), key: "password".to_owned() }),
                ),
            ]);
            if script == ProvisionScript::BindInPart {
                outputs.remove("host");
            }
            let versions = BTreeMap::from([(secret, version)]);
            Ok(Provision::Bound(Bound { outputs, versions, message: "Ready.".to_owned() }))
        })
    }

    fn release<'a>(
        &'a self,
        release: &'a Release,
        _: &'a dyn ProvisionContext,
    ) -> BoxFuture<'a, Result<Released, DriverError>> {
        Box::pin(async move {
            if self.script_of(&release.type_) == ProvisionScript::ReleaseForever {
                return Ok(Released::Waiting("It is still being taken down.".to_owned()));
            }
            let key = (release.namespace.clone(), release.id.clone());
            self.forget(key, release.policy);
            if release.policy == DeprovisionPolicy::Delete {
                let api: Api<Secret> = Api::namespaced(self.client.clone(), &release.namespace);
                match api
                    .delete(&format!("instance-{}", release.id), &kube::api::DeleteParams::default())
                    .await
                {
                    Ok(_) => {}
                    Err(kube::Error::Api(status)) if status.code == 404 => {}
                    Err(error) => return Err(DriverError::unreachable(format!("no secret: {error}"))),
                }
            }
            Ok(Released::Done)
        })
    }

    fn changes(&self) -> BoxStream<'static, NamespacedName> {
        self.outside.changes()
    }
}
