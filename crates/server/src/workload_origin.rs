//! Endpoint that records the origin of a Workload on the machine of its author: the folder of its Score file and variables
//! of the shell. The command line sends it, and it never becomes part of the object.

use std::time::Duration;

use axum::{
    body::Body,
    extract::{RawQuery, State},
    http::{Extensions, HeaderMap, StatusCode},
    response::{IntoResponse, Response},
};
use kube::Api;
use orchestra_api::{ConditionStatus, ConditionType, Reason, Workload, WorkloadPlan};
use orchestra_core::workload_state::condition;
use orchestra_drivers::WorkloadOrigin;
use orchestra_limits::Kind;

use crate::{
    Server,
    access::authenticate,
    body,
    error::Error,
    format::Format,
    workload::{Admitted, At, admit, no_parameters},
};

/// Query of a request that only checks the permission.
const DRY_RUN: &str = "dryRun=All";
/// Interval of checks for the status of the version that was applied.
const STATUS_CHECK_INTERVAL: Duration = Duration::from_millis(20);
/// Number of these checks: 5 seconds in all.
const MAX_STATUS_CHECKS: u32 = 250;

/// Handler: records the origin of a Workload, which need not exist yet.
pub(crate) async fn record(
    State(server): State<Server>,
    at: At,
    RawQuery(query): RawQuery,
    extensions: Extensions,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let recorded = async {
        authenticate(&extensions)?;
        // Roles of a cluster do not grant this access, and its users need to know that origins are not used.
        let origins = server.origins.as_ref().ok_or(Error::NoOrigins)?;
        let Admitted { namespace, name, permit, .. } =
            admit(&server, at, &extensions, Kind::Short, "update", "origin").await?;
        if query.as_deref() == Some(DRY_RUN) {
            return Ok(());
        }
        no_parameters(query.as_deref())?;
        let body = body::read(body, &permit).await?;
        let mut origin: WorkloadOrigin = serde_json::from_slice(&body).map_err(Error::InvalidOrigin)?;
        if !origin.folder.is_absolute() {
            return Err(Error::RelativeFolder);
        }
        let is_recorded = origins.is_recorded(&namespace, &name).map_err(Error::RecordOrigin)?;
        origin.first_plan = if is_recorded { None } else { first_plan(&server, &namespace, &name).await? };
        origins.record(&namespace, &name, origin).map_err(Error::RecordOrigin)
    };
    match recorded.await {
        Ok(()) => StatusCode::NO_CONTENT.into_response(),
        Err(error) => error.respond(Format::of(&headers)),
    }
}

/// Generation of the first plan of what the author has applied; none if the Workload does not exist yet. Of a Workload whose origin
/// is not recorded, earlier plans may contain what others wrote.
async fn first_plan(server: &Server, namespace: &str, name: &str) -> Result<Option<i64>, Error> {
    let workloads: Api<Workload> = Api::namespaced(server.client.clone(), namespace);
    let plans: Api<WorkloadPlan> = Api::namespaced(server.client.clone(), namespace);
    let mut latest = 0;
    for _ in 0..MAX_STATUS_CHECKS {
        let Some(workload) = workloads.get_opt(name).await? else { return Ok(None) };
        // The controller writes the plan before the status.
        let plan = plans.get_opt(name).await?;
        if let Some(first) = first_plan_of(&workload, plan.as_ref()) {
            return Ok(Some(first));
        }
        latest = plan.and_then(|plan| plan.metadata.generation).unwrap_or_default();
        tokio::time::sleep(STATUS_CHECK_INTERVAL).await;
    }
    // Any plan until now may be of an earlier version.
    Ok(Some(latest.max(1) + 1))
}

/// Generation of the first plan that contains the current version of a Workload; none if that is not known yet. When in doubt, it is
/// a later plan than the current one.
fn first_plan_of(workload: &Workload, plan: Option<&WorkloadPlan>) -> Option<i64> {
    let is_of_this_version =
        |plan: &WorkloadPlan| Some(plan.spec.observed_workload_generation) == workload.metadata.generation;
    let generation = |plan: &WorkloadPlan| plan.metadata.generation.unwrap_or_default();
    match plan {
        Some(plan) if is_of_this_version(plan) => Some(generation(plan)),
        _ if condition(workload, ConditionType::Ready).is_none() => None,
        None => Some(1),
        Some(plan) => Some(generation(plan) + i64::from(!is_planned(workload))),
    }
}

/// True if the plan is the one of the observed version, which may have been planned before with the same result.
fn is_planned(workload: &Workload) -> bool {
    let inputs = condition(workload, ConditionType::InputsValid);
    let runtime = condition(workload, ConditionType::RuntimeReady);
    inputs.is_some_and(|inputs| inputs.status == ConditionStatus::True)
        && runtime
            .is_some_and(|runtime| matches!(runtime.reason, Reason::Succeeded | Reason::RuntimeDegraded))
}

#[cfg(test)]
mod tests {
    use orchestra_api::plan::WorkloadPlanSpec;
    use serde_json::json;

    use super::*;

    fn workload(observed: i64, inputs: &str, runtime: &str) -> Workload {
        let condition = |type_: &str, status: &str, reason: &str| {
            json!({
                "type": type_, "status": status, "reason": reason, "message": "", "observedGeneration": observed,
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            })
        };
        let conditions = [
            condition("InputsValid", inputs, "Succeeded"),
            condition("RuntimeReady", "False", runtime),
            condition("Ready", "False", runtime),
        ];
        let metadata = json!({"name": "web", "generation": 7});
        serde_json::from_value(
            json!({"metadata": metadata, "spec": {}, "status": {"conditions": conditions}}),
        )
        .unwrap()
    }

    fn plan(of: i64) -> WorkloadPlan {
        let spec = WorkloadPlanSpec { observed_workload_generation: of, ..WorkloadPlanSpec::default() };
        let mut plan = WorkloadPlan::new("web", spec);
        plan.metadata.generation = Some(4);
        plan
    }

    #[test]
    fn only_a_plan_that_contains_the_applied_version_is_the_first() {
        for (workload, plan, expected, why) in [
            (workload(6, "True", "Succeeded"), Some(plan(7)), Some(4), "the plan is of this version"),
            (workload(6, "True", "Succeeded"), Some(plan(6)), None, "not observed yet"),
            (workload(6, "True", "Succeeded"), None, None, "not observed yet"),
            (
                workload(7, "True", "Succeeded"),
                None,
                Some(1),
                "the next plan is of this version or a later one",
            ),
            (
                workload(7, "True", "RuntimeDegraded"),
                Some(plan(3)),
                Some(4),
                "the version did not change the plan",
            ),
            (
                workload(7, "False", "RuntimeDegraded"),
                Some(plan(3)),
                Some(5),
                "an invalid version has no plan",
            ),
            (workload(7, "True", "ProjectionError"), Some(plan(3)), Some(5), "a value is missing"),
            (workload(7, "True", "RuntimeProvisioning"), Some(plan(3)), Some(5), "it may wait for something"),
        ] {
            assert_eq!(first_plan_of(&workload, plan.as_ref()), expected, "{why}");
        }
    }
}
