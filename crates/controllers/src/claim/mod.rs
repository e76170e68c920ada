//! Claim controller: executes [`orchestra_core::provision::decide`] with the available engines, for all claims of an instance at once. It
//! alone writes the status of claims that a built-in engine provides; the engine `external` belongs to other controllers.

mod provision_context;

use std::{collections::BTreeMap, fmt, sync::Arc};

use kube::ResourceExt;
use orchestra_api::{ResourceClaim, finalizer};
use orchestra_core::{
    claim_state,
    provision::{self, Inputs, Instance, Release, Report, Work, Write},
};
use orchestra_drivers::{DriverError, ProvisionContext, Provisioner};
use serde_json::json;

use crate::{
    claim::provision_context::InstanceContext,
    context::{Context, by_instance},
    engine::{
        deadline::in_time,
        key::Key,
        worker::{Action, Reconcile, requeue},
    },
    error::Error,
    secrets::NamespaceSecrets,
    writer::Writer,
};

/// The claim controller.
pub struct ClaimController {
    context: Context,
    writer: Writer,
    secrets: NamespaceSecrets,
    engines: BTreeMap<String, Arc<dyn Provisioner>>,
}

impl fmt::Debug for ClaimController {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClaimController").field("engines", &self.engines.keys()).finish_non_exhaustive()
    }
}

impl ClaimController {
    /// Controller of the claims in this context, with these engines.
    pub fn new(
        context: Context,
        writer: Writer,
        secrets: NamespaceSecrets,
        engines: impl IntoIterator<Item = Arc<dyn Provisioner>>,
    ) -> Self {
        let engines = engines.into_iter().map(|engine| (engine.name().to_owned(), engine)).collect();
        Self { context, writer, secrets, engines }
    }

    /// Key of the instance behind a claim.
    pub fn key(claim: &ResourceClaim) -> Key {
        Key::new(&claim.namespace().unwrap_or_default(), &claim_state::instance(claim))
    }

    fn inputs(&self, key: &Key) -> Inputs {
        let claims = self.context.claims.indexed(&by_instance(&key.namespace, &key.name));
        let plan_of =
            |claim: &ResourceClaim| self.context.plans.get(&key.namespace, &claim.spec.workload_ref.name);
        Inputs {
            namespace: key.namespace.clone(),
            instance: key.name.clone(),
            in_use: claim_state::in_use(&claims, plan_of),
            config: self.context.config.get(),
            engines: self
                .engines
                .iter()
                .map(|(name, engine)| (name.clone(), engine.capabilities()))
                .collect(),
            claims,
        }
    }

    fn provision_context(
        &self,
        namespace: &str,
        type_: &str,
        instance: &str,
    ) -> impl ProvisionContext + use<> {
        InstanceContext::new(&self.secrets, &self.context.workloads, namespace, type_, instance)
    }

    async fn ensure(&self, inputs: &Inputs, instance: &Instance) -> Report {
        let ctx = self.provision_context(&instance.namespace, &instance.type_, &instance.id);
        let answer = match self.engines.get(&instance.entry.engine) {
            Some(engine) => in_time(engine.ensure(instance, &ctx)).await,
            None => Err(DriverError::unreachable(format!(
                "The engine `{}` is not available.",
                instance.entry.engine
            ))),
        };
        provision::report_ensured(inputs, instance, answer)
    }

    async fn release(&self, inputs: &Inputs, release: &Release) -> Result<Report, Error> {
        self.execute(release.writes(inputs)).await?;
        let ctx = self.provision_context(&release.namespace, &release.type_, &release.id);
        let answer = match self.engines.get(&release.engine) {
            Some(engine) => Some(in_time(engine.release(release, &ctx)).await),
            None => None,
        };
        Ok(provision::report_released(inputs, release, answer))
    }

    async fn execute(&self, writes: Vec<Write<'_>>) -> Result<(), Error> {
        let (writer, claims) = (&self.writer, &self.context.claims);
        for write in writes {
            match write {
                Write::Status(claim, status) => writer.status(claims, claim, status).await.map(drop)?,
                Write::AddFinalizer(claim, annotations) => {
                    writer.add_finalizer(claims, claim, finalizer::PROVISIONER, &json!(annotations)).await?;
                }
                Write::RemoveFinalizer(claim) => {
                    writer.remove_finalizer(claims, claim, finalizer::PROVISIONER).await?;
                }
            }
        }
        Ok(())
    }
}

impl Reconcile for ClaimController {
    type Key = Key;

    const NAME: &'static str = "claim";

    fn namespace(key: &Key) -> &str {
        &key.namespace
    }

    async fn reconcile(&self, key: &Key) -> Result<Action, Error> {
        let inputs = self.inputs(key);
        let decision = provision::decide(&inputs);
        self.execute(decision.writes(&inputs)).await?;
        let report = match &decision.work {
            None => Report::default(),
            Some(Work::Ensure(instance)) => self.ensure(&inputs, instance).await,
            Some(Work::Release(release)) => self.release(&inputs, release).await?,
        };
        self.execute(report.writes(&inputs)).await?;
        requeue(report.requeue)
    }
}

#[cfg(test)]
mod tests {
    use orchestra_api::name;

    use super::*;

    #[test]
    fn a_claim_whose_labels_were_removed_belongs_to_the_same_instance() {
        let spec = json!({
            "workloadRef": {"name": "web", "uid": "u"}, "key": "db", "type": "postgres", "class": "default", "id": "orders",
            "placement": {"runtimeClass": "kubernetes", "backendId": "here"}, "deprovisionPolicy": "Delete",
        });
        let mut claim = ResourceClaim::new("web-db", serde_json::from_value(spec).unwrap());
        claim.metadata.namespace = Some("shop".to_owned());
        let of_a_sharer = name::instance("shop", "postgres", "default", Some("orders"), "other", "it");
        assert_eq!(ClaimController::key(&claim), Key::new("shop", &of_a_sharer));
    }
}
