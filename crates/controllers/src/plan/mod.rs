//! Plan controller: executes [`orchestra_core::run::decide`] with the built-in runtimes. It alone writes the finalizer
//! `score.dev/runtime`, and the status of plans and exposures whose class is built in; other classes belong to other controllers.

use std::{collections::BTreeMap, fmt, sync::Arc};

use kube::ResourceExt;
use orchestra_api::{WorkloadPlan, annotation, exposure::WorkloadExposureStatus, finalizer};
use orchestra_core::{
    decision::Deferral,
    run::{self, AddFinalizer, Decision, Inputs, Report, Work},
};
use orchestra_drivers::{DriverError, Observation, Removed, Runtime, Target, runtime::capabilities};
use serde_json::{Value as Json, json};

use crate::{
    context::Context,
    engine::{
        deadline::in_time,
        debounce::Debounce,
        key::Key,
        worker::{Action, Reconcile, requeue},
    },
    error::Error,
    secrets::NamespaceSecrets,
    writer::Writer,
};

/// The plan controller.
pub struct PlanController {
    context: Context,
    writer: Writer,
    secrets: NamespaceSecrets,
    runtimes: BTreeMap<String, Arc<dyn Runtime>>,
    debounce: Debounce,
}

impl fmt::Debug for PlanController {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlanController").field("runtimes", &self.runtimes.keys()).finish_non_exhaustive()
    }
}

impl PlanController {
    /// Controller of the plans in this context, with these runtimes.
    pub fn new(
        context: Context,
        writer: Writer,
        secrets: NamespaceSecrets,
        runtimes: impl IntoIterator<Item = Arc<dyn Runtime>>,
    ) -> Self {
        let runtimes = runtimes.into_iter().map(|runtime| (runtime.class().to_owned(), runtime)).collect();
        Self { context, writer, secrets, runtimes, debounce: Debounce::default() }
    }

    fn inputs(&self, key: &Key, plan: WorkloadPlan) -> Inputs {
        let runtime = self.runtimes.get(&plan.spec.runtime_class);
        Inputs {
            exposure: self.context.exposures.get(&key.namespace, &key.name),
            runtimes: self.runtimes.keys().cloned().collect(),
            capabilities: runtime.map(|runtime| capabilities(runtime.as_ref(), &plan)),
            deferred_for: self.debounce.elapsed(key),
            plan,
        }
    }

    /// Runtime of a target.
    fn runtime(&self, target: &Target) -> Result<&dyn Runtime, DriverError> {
        let class = &target.plan.runtime_class;
        let runtime = self.runtimes.get(class).map(Arc::as_ref);
        runtime.ok_or_else(|| DriverError::unreachable(format!("The runtime `{class}` is not built in.")))
    }

    /// Writes what comes before the work.
    async fn prepare(&self, inputs: &Inputs, decision: &Decision) -> Result<(), Error> {
        let plans = &self.context.plans;
        if let Some(AddFinalizer { record }) = &decision.add_finalizer {
            let recorded = record.as_ref().map(|record| json!({annotation::INVENTORY: record.annotation()}));
            let annotations = recorded.unwrap_or_else(|| Json::Object(serde_json::Map::new()));
            self.writer.add_finalizer(plans, &inputs.plan, finalizer::RUNTIME, &annotations).await?;
        }
        self.publish(inputs, decision.exposure.as_ref()).await?;
        if let Some(status) = &decision.status
            && !self.writer.status(plans, &inputs.plan, status).await?
        {
            return Err(Error::Gone { kind: "WorkloadPlan".to_owned(), name: inputs.plan.name_any() });
        }
        Ok(())
    }

    async fn work(&self, inputs: &Inputs, decision: &Decision) -> Report {
        match &decision.work {
            Work::Nothing(report) => report.clone(),
            Work::Apply(target) => {
                let outcome = self.run(target).await;
                let stale = run::prunable(inputs, &outcome);
                let pruned =
                    if stale.is_empty() { Ok(Removed::Gone) } else { self.remove(target, &stale).await };
                run::report_applied(inputs, decision, outcome, pruned)
            }
            Work::Remove(target, inventory) => {
                run::report_removed(inputs, self.remove(target, inventory).await)
            }
        }
    }

    async fn run(&self, target: &Target) -> run::RunOutcome {
        let applied = self.apply(target).await;
        let observed = match &applied {
            Err(error) if !run::is_observed_after(error) => Err(error.clone()),
            _ => self.observe(target).await,
        };
        run::RunOutcome { applied, observed }
    }

    async fn apply(&self, target: &Target) -> Result<(), DriverError> {
        let secrets = self.secrets.of(&target.namespace);
        in_time(self.runtime(target)?.apply(target, &secrets)).await
    }

    async fn observe(&self, target: &Target) -> Result<Observation, DriverError> {
        in_time(self.runtime(target)?.observe(target)).await
    }

    async fn remove(
        &self,
        target: &Target,
        inventory: &[orchestra_api::plan::InventoryItem],
    ) -> Result<Removed, DriverError> {
        in_time(self.runtime(target)?.remove(target, inventory)).await
    }

    async fn publish(&self, inputs: &Inputs, status: Option<&WorkloadExposureStatus>) -> Result<(), Error> {
        if let (Some(exposure), Some(status)) = (&inputs.exposure, status) {
            self.writer.status(&self.context.exposures, exposure, status).await?;
        }
        Ok(())
    }
}

impl Reconcile for PlanController {
    type Key = Key;

    const NAME: &'static str = "plan";

    fn namespace(key: &Key) -> &str {
        &key.namespace
    }

    async fn reconcile(&self, key: &Key) -> Result<Action, Error> {
        let Some(plan) = self.context.plans.get(&key.namespace, &key.name) else {
            self.debounce.set(key, false);
            return Ok(Action::AwaitChange);
        };
        let inputs = self.inputs(key, plan);
        let decision = run::decide(&inputs);
        self.prepare(&inputs, &decision).await?;
        let Report { exposure, status, remove_finalizer, requeue: requeue_after, deferred } =
            self.work(&inputs, &decision).await;
        self.debounce.set(key, deferred.is_some_and(Deferral::is_timed));
        self.publish(&inputs, exposure.as_ref()).await?;
        if let Some(status) = &status {
            self.writer.status(&self.context.plans, &inputs.plan, status).await?;
        }
        if remove_finalizer {
            self.writer.remove_finalizer(&self.context.plans, &inputs.plan, finalizer::RUNTIME).await?;
        }
        let has_exposure = self.context.exposures.get(&key.namespace, &key.name).is_some();
        requeue(run::requeue(&inputs, requeue_after, has_exposure))
    }
}
