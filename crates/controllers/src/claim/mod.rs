//! Claim controller: executes [`orchestra_core::provision::decide`] with the available engines, for all claims of an instance at once. It
//! alone writes the status of claims that a built-in engine provides; the engine `external` belongs to other controllers.

mod provision_context;

use std::{collections::BTreeMap, fmt, sync::Arc};

use kube::ResourceExt;
use orchestra_api::{ResourceClaim, annotation, claim::ResourceClaimStatus, finalizer, label};
use orchestra_core::{
    claim_state,
    provision::{self, Inputs, Instance, Release, Report, Work},
};
use orchestra_drivers::{ProvisionContext, Provisioner};
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
    pub fn key(claim: &ResourceClaim) -> Option<Key> {
        let instance = claim.labels().get(label::INSTANCE)?;
        Some(Key::new(&claim.namespace().unwrap_or_default(), instance))
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

    async fn ensure(&self, inputs: &Inputs, instance: &Instance) -> Option<Report> {
        let engine = self.engines.get(&instance.entry.engine)?;
        let ctx = self.provision_context(&instance.namespace, &instance.type_, &instance.id);
        let answer = in_time(engine.ensure(instance, &ctx)).await;
        Some(provision::report_ensured(inputs, instance, answer))
    }

    async fn release(&self, inputs: &Inputs, release: &Release) -> Result<Report, Error> {
        for claim in inputs.claims.iter().filter(|claim| release.start.contains(&claim.name_any())) {
            let started = json!({annotation::ENGINE: release.engine, annotation::RELEASING: "true"});
            self.writer.add_finalizer(&self.context.claims, claim, finalizer::PROVISIONER, &started).await?;
        }
        let ctx = self.provision_context(&release.namespace, &release.type_, &release.id);
        let answer = match self.engines.get(&release.engine) {
            Some(engine) => Some(in_time(engine.release(release, &ctx)).await),
            None => None,
        };
        Ok(provision::report_released(inputs, release, answer))
    }

    async fn write_status(&self, claim: &ResourceClaim, status: &ResourceClaimStatus) -> Result<(), Error> {
        if claim.status.as_ref() == Some(status) {
            return Ok(());
        }
        self.writer.status(&self.context.claims, claim, status).await.map(drop)
    }

    async fn remove_finalizer(&self, claim: &ResourceClaim) -> Result<(), Error> {
        self.writer.remove_finalizer(&self.context.claims, claim, finalizer::PROVISIONER).await
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
        let provision::Decision { add_finalizer, statuses, work, remove_finalizer, external: _ } =
            provision::decide(&inputs);
        for claim in &inputs.claims {
            let name = claim.name_any();
            if let Some(status) = statuses.get(&name) {
                self.write_status(claim, status).await?;
            }
            if let Some(engine) = add_finalizer.get(&name) {
                let engine = json!({annotation::ENGINE: engine});
                self.writer
                    .add_finalizer(&self.context.claims, claim, finalizer::PROVISIONER, &engine)
                    .await?;
            }
        }
        // After the claims that stay have the finalizer: one of them has to release the instance one day.
        for claim in inputs.claims.iter().filter(|claim| remove_finalizer.contains(&claim.name_any())) {
            self.remove_finalizer(claim).await?;
        }
        let report = match &work {
            None => None,
            Some(Work::Ensure(instance)) => self.ensure(&inputs, instance).await,
            Some(Work::Release(release)) => Some(self.release(&inputs, release).await?),
        };
        let Report { statuses, remove_finalizer, requeue: again } = report.unwrap_or_default();
        for claim in &inputs.claims {
            let name = claim.name_any();
            if let Some(status) = statuses.get(&name) {
                self.write_status(claim, status).await?;
            }
            if remove_finalizer.contains(&name) {
                self.remove_finalizer(claim).await?;
            }
        }
        requeue(again)
    }
}
