//! Observation of a Workload: gathers what is cached, reads logs and events of failures, and leaves the status to the pure side.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;
use kube::{
    Api,
    api::{ListParams, LogParams},
};
use orchestra_api::{
    exposure::Exposure,
    plan::{ClaimOutput, ExposureTarget, FileContent, Segment, WorkloadPlanSpec},
};
use orchestra_core::{
    observe::kubernetes::{Cause, ProbeFailure, REDACTED, Rollout, Snapshot, events, observe, redacted},
    render::kubernetes::{
        self as render,
        exposure::{Facts as ExposureFacts, addresses},
    },
};

use super::{
    Kubernetes,
    api_error::driver_error,
    apply::subject,
    cache::View,
    kind::Kind,
    object_state::{Facts, ObjectState, WatchedObject},
    of_workload,
};
use crate::{DriverError, NamespacedName, Observation, Target, events::events_of};

impl Kubernetes {
    /// Observes a Workload.
    pub(super) async fn observe_workload(&self, target: &Target) -> Result<Observation, DriverError> {
        let id = (target.namespace.clone(), target.name.clone());
        if self.is_watching() {
            self.wait_for_sync().await;
        } else {
            self.refresh(&id, target).await?;
        }
        let mut view = self.cache.view(&id);
        self.read_last_lines(&id, target, &mut view).await;
        self.read_probes(&id, target, &mut view).await;
        self.clean_probes(&id, target, &mut view).await;
        let snapshot = Snapshot {
            plan: &target.plan,
            rollouts: &rollouts(&view),
            pods: &view.pods,
            now: Timestamp::now(),
        };
        let status = observe(&snapshot);
        let exposures = self.exposures(&id, target, &view, status.is_reachable).await;
        Ok(Observation {
            revision: status.revision,
            phase: status.phase,
            reason: Some(status.reason),
            message: status.message,
            exposures,
            placed_on: None,
        })
    }

    /// Reads everything of a Workload, where nothing is watched.
    async fn refresh(&self, id: &NamespacedName, target: &Target) -> Result<(), DriverError> {
        for item in render::inventory(&subject(target)) {
            let Some(kind) = Kind::of_inventory(&item.kind).filter(|kind| *kind != Kind::Secret) else {
                continue;
            };
            if self.get_object(id, kind, &item.name).await?.is_none()
                && let Some(live) = self.cache.object(id, kind, &item.name)
            {
                self.cache.deleted(id, &live);
            }
        }
        let ours = ListParams::default().labels(&of_workload(&id.1));
        let pods = self.api(Kind::Pod, &id.0).list(&ours).await;
        for pod in pods.map_err(|error| driver_error(Kind::Pod, "", error))?.items {
            self.cache.store(Kind::Pod, &WatchedObject::new(pod));
        }
        Ok(())
    }

    /// Addresses of a Workload.
    async fn exposures(
        &self,
        id: &NamespacedName,
        target: &Target,
        view: &View,
        is_reachable: bool,
    ) -> Vec<Exposure> {
        let mut exposed = ExposureFacts::default();
        for live in &view.objects {
            match &live.facts {
                Facts::Route(route) => exposed.routes.push((**route).clone()),
                Facts::Service(service) => exposed.services.push((**service).clone()),
                Facts::None | Facts::Rollout(_) => {}
            }
        }
        for exposure in &target.plan.exposures {
            let ExposureTarget::ClaimKey(key) = &exposure.target else { continue };
            let claim = target.plan.claims.iter().find(|claim| claim.key == *key);
            if let Some(instance) = claim.and_then(|claim| claim.instance.as_deref()) {
                exposed.routes.extend(self.cache.routes(id, instance));
            }
        }
        let has_node_ports = exposed.services.iter().any(|service| !service.node_ports.is_empty());
        if has_node_ports {
            exposed.node_address = self.node_address.get(&self.client).await;
        }
        let mut exposures = addresses(&subject(target), &exposed);
        for exposure in &mut exposures {
            exposure.reachable = Some(is_reachable);
        }
        exposures
    }

    /// Reads the last log line of crashed containers. A line that may contain a secret is dropped.
    async fn read_last_lines(&self, id: &NamespacedName, target: &Target, view: &mut View) {
        let revision = Some(target.plan.revision.as_str());
        let current = view.pods.iter_mut().filter(|pod| pod.revision.as_deref() == revision);
        for pod in current {
            let Some(Cause::Crash(crash)) = pod.cause.as_deref_mut() else { continue };
            if crash.last_line.is_some() {
                continue;
            }
            let params = LogParams {
                container: Some(crash.container.to_string()),
                tail_lines: Some(1),
                limit_bytes: Some(4096),
                ..LogParams::default()
            };
            let api: Api<k8s_openapi::api::core::v1::Pod> = Api::namespaced(self.client.clone(), &id.0);
            let Ok(line) = api.logs(&pod.name, &params).await else { continue };
            let Some(line) = line.lines().last().map(str::trim).filter(|line| !line.is_empty()) else {
                continue;
            };
            let Some(line) = self.without_secrets(id, &target.plan, line).await else { continue };
            self.cache.last_line(id, &pod.uid, &line);
            crash.last_line = Some(line.into());
        }
    }

    /// Reads whether a failed probe killed the containers that have exited.
    async fn read_probes(&self, id: &NamespacedName, target: &Target, view: &mut View) {
        let revision = Some(target.plan.revision.as_str());
        for pod in view.pods.iter_mut().filter(|pod| pod.revision.as_deref() == revision) {
            let Some(Cause::Crash(crash)) = pod.cause.as_deref_mut() else { continue };
            let has_probe = target.plan.containers.get(&*crash.container).is_some_and(|container| {
                container.liveness_probe.is_some() || container.readiness_probe.is_some()
            });
            if crash.killed_by.is_some() || !has_probe {
                continue;
            }
            let Some(events) = events_of(self.client.clone(), &id.0, &pod.uid).await else { continue };
            let Some(mut probe) = events::killed_by(&events, crash) else { continue };
            self.clean(id, target, &mut probe).await;
            self.cache.killed_by(id, &pod.uid, &probe);
            crash.killed_by = Some(Box::new(probe));
        }
    }

    /// Redacts secrets in the output of probe commands.
    async fn clean_probes(&self, id: &NamespacedName, target: &Target, view: &mut View) {
        for cause in view.pods.iter_mut().filter_map(|pod| pod.event_cause.as_deref_mut()) {
            if let Cause::Probe(probe) = cause {
                self.clean(id, target, probe).await;
            }
        }
    }

    /// Redacts secrets in the output of a probe command.
    async fn clean(&self, id: &NamespacedName, target: &Target, probe: &mut ProbeFailure) {
        if let Some(line) = probe.output() {
            let line = self.without_secrets(id, &target.plan, line).await;
            probe.found = line.as_deref().unwrap_or(REDACTED).into();
        }
    }

    /// A line with the secrets of a Workload redacted; `None` if these cannot be read.
    async fn without_secrets(
        &self,
        id: &NamespacedName,
        plan: &WorkloadPlanSpec,
        line: &str,
    ) -> Option<String> {
        let api: Api<Secret> = Api::namespaced(self.client.clone(), &id.0);
        let mut secrets = Vec::new();
        for output in secrets_of(plan) {
            let secret = api.get_opt(&output.secret_key_ref.name).await.ok()?;
            let value = secret.and_then(|secret| secret.data?.remove(&output.secret_key_ref.key));
            secrets.extend(value.and_then(|value| String::from_utf8(value.0).ok()));
        }
        Some(redacted(line, secrets.iter().map(String::as_str)))
    }
}

/// Controllers of the pods, with the causes from their events.
fn rollouts(view: &View) -> Vec<Rollout> {
    let rollout = |live: &ObjectState| {
        let Facts::Rollout(rollout) = &live.facts else { return None };
        let cause = rollout.cause.clone().or_else(|| live.event_cause.clone());
        Some(Rollout { cause, ..(**rollout).clone() })
    };
    view.objects.iter().filter_map(rollout).collect()
}

/// Secrets that a plan refers to.
fn secrets_of(plan: &WorkloadPlanSpec) -> Vec<&ClaimOutput> {
    let mut found = Vec::new();
    for container in plan.containers.values() {
        let files = container.files.values().filter_map(|file| match &file.content {
            FileContent::Text(text) => Some(text),
            FileContent::Binary(_) => None,
        });
        let volumes = container.volumes.values().map(|volume| &volume.source);
        for segment in container.variables.values().chain(files).chain(volumes).flatten() {
            if let Segment::ClaimOutput(output) = segment
                && !found.contains(&output)
            {
                found.push(output);
            }
        }
    }
    found
}
