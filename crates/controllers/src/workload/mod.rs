//! Workload controller: executes [`orchestra_core::plan()`]. It alone writes the status of Workloads.

use k8s_openapi::api::core::v1::ObjectReference;
use kube::{Resource, ResourceExt, core::NamespaceResourceScope};
use orchestra_api::{Workload, finalizer, workload::WorkloadStatus};
use orchestra_core::{
    Applied, Decision, Denied, Inputs,
    decision::{Deferral, Deletion, DeletionKind, Write},
    plan,
    status::Event,
};
use serde_json::json;

use crate::{
    context::Context,
    engine::{
        cache::{Cache, Kind},
        debounce::Debounce,
        key::Key,
        worker::{Action, Reconcile, requeue},
    },
    error::Error,
    events::{NewEvent, Recorder, Severity},
    writer::Writer,
};

/// The workload controller.
#[derive(Debug)]
pub struct WorkloadController {
    context: Context,
    writer: Writer,
    recorder: Recorder,
    debounce: Debounce,
}

impl WorkloadController {
    /// Controller of the Workloads in this context.
    pub fn new(context: Context, writer: Writer, recorder: Recorder) -> Self {
        Self { context, writer, recorder, debounce: Debounce::default() }
    }

    /// Executes a decision, and collects the answers of the API.
    async fn execute(
        &self,
        inputs: &Inputs,
        decision: &Decision,
        applied: &mut Applied,
    ) -> Result<(), Error> {
        let Context { claims, plans, exposures, workloads, .. } = &self.context;
        let namespace = inputs.namespace_name();
        for write in decision.writes() {
            match write {
                Write::AddFinalizer => {
                    let none = json!({});
                    self.writer
                        .add_finalizer(workloads, &inputs.workload, finalizer::WORKLOAD, &none)
                        .await?;
                }
                Write::EnsureNoLeftovers => self.writer.ensure_no_leftovers(&inputs.workload).await?,
                Write::RemoveFinalizer => {
                    self.writer.remove_finalizer(workloads, &inputs.workload, finalizer::WORKLOAD).await?;
                }
                Write::Claim(claim) => {
                    let answer = self.apply(claims, claim).await?;
                    applied.claims.insert(claim.name_any(), answer);
                }
                Write::Plan(plan) => applied.plan = Some(self.apply(plans, plan).await?),
                Write::Exposure(exposure) => {
                    applied.exposure = Some(self.apply(exposures, exposure).await?);
                }
                Write::Delete(Deletion { kind, name, uid }) => match kind {
                    DeletionKind::ResourceClaim => self.writer.delete(claims, namespace, name, uid).await?,
                    DeletionKind::WorkloadPlan => self.writer.delete(plans, namespace, name, uid).await?,
                    DeletionKind::WorkloadExposure => {
                        self.writer.delete(exposures, namespace, name, uid).await?;
                    }
                },
            }
        }
        Ok(())
    }

    /// Applies an object. The cause of a denial goes to operators, as a log line and as an event about the object.
    async fn apply<K>(&self, cache: &Cache<K>, object: &K) -> Result<Result<K, Denied>, Error>
    where
        K: Kind + Resource<Scope = NamespaceResourceScope>,
    {
        let answer = self.writer.apply(cache, object).await?;
        if let Err(Denied { reason, cause, .. }) = &answer {
            let (namespace, name) = (object.namespace().unwrap_or_default(), object.name_any());
            tracing::warn!(kind = %K::kind(&()), namespace, name, %reason, cause, "the API denied a write");
            let stored = cache.get(&namespace, &name);
            let (severity, action) = (Severity::Warning, "Apply".to_owned());
            let event = NewEvent { severity, reason: reason.to_string(), action, note: cause.clone() };
            self.recorder.record(&reference(stored.as_ref().unwrap_or(object)), event);
        }
        Ok(answer)
    }

    async fn report(
        &self,
        workload: &Workload,
        status: &WorkloadStatus,
        events: Vec<Event>,
    ) -> Result<(), Error> {
        self.writer.status(&self.context.workloads, workload, status).await?;
        for Event { warning, reason, note } in events {
            let severity = if warning { Severity::Warning } else { Severity::Normal };
            let (reason, action) = (reason.to_string(), "Reconcile".to_owned());
            self.recorder.record(&reference(workload), NewEvent { severity, reason, action, note });
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

    async fn reconcile(&self, key: &Key) -> Result<Action, Error> {
        let Some(workload) = self.context.workloads.get(&key.namespace, &key.name) else {
            self.debounce.set(key, false);
            return Ok(Action::AwaitChange);
        };
        let inputs = self.context.inputs(workload, self.debounce.elapsed(key));
        let decision = plan(&inputs);
        let mut applied = Applied::default();
        let mut failure = None;
        match self.execute(&inputs, &decision, &mut applied).await {
            Ok(()) => {}
            Err(conflict) if conflict.is_conflict() => return Err(conflict),
            Err(error) => {
                applied.fault = Some(error.fault());
                failure = Some(error);
            }
        }
        let report = decision.report(&applied);
        self.debounce.set(key, report.deferred.is_some_and(Deferral::is_timed));
        let reported = match &report.status {
            Some(status) => self.report(&inputs.workload, status, report.events).await,
            None => Ok(()),
        };
        failure_or(failure, reported)?;
        requeue(report.requeue)
    }
}

/// Error to return, and so to log: that of the writes before that of the status.
fn failure_or(failure: Option<Error>, reported: Result<(), Error>) -> Result<(), Error> {
    let Some(failure) = failure else { return reported };
    if let Err(unreported) = reported {
        tracing::warn!("failed to report a failed reconcile: {unreported}");
    }
    Err(failure)
}

fn reference<K: Resource<DynamicType = ()>>(object: &K) -> ObjectReference {
    ObjectReference { namespace: object.namespace(), ..object.object_ref(&()) }
}

#[cfg(test)]
mod tests {
    use orchestra_core::driver::DriverError;

    use super::*;

    #[test]
    fn the_error_of_a_write_is_returned_also_if_its_report_fails() {
        let error = |text: &str| Error::Retry(DriverError::unreachable(text).into());
        let both = failure_or(Some(error("apply")), Err(error("status")));
        assert_eq!(both.unwrap_err().to_string(), "apply");
        assert_eq!(failure_or(None, Err(error("status"))).unwrap_err().to_string(), "status");
        assert!(failure_or(None, Ok(())).is_ok());
    }
}
