//! State of a Workload, as its clients read it from the object.

use orchestra_api::{
    Condition, ConditionStatus, ConditionType, Reason, Workload, WorkloadPlan, annotation, plan::Phase,
};

/// Condition of the last applied version. A condition of an earlier generation says nothing about it.
pub fn condition(workload: &Workload, type_: ConditionType) -> Option<&Condition> {
    let conditions = &workload.status.as_ref()?.conditions;
    let is_current = |condition: &&Condition| {
        condition.type_ == type_ && Some(condition.observed_generation) == workload.metadata.generation
    };
    conditions.iter().find(is_current)
}

/// True if the last applied version is ready.
pub fn is_ready(workload: &Workload) -> bool {
    condition(workload, ConditionType::Ready).is_some_and(|ready| ready.status == ConditionStatus::True)
}

/// Condition that keeps the last applied version from becoming ready until somebody edits it.
pub fn rejection(workload: &Workload) -> Option<&Condition> {
    condition(workload, ConditionType::InputsValid).filter(|inputs| inputs.status == ConditionStatus::False)
}

/// True if the Workload is being deleted.
pub fn is_deleting(workload: &Workload) -> bool {
    workload.metadata.deletion_timestamp.is_some()
}

/// True if nothing of the Workload has to run: it is suspended, and is not being deleted.
pub fn is_suspended(workload: &Workload) -> bool {
    !is_deleting(workload) && workload.metadata.annotations.as_ref().is_some_and(annotation::suspends)
}

/// True if the Workloads need no platform: all are suspended, and none is being deleted.
pub fn nothing_to_run<'a>(workloads: impl IntoIterator<Item = &'a Workload>) -> bool {
    workloads.into_iter().all(is_suspended)
}

/// True if a suspended Workload has stopped: the runtime reports the suspended revision of its plan as pending. Without a
/// plan nothing was started, once the status follows the annotation.
pub fn has_stopped(workload: &Workload, plan: Option<&WorkloadPlan>) -> bool {
    if !workload.metadata.annotations.as_ref().is_some_and(annotation::suspends) {
        return false;
    }
    let Some(plan) = plan else {
        let runtime = condition(workload, ConditionType::RuntimeReady);
        return runtime.is_some_and(|runtime| runtime.reason == Reason::RuntimeProvisioning);
    };
    plan.spec.lifecycle.suspend
        && plan.status.as_ref().is_some_and(|status| {
            status.phase == Phase::Pending
                && status.observed_revision.as_deref() == Some(plan.spec.revision.as_str())
        })
}

#[cfg(test)]
mod tests {
    use orchestra_api::plan::{WorkloadPlanSpec, WorkloadPlanStatus};
    use serde_json::{from_value, json};

    use super::*;

    fn workload(generation: i64, conditions: &[(&str, &str, i64)]) -> Workload {
        let conditions: Vec<_> = conditions
            .iter()
            .map(|(type_, status, observed)| {
                json!({
                    "type": type_, "status": status, "reason": "SpecInvalid", "message": "",
                    "observedGeneration": observed, "lastTransitionTime": "2026-01-01T00:00:00Z",
                })
            })
            .collect();
        from_value(json!({
            "metadata": {"name": "web", "generation": generation}, "spec": {}, "status": {"conditions": conditions},
        }))
        .unwrap()
    }

    #[test]
    fn conditions_of_an_earlier_generation_do_not_count() {
        assert!(is_ready(&workload(2, &[("Ready", "True", 2)])));
        assert!(!is_ready(&workload(3, &[("Ready", "True", 2)])));
        assert!(!is_ready(&workload(2, &[("Ready", "False", 2)])));
        assert!(rejection(&workload(2, &[("InputsValid", "False", 2)])).is_some());
        assert!(rejection(&workload(3, &[("InputsValid", "False", 2)])).is_none());
        assert!(rejection(&workload(2, &[("InputsValid", "True", 2)])).is_none());
    }

    #[test]
    fn nothing_has_to_run_without_workloads_or_if_all_are_suspended_and_none_is_being_deleted() {
        let running = workload(1, &[]);
        let mut suspended = workload(1, &[]);
        suspended.metadata.annotations = Some([(annotation::SUSPEND.to_owned(), "true".to_owned())].into());
        let mut deleted = suspended.clone();
        deleted.metadata.deletion_timestamp = from_value(json!("2026-01-01T00:00:00Z")).unwrap();
        assert!(nothing_to_run([]));
        assert!(nothing_to_run([&suspended, &suspended]));
        assert!(!nothing_to_run([&suspended, &running]));
        assert!(!nothing_to_run([&suspended, &deleted]), "its deletion needs the platform");
    }

    #[test]
    fn a_workload_has_stopped_when_the_runtime_reports_its_suspended_revision() {
        let mut workload = workload(1, &[]);
        let mut plan = WorkloadPlan::new("web", WorkloadPlanSpec::default());
        plan.spec.revision = "r2".to_owned();
        plan.spec.lifecycle.suspend = true;
        let mut with_status = |phase: Phase, revision: &str| {
            let observed_revision = Some(revision.to_owned());
            plan.status = Some(WorkloadPlanStatus { phase, observed_revision, ..Default::default() });
            plan.clone()
        };
        let stopped = with_status(Phase::Pending, "r2");
        assert!(!has_stopped(&workload, Some(&stopped)), "it is not suspended");
        workload.metadata.annotations = Some([(annotation::SUSPEND.to_owned(), "true".to_owned())].into());
        assert!(is_suspended(&workload));
        assert!(has_stopped(&workload, Some(&stopped)));
        assert!(!has_stopped(&workload, Some(&with_status(Phase::Provisioning, "r2"))), "it is stopping");
        assert!(!has_stopped(&workload, Some(&with_status(Phase::Pending, "r1"))), "the status is outdated");
        assert!(!has_stopped(&workload, None), "the status does not follow the annotation yet");
        workload.metadata.deletion_timestamp = from_value(json!("2026-01-01T00:00:00Z")).unwrap();
        assert!(!is_suspended(&workload));
    }
}
