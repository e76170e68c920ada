//! Waits for an installation, and prints what it waits for.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use k8s_openapi::{
    api::{
        apps::v1::Deployment,
        core::v1::{ContainerStatus, Pod},
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{Api, Client, ResourceExt, api::ListParams};
use orchestra_api::{SYSTEM_NAMESPACE, crd};
use tokio::time::sleep;

use super::{ORCHESTRA, is_established};
use crate::{
    error::{CliError, root_cause},
    ui,
};

/// Interval of polls: one small request each.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// Waits until the CRDs are established.
pub(super) async fn crds(client: &Client, timeout: Duration) -> Result<(), CliError> {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    poll_until(timeout, async || {
        for definition in crd::all() {
            let name = definition.name_any();
            match api.get_opt(&name).await {
                Ok(Some(live)) if is_established(&live) => {}
                Ok(_) => return Some(format!("the CRD {name}")),
                Err(error) => return Some(format!("the CRD {name} ({})", root_cause(&error))),
            }
        }
        None
    })
    .await
}

/// Waits until the installed version of the orchestrator is ready.
pub(super) async fn orchestrator(client: &Client, timeout: Duration) -> Result<(), CliError> {
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), SYSTEM_NAMESPACE);
    let pods: Api<Pod> = Api::namespaced(client.clone(), SYSTEM_NAMESPACE);
    poll_until(timeout, async || {
        let deployment = match deployments.get(ORCHESTRA).await {
            Ok(deployment) => deployment,
            Err(error) => return Some(format!("the orchestrator ({})", root_cause(&error))),
        };
        let missing = missing(&deployment)?;
        let ours = ListParams::default().labels("app.kubernetes.io/name=orchestra");
        let cause = pods.list(&ours).await.ok().and_then(|pods| pods.iter().find_map(cause));
        Some(format!("{missing}{}", cause.map(|cause| format!(": {cause}")).unwrap_or_default()))
    })
    .await
}

/// State of an incomplete rollout; `None` if it is complete.
pub(crate) fn missing(deployment: &Deployment) -> Option<String> {
    let wanted = deployment.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1);
    let status = deployment.status.clone().unwrap_or_default();
    if status.observed_generation < deployment.metadata.generation {
        return Some("the rollout of the orchestrator to start".to_owned());
    }
    let (ready, current) = (status.available_replicas.unwrap_or(0), status.updated_replicas.unwrap_or(0));
    let all = status.replicas.unwrap_or(0);
    let is_ready = ready >= wanted && current >= wanted && all <= current;
    (!is_ready).then(|| {
        let old = if all > current {
            format!(", {} old replicas pending termination", all - current)
        } else {
            String::new()
        };
        format!("the orchestrator: {} of {wanted} replicas are ready{old}", ready.min(current))
    })
}

/// Cause of a pod that does not run.
fn cause(pod: &Pod) -> Option<String> {
    let status = pod.status.as_ref()?;
    let unscheduled = status.conditions.iter().flatten();
    let unscheduled = unscheduled.into_iter().find(|it| it.type_ == "PodScheduled" && it.status == "False");
    if let Some(message) = unscheduled.and_then(|condition| condition.message.clone()) {
        return Some(message);
    }
    let waiting = |container: &ContainerStatus| {
        let waiting = container.state.as_ref()?.waiting.clone()?;
        let reason =
            waiting.reason.filter(|reason| reason != "ContainerCreating" && reason != "PodInitializing")?;
        // The last lines of its log: the deployment sets `terminationMessagePolicy: FallbackToLogsOnError`.
        let terminated = container.last_state.as_ref().and_then(|state| state.terminated.clone());
        let message = match terminated {
            Some(ended) => ended.message.map(|log| format!("exit code {}: {}", ended.exit_code, log.trim())),
            None => waiting.message,
        };
        Some(message.map_or_else(|| reason.clone(), |message| format!("{reason} ({message})")))
    };
    status.container_statuses.iter().flatten().find_map(waiting)
}

/// Polls until nothing is missing, and prints what is.
pub(in crate::cmd) async fn poll_until(
    timeout: Duration,
    mut missing: impl AsyncFnMut() -> Option<String>,
) -> Result<(), CliError> {
    let end = Instant::now() + timeout;
    let mut printed = BTreeSet::new();
    loop {
        let Some(missing) = missing().await else { return Ok(()) };
        if Instant::now() >= end {
            return Err(CliError::Timeout { seconds: timeout.as_secs(), missing });
        }
        if printed.insert(missing.clone()) {
            ui::print_status(&format!("waiting for {}", ui::printable(&missing)));
        }
        sleep(POLL_INTERVAL).await;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn deployment(status: &serde_json::Value) -> Deployment {
        serde_json::from_value(json!({
            "metadata": {"generation": 2},
            "spec": {"replicas": 2, "selector": {}, "template": {}},
            "status": status,
        }))
        .unwrap()
    }

    #[test]
    fn a_rollout_is_complete_when_no_old_replica_is_left() {
        let waits = |status: serde_json::Value| missing(&deployment(&status));
        let done =
            json!({"observedGeneration": 2, "replicas": 2, "updatedReplicas": 2, "availableReplicas": 2});
        assert_eq!(waits(done), None);
        let unseen =
            json!({"observedGeneration": 1, "replicas": 2, "updatedReplicas": 2, "availableReplicas": 2});
        assert!(waits(unseen).is_some());
        let old =
            json!({"observedGeneration": 2, "replicas": 3, "updatedReplicas": 2, "availableReplicas": 3});
        assert_eq!(
            waits(old).as_deref(),
            Some("the orchestrator: 2 of 2 replicas are ready, 1 old replicas pending termination")
        );
        assert!(waits(json!({"observedGeneration": 2})).unwrap().contains("0 of 2"));
    }

    #[test]
    fn a_crash_loop_is_reported_with_exit_code_and_log() {
        let pod = |last: serde_json::Value| -> Pod {
            let waiting = json!({"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 10s"}});
            let container = json!({"name": "orchestra", "image": "", "imageID": "", "ready": false,
                "restartCount": 1, "state": waiting, "lastState": last});
            serde_json::from_value(json!({"status": {"containerStatuses": [container]}})).unwrap()
        };
        let crashed = pod(json!({"terminated": {"exitCode": 1, "message": "error: no such option\n"}}));
        assert_eq!(cause(&crashed).as_deref(), Some("CrashLoopBackOff (exit code 1: error: no such option)"));
        assert_eq!(cause(&pod(json!({}))).as_deref(), Some("CrashLoopBackOff (back-off 10s)"));
    }
}
