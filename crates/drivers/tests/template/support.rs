//! Fixture: namespace of a test, instances, and their provision context.

use std::collections::BTreeMap;

use futures_util::future::BoxFuture;
use k8s_openapi::{
    ByteString,
    api::{
        apps::v1::StatefulSet,
        core::v1::{Namespace, PersistentVolumeClaim, Secret},
    },
};
use kube::{
    Api, Client, ResourceExt as _,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use orchestra_api::{
    claim::DeprovisionPolicy, config::Provisioner as Entry, label, name, plan::Port, reference::SecretKeyRef,
};
use orchestra_core::{
    config::builtin,
    provision::{Bound, Dependent, Instance, Provision, Release},
};
use orchestra_drivers::{
    DriverError, ProvisionContext, Provisioner as _, Released, SecretText, Secrets,
    provision_context::{Edit, InstanceSecret, SecretData},
    secret::Read,
    template::Template,
};
use serde_json::{Map, Value as Json, json};

/// Id of the instance of a test.
pub(super) const INSTANCE: &str = "0123456789abcdef0123456789abcdef";

/// Namespace of a test.
pub(super) struct Fixture {
    pub(super) client: Client,
    pub(super) namespace: String,
}

impl Fixture {
    /// Creates the namespace. One that exists fails the test.
    pub(super) async fn new(test: &str) -> Self {
        let client = Client::try_default().await.expect("KUBECONFIG names no cluster");
        let namespace = format!("template-{test}-{}", std::process::id());
        let api: Api<Namespace> = Api::all(client.clone());
        let made = json!({"metadata": {"name": namespace}});
        api.create(&PostParams::default(), &serde_json::from_value(made).unwrap()).await.unwrap();
        Self { client, namespace }
    }

    pub(super) async fn delete_namespace(self) {
        let api: Api<Namespace> = Api::all(self.client);
        api.delete(&self.namespace, &DeleteParams::default()).await.unwrap();
    }

    pub(super) fn api<K>(&self) -> Api<K>
    where
        K: kube::Resource<Scope = kube::core::NamespaceResourceScope, DynamicType = ()>,
    {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    pub(super) fn instance(&self, type_: &str, params: &Json) -> Instance {
        let built_in =
            builtin::all().iter().find(|entry| entry.type_ == type_ && entry.engine == builtin::TEMPLATE);
        let own =
            || Entry { type_: type_.to_owned(), engine: builtin::TEMPLATE.to_owned(), ..Entry::default() };
        Instance {
            namespace: self.namespace.clone(),
            id: INSTANCE.to_owned(),
            type_: type_.to_owned(),
            class: "default".to_owned(),
            shared_id: None,
            params: params.as_object().cloned().unwrap(),
            metadata: Map::new(),
            values: Map::new(),
            entry: built_in.cloned().unwrap_or_else(own),
            claims: vec!["web-it".to_owned()],
            dependents: vec![Dependent { workload: "web".to_owned(), key: "it".to_owned() }],
            warning: None,
        }
    }

    pub(super) async fn ensure(
        &self,
        engine: &Template,
        instance: &Instance,
    ) -> Result<Provision, DriverError> {
        engine.ensure(instance, &self.ctx(&instance.type_)).await
    }

    /// Provisions an instance; reports its servers as ready, as a cluster would, in between.
    pub(super) async fn bound(&self, engine: &Template, instance: &Instance) -> Bound {
        let first = self.ensure(engine, instance).await.unwrap();
        if let Provision::Bound(bound) = first {
            return bound;
        }
        assert_eq!(first, Provision::Binding("It is being started.".to_owned()));
        self.start_servers().await;
        match self.ensure(engine, instance).await.unwrap() {
            Provision::Bound(bound) => bound,
            other => panic!("{other:?}"),
        }
    }

    async fn start_servers(&self) {
        let api: Api<StatefulSet> = self.api();
        for set in api.list(&kube::api::ListParams::default()).await.unwrap() {
            let status = json!({"status": {"observedGeneration": set.metadata.generation, "replicas": 1,
                "readyReplicas": 1, "updatedReplicas": 1}});
            api.patch_status(&set.name_any(), &PatchParams::default(), &Patch::Merge(&status)).await.unwrap();
        }
    }

    /// Releases the instance; removes the finalizers of its volumes, as a cluster would.
    pub(super) async fn release(&self, engine: &Template, type_: &str, policy: DeprovisionPolicy) {
        let release = Release {
            namespace: self.namespace.clone(),
            id: INSTANCE.to_owned(),
            type_: type_.to_owned(),
            engine: builtin::TEMPLATE.to_owned(),
            policy,
            claims: Vec::new(),
            start: Vec::new(),
        };
        for _ in 0..20 {
            if engine.release(&release, &self.ctx(type_)).await.unwrap() == Released::Done {
                return;
            }
            let api: Api<PersistentVolumeClaim> = self.api();
            for volume in api.list(&kube::api::ListParams::default()).await.unwrap() {
                let free = json!({"metadata": {"finalizers": null}});
                // It may be gone already.
                let _ = api.patch(&volume.name_any(), &PatchParams::default(), &Patch::Merge(&free)).await;
            }
        }
        panic!("the release does not complete");
    }

    fn ctx(&self, type_: &str) -> TestContext {
        TestContext { api: self.api(), name: name::secret(type_, INSTANCE) }
    }

    /// Secret of the instance of a type.
    pub(super) async fn instance_secret(&self, type_: &str) -> Option<Secret> {
        self.api::<Secret>().get_opt(&name::secret(type_, INSTANCE)).await.unwrap()
    }

    pub(super) async fn secret(&self, at: &SecretKeyRef) -> String {
        let found = self.api::<Secret>().get(&at.name).await.unwrap();
        String::from_utf8(found.data.unwrap()[&at.key].0.clone()).unwrap()
    }
}

/// Provision context with the Secret of an instance.
struct TestContext {
    api: Api<Secret>,
    name: String,
}

impl Secrets for TestContext {
    fn read<'a>(&'a self, _: &'a SecretKeyRef) -> BoxFuture<'a, Result<Option<Read>, DriverError>> {
        Box::pin(async { Ok(None) })
    }
}

impl ProvisionContext for TestContext {
    fn update_secret<'a>(&'a self, edit: &'a Edit<'a>) -> BoxFuture<'a, Result<InstanceSecret, DriverError>> {
        Box::pin(async move {
            let found = self.api.get_opt(&self.name).await.unwrap();
            let current: SecretData = found
                .iter()
                .flat_map(|found| found.data.iter().flatten())
                .map(|(key, value)| (key.clone(), SecretText::new(value.0.clone())))
                .collect();
            let wanted = edit(&current)?;
            let data: BTreeMap<String, ByteString> = wanted
                .iter()
                .map(|(key, value)| (key.clone(), ByteString(value.expose().to_vec())))
                .collect();
            let written = match found {
                Some(found) if current == wanted => found,
                Some(found) => {
                    let secret = Secret { data: Some(data), ..found };
                    self.api.replace(&self.name, &PostParams::default(), &secret).await.unwrap()
                }
                None => {
                    let labels = json!({label::INSTANCE: INSTANCE, label::MANAGED_BY: label::ORCHESTRA});
                    let mut secret: Secret =
                        serde_json::from_value(json!({"metadata": {"name": self.name, "labels": labels}}))
                            .unwrap();
                    secret.data = Some(data);
                    self.api.create(&PostParams::default(), &secret).await.unwrap()
                }
            };
            let version = written.resource_version().unwrap();
            Ok(InstanceSecret { name: self.name.clone(), version, contents: wanted })
        })
    }

    fn delete_secret(&self) -> BoxFuture<'_, Result<(), DriverError>> {
        Box::pin(async {
            // It may be gone with the other objects of the instance.
            let _ = self.api.delete(&self.name, &DeleteParams::default()).await;
            Ok(())
        })
    }

    fn workload_ports(&self, workload: &str) -> Option<BTreeMap<String, Port>> {
        let port: Port = serde_json::from_value(json!({"port": 80, "targetPort": 8080})).unwrap();
        (workload == "web").then(|| [("http".to_owned(), port)].into())
    }

    fn workload_names(&self) -> Vec<String> {
        vec!["web".to_owned()]
    }
}
