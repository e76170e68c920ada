//! Waits for an installation, and prints what it waits for.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use k8s_openapi::{
    api::{apps::v1::Deployment, core::v1::Pod},
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
    jiff::Timestamp,
};
use kube::{Api, Client, ResourceExt, api::ListParams};
use orchestra_api::{SYSTEM_NAMESPACE, crd};
use orchestra_core::observe::kubernetes::{self as observe, Cause, Rollout, RolloutKind};
use serde_json::{Value as Json, json};
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
        let rollout = rollout(&deployment);
        let missing = missing(&rollout)?;
        let ours = ListParams::default().labels("app.kubernetes.io/name=orchestra");
        let pods = pods.list(&ours).await.map(|listed| listed.items).unwrap_or_default();
        let cause = cause(&rollout, &pods, Timestamp::now());
        Some(format!("{missing}{}", cause.map(|cause| format!(": {cause}")).unwrap_or_default()))
    })
    .await
}

/// Rollout of the orchestrator.
pub(crate) fn rollout(deployment: &Deployment) -> Rollout {
    let deployment = json!(deployment);
    Rollout::read(RolloutKind::Deployment, &deployment["metadata"], &deployment)
}

/// State of an incomplete rollout; `None` if it is complete.
pub(crate) fn missing(rollout: &Rollout) -> Option<String> {
    let Rollout { desired, total, updated, available, .. } = *rollout;
    if !rollout.is_observed {
        return Some("the rollout of the orchestrator to start".to_owned());
    }
    (!rollout.is_complete()).then(|| {
        let old = if rollout.has_old() {
            format!(", {} old replicas pending termination", total - updated)
        } else {
            String::new()
        };
        format!("the orchestrator: {} of {desired} replicas are ready{old}", available.min(updated))
    })
}

/// Cause of an incomplete rollout: that of a pod, else that of the rollout.
fn cause(rollout: &Rollout, pods: &[Pod], now: Timestamp) -> Option<String> {
    let of_rollout = || rollout.cause.as_deref().map(|cause| describe(cause, &Json::Null));
    pods.iter().find_map(|pod| pod_cause(&json!(pod), now)).or_else(of_rollout)
}

/// Cause of a pod that does not run.
fn pod_cause(pod: &Json, now: Timestamp) -> Option<String> {
    let summary = observe::Pod::read(&pod["metadata"], pod);
    let cause = summary.own_cause(now).filter(|_| !summary.is_deleting)?;
    Some(describe(cause, pod))
}

/// Description of a cause for administrators of the cluster, with the message of the cluster.
fn describe(cause: &Cause, pod: &Json) -> String {
    match cause {
        Cause::Image { container, .. } => {
            let waiting = &container_status(pod, container)["state"]["waiting"];
            let message = waiting["message"].as_str().or_else(|| waiting["reason"].as_str());
            format!("the image of {container} cannot be pulled: {}", message.unwrap_or("unknown cause"))
        }
        Cause::Crash(crash) => {
            let container = &crash.container;
            let state = if crash.is_loop { "is in a crash loop" } else { "has crashed" };
            // The last lines of its log: the deployment sets `terminationMessagePolicy: FallbackToLogsOnError`.
            let status = container_status(pod, container);
            let ends = [&status["state"]["terminated"], &status["lastState"]["terminated"]];
            let log = ends.iter().find_map(|end| end["message"].as_str()).map(str::trim);
            let log = log.map(|log| format!(": {log}")).unwrap_or_default();
            format!("{container} {state} (exit code {}){log}", crash.exit_code)
        }
        Cause::CannotStart { container, message } => format!("{container} cannot be started: {message}"),
        Cause::Missing { message }
        | Cause::Unschedulable { message }
        | Cause::Stopped { message }
        | Cause::Denied { message } => message.to_string(),
        Cause::Probe(_) | Cause::Network => cause.describe().1,
    }
}

/// Status of a container; null if there is none.
fn container_status<'a>(pod: &'a Json, container: &str) -> &'a Json {
    let lists = ["initContainerStatuses", "containerStatuses"];
    let mut all = lists.iter().filter_map(|list| pod["status"][list].as_array()).flatten();
    all.find(|status| status["name"] == container).unwrap_or(&Json::Null)
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
    use super::*;

    fn deployment(status: &Json) -> Deployment {
        serde_json::from_value(json!({
            "metadata": {"generation": 2},
            "spec": {"replicas": 2, "selector": {}, "template": {}},
            "status": status,
        }))
        .unwrap()
    }

    #[test]
    fn a_rollout_is_complete_when_no_old_replica_is_left() {
        let waits = |status: Json| missing(&rollout(&deployment(&status)));
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
    fn the_cause_is_classified_as_for_workloads_and_has_the_message_of_the_cluster() {
        let container = |restarts: u32, state: Json, last: Json| {
            json!({"containerStatuses": [{"name": "orchestra", "image": "", "imageID": "", "ready": false,
                "restartCount": restarts, "state": state, "lastState": last}]})
        };
        let backoff = json!({"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 10s"}});
        let crashed = json!({"terminated": {"exitCode": 1, "message": "error: no such option\n"}});
        let no_image =
            json!({"waiting": {"reason": "ImagePullBackOff", "message": "orchestra:2: not found"}});
        let unschedulable = json!({"conditions": [{"type": "PodScheduled", "status": "False",
            "reason": "Unschedulable", "message": "0/3 nodes are available"}]});
        let creating = json!({"waiting": {"reason": "ContainerCreating"}});
        for (status, expected) in [
            (
                container(5, backoff.clone(), crashed.clone()),
                Some("orchestra is in a crash loop (exit code 1): error: no such option"),
            ),
            (
                container(1, backoff, crashed),
                Some("orchestra has crashed (exit code 1): error: no such option"),
            ),
            (
                container(0, no_image, json!({})),
                Some("the image of orchestra cannot be pulled: orchestra:2: not found"),
            ),
            (unschedulable, Some("0/3 nodes are available")),
            (container(0, creating, json!({})), None),
        ] {
            let pod: Pod = serde_json::from_value(json!({"status": status})).unwrap();
            let found = cause(&Rollout::default(), &[pod], Timestamp::UNIX_EPOCH);
            assert_eq!(found.as_deref(), expected);
        }
    }

    #[test]
    fn pods_that_cannot_be_created_are_the_cause_of_an_incomplete_rollout() {
        let failure = json!({"type": "ReplicaFailure", "status": "True", "message": "exceeded quota: small"});
        let rollout = rollout(&deployment(&json!({"observedGeneration": 2, "conditions": [failure]})));
        let found = cause(&rollout, &[], Timestamp::UNIX_EPOCH);
        assert_eq!(found.as_deref(), Some("exceeded quota: small"));
    }
}
