//! The workload controller: the shell around [`orchestra_core::plan()`].
//!
//! It gathers, decides, carries out, and then says what came of it. It alone writes the status of Workloads.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::ObjectReference;
use kube::{Resource, ResourceExt};
use orchestra_api::{Workload, WorkloadPlan, finalizer, plan::Phase, workload::WorkloadStatus};
use orchestra_core::{
    Applied, Decision, Inputs,
    decision::{Doomed, DoomedKind, Finalizer},
    plan, status,
};
use serde_json::json;

use crate::{
    key::Key,
    patience::Patience,
    plan::is_held,
    record::{Recorder, Report, Severity},
    work::{Failure, Next, Reconcile},
    world::World,
    write::Writer,
};

/// The workload controller.
#[derive(Debug)]
pub struct WorkloadController {
    world: World,
    writer: Writer,
    recorder: Recorder,
    /// The classes that have a runtime of ours.
    classes: BTreeSet<String>,
    patience: Patience,
}

impl WorkloadController {
    /// A controller of this world, with runtimes of these classes at hand.
    pub fn new(world: World, writer: Writer, recorder: Recorder, classes: BTreeSet<String>) -> Self {
        Self { world, writer, recorder, classes, patience: Patience::default() }
    }

    /// A plan as it is written. One for a runtime of ours is held by it from the beginning, which saves the runtime a write;
    /// one that is held stays so until its runtime lets it go, also when it is another's from now on.
    fn held(&self, plan: &WorkloadPlan, live: Option<&WorkloadPlan>) -> WorkloadPlan {
        let mut plan = plan.clone();
        if live.is_some_and(is_held) || self.classes.contains(&plan.spec.runtime_class) {
            plan.metadata.finalizers = Some(vec![finalizer::RUNTIME.to_owned()]);
        }
        plan
    }

    /// Carries out a decision, in the order in which nothing is lost if it ends half-way.
    async fn carry_out(
        &self,
        inputs: &Inputs,
        decision: &Decision,
        applied: &mut Applied,
    ) -> Result<(), Failure> {
        let Decision { finalizer, claims, plan, exposure, delete, basis: _, explanation: _ } = decision;
        let World { claims: known_claims, plans, exposures, workloads, .. } = &self.world;
        if *finalizer == Finalizer::Add {
            self.writer.hold(workloads, &inputs.workload, finalizer::WORKLOAD, &json!({})).await?;
        }
        for claim in claims {
            let answer = self.writer.apply(known_claims, claim).await?;
            applied.claims.insert(claim.name_any(), answer);
        }
        // A runtime that takes up a new plan finds where to publish. Later an exposure notes which generation is
        // planned, and so comes after the plan.
        let is_new = inputs.exposure.is_none();
        if let Some(exposure) = exposure.as_ref().filter(|_| is_new) {
            applied.exposure = Some(self.writer.apply(exposures, exposure).await?);
        }
        let is_silent = inputs.plan.as_ref().is_some_and(is_silent);
        if let Some(plan) = plan.as_ref().filter(|_| !is_silent) {
            let plan = self.held(plan, inputs.plan.as_ref());
            applied.plan = Some(self.writer.apply(plans, &plan).await?);
        }
        if let Some(exposure) = exposure.as_ref().filter(|_| !is_new && !is_silent) {
            applied.exposure = Some(self.writer.apply(exposures, exposure).await?);
        }
        for Doomed { kind, name, uid } in delete {
            let namespace = inputs.namespace_name();
            match kind {
                DoomedKind::ResourceClaim => self.writer.delete(known_claims, namespace, name, uid).await?,
                DoomedKind::WorkloadPlan => self.writer.delete(plans, namespace, name, uid).await?,
                DoomedKind::WorkloadExposure => self.writer.delete(exposures, namespace, name, uid).await?,
            }
        }
        Ok(())
    }

    /// Whether nothing but an address is new, and the report is under way that what is behind it runs: a runtime of ours
    /// publishes just before it says so. Both are told at once.
    fn is_awaited(&self, inputs: &Inputs, status: &WorkloadStatus) -> bool {
        let is_starting = |plan: &WorkloadPlan| {
            let phase = plan.status.as_ref().map(|status| status.phase).unwrap_or_default();
            self.classes.contains(&plan.spec.runtime_class) && phase == Phase::Provisioning
        };
        let said = inputs.workload.status.as_ref().filter(|said| said.endpoint.is_none());
        inputs.plan.as_ref().is_some_and(is_starting)
            && said.is_some_and(|said| *said == WorkloadStatus { endpoint: None, ..status.clone() })
    }

    async fn report(
        &self,
        inputs: &Inputs,
        decision: &Decision,
        status: &WorkloadStatus,
    ) -> Result<(), Failure> {
        let workload = &inputs.workload;
        let previous = &decision.basis.previous;
        if workload.status.as_ref() == Some(status) || self.is_awaited(inputs, status) {
            return Ok(());
        }
        self.writer.status(&self.world.workloads, workload, status).await?;
        for event in status::events(previous, status) {
            let severity = if event.warning { Severity::Warning } else { Severity::Normal };
            let (reason, note) = (event.reason.to_string(), event.note);
            self.recorder.record(
                &reference(workload),
                Report { severity, reason, action: "Reconcile".to_owned(), note },
            );
        }
        Ok(())
    }
}

impl Reconcile for WorkloadController {
    type Key = Key;

    const NAME: &'static str = "workload";

    fn namespace(key: &Key) -> &str {
        &key.namespace
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, Failure> {
        let Some(workload) = self.world.workloads.get(&key.namespace, &key.name) else {
            self.patience.rest(key, false);
            return Ok(Next::AwaitChange);
        };
        // Which policies hold depends on the namespace: before it is known, nothing is decided. It wakes when it is.
        let is_going = workload.metadata.deletion_timestamp.is_some();
        if !is_going && self.world.namespaces.get("", &key.namespace).is_none() {
            return Ok(Next::AwaitChange);
        }
        let inputs = self.world.inputs(workload);
        let decision = plan(&inputs);
        let mut applied = Applied::default();
        let mut carried_out = self.carry_out(&inputs, &decision, &mut applied).await;
        if decision.finalizer == Finalizer::Remove && carried_out.is_ok() {
            // The last look is at the API itself: what is left behind now is left for good.
            carried_out = self.writer.leaves_nothing(&inputs.workload).await;
            if carried_out.is_ok() {
                self.writer.let_go(&self.world.workloads, &inputs.workload).await?;
                return Ok(Next::AwaitChange);
            }
        }
        if let Err(Failure::Conflict(why)) = carried_out {
            return Err(Failure::Conflict(why));
        }
        // Also what could not be done is said, before it is tried again.
        if let Err(Failure::Transient(why)) = &carried_out {
            applied.trouble = Some(why.clone());
        }
        let status = decision.basis.report(&applied);
        // A runtime of ours tells more at once; another's may take its time.
        let plan = decision.plan.as_ref().or(inputs.plan.as_ref());
        let is_ours = plan.is_some_and(|plan| self.classes.contains(&plan.spec.runtime_class));
        let is_only_begun =
            carried_out.is_ok() && is_ours && status::is_only_begun(inputs.workload.status.as_ref(), &status);
        if let Some(rest) = self.patience.rest(key, is_only_begun) {
            return Ok(Next::After(rest));
        }
        self.report(&inputs, &decision, &status).await?;
        carried_out?;
        // What the API refused may be allowed by a change that nobody tells us of.
        match applied.denials().next() {
            Some(denied) => Err(Failure::Transient(denied.message.clone())),
            None => Ok(Next::AwaitChange),
        }
    }
}

/// Whether a runtime of ours has said nothing yet of a plan. What it may have made is told by the plan alone until then, which
/// therefore stays as it is. It says something in a moment, and that wakes.
fn is_silent(plan: &WorkloadPlan) -> bool {
    plan.status.is_none() && is_held(plan)
}

fn reference(workload: &Workload) -> ObjectReference {
    ObjectReference { namespace: workload.namespace(), ..workload.object_ref(&()) }
}
