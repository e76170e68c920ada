//! Waiting for an installation, and saying what it waits for.

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

use super::{super::platform::Trouble, ORCHESTRA, is_established};
use crate::ui;

/// How often it is looked.
const LOOK: Duration = Duration::from_millis(250);

/// Waits until the cluster serves the kinds.
pub(super) async fn definitions(client: &Client, patience: Duration) -> Result<(), Trouble> {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    until(patience, async || {
        for definition in crd::all() {
            let name = definition.name_any();
            match api.get_opt(&name).await {
                Ok(Some(live)) if is_established(&live) => {}
                Ok(_) => return Some(format!("the kind {name} to be served")),
                Err(error) => return Some(format!("an answer about the kind {name} ({error})")),
            }
        }
        None
    })
    .await
}

/// Waits until the orchestrator is ready as it was last installed.
pub(super) async fn orchestrator(client: &Client, patience: Duration) -> Result<(), Trouble> {
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), SYSTEM_NAMESPACE);
    let pods: Api<Pod> = Api::namespaced(client.clone(), SYSTEM_NAMESPACE);
    until(patience, async || {
        let deployment = match deployments.get(ORCHESTRA).await {
            Ok(deployment) => deployment,
            Err(error) => return Some(format!("an answer about the orchestrator ({error})")),
        };
        let missing = missing(&deployment)?;
        let ours = ListParams::default().labels("app.kubernetes.io/name=orchestra");
        let cause = pods.list(&ours).await.ok().and_then(|pods| pods.iter().find_map(cause));
        Some(format!("{missing}{}", cause.map(|cause| format!(": {cause}")).unwrap_or_default()))
    })
    .await
}

/// What a deployment still waits for; nothing if it is rolled out.
pub(crate) fn missing(deployment: &Deployment) -> Option<String> {
    let wanted = deployment.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1);
    let status = deployment.status.clone().unwrap_or_default();
    if status.observed_generation < deployment.metadata.generation {
        return Some("the cluster to look at the orchestrator".to_owned());
    }
    let (ready, current) = (status.available_replicas.unwrap_or(0), status.updated_replicas.unwrap_or(0));
    let all = status.replicas.unwrap_or(0);
    let is_ready = ready >= wanted && current >= wanted && all <= current;
    (!is_ready).then(|| {
        let old = if all > current {
            format!(", {} of an older version left", all - current)
        } else {
            String::new()
        };
        format!("the orchestrator, of which {} of {wanted} are ready{old}", ready.min(current))
    })
}

/// Why one of the processes does not run.
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
        let message = waiting.message.map(|message| format!(" ({message})")).unwrap_or_default();
        Some(format!("{reason}{message}"))
    };
    status.container_statuses.iter().flatten().find_map(waiting)
}

/// Looks until a look finds nothing missing, and says on the way what is.
pub(in crate::cmd) async fn until(
    patience: Duration,
    mut look: impl AsyncFnMut() -> Option<String>,
) -> Result<(), Trouble> {
    let end = Instant::now() + patience;
    let mut told = BTreeSet::new();
    loop {
        let Some(missing) = look().await else { return Ok(()) };
        if Instant::now() >= end {
            let seconds = patience.as_secs();
            return Err(Trouble::No(format!(
                "it is not done after {seconds}s, and still waits for {missing}"
            )));
        }
        if told.insert(missing.clone()) {
            ui::say(&format!("waiting for {}", ui::printable(&missing)));
        }
        sleep(LOOK).await;
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
    fn it_is_ready_only_when_nothing_of_an_older_version_is_left() {
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
            Some("the orchestrator, of which 2 of 2 are ready, 1 of an older version left")
        );
        assert!(waits(json!({"observedGeneration": 2})).unwrap().contains("0 of 2"));
    }
}
