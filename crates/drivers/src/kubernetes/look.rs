//! Looks how a Workload fares: gathers what is known, and leaves the rest to the pure side.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Secret};
use kube::{
    Api,
    api::{ListParams, LogParams},
};
use orchestra_api::{
    exposure::Exposure,
    plan::{ClaimOutput, ExposureTarget, FileContent, Segment, WorkloadPlanSpec},
};
use orchestra_core::{
    observe::kubernetes::{Cause, Check, Rollout, Sight, news, observe},
    render::kubernetes::{
        self as render,
        exposure::{Facts as Ways, addresses},
    },
};

use super::{
    Kubernetes,
    apply::subject,
    held::{Facts, Held, Passing},
    kind::Kind,
    memory::{Id, View},
    of_workload,
    refusal::refusal,
};
use crate::{DriverError, Observation, Target, events::told_about};

/// The most characters of a last line that are told.
const LINE: usize = 200;
/// What is told instead of a secret.
const HIDDEN: &str = "***";

impl Kubernetes {
    /// Looks how a Workload fares.
    pub(super) async fn look(&self, target: &Target) -> Result<Observation, DriverError> {
        let id = (target.namespace.clone(), target.name.clone());
        if self.is_watching() {
            self.informed().await;
        } else {
            self.look_at_all(&id, target).await?;
        }
        let mut view = self.memory.view(&id);
        self.read_last_lines(&id, target, &mut view).await;
        self.read_checks(&id, target, &mut view).await;
        self.clean_checks(&id, target, &mut view).await;
        let rollout = rollout(&view, &target.plan.revision);
        let sight =
            Sight { plan: &target.plan, rollout: rollout.as_ref(), pods: &view.pods, now: Timestamp::now() };
        let told = observe(&sight);
        let is_published = told.was_reachable || (view.was_published && !target.plan.lifecycle.suspend);
        let exposures = if is_published {
            self.exposures(&id, target, &view, told.is_reachable).await
        } else {
            Vec::new()
        };
        self.memory.published(&id, !exposures.is_empty());
        Ok(Observation {
            revision: told.revision,
            phase: told.phase,
            reason: Some(told.reason),
            message: told.message,
            exposures,
            placed_on: None,
        })
    }

    /// Reads everything of a Workload, where nothing is watched.
    async fn look_at_all(&self, id: &Id, target: &Target) -> Result<(), DriverError> {
        for item in render::inventory(&subject(target)) {
            let Some(kind) = Kind::of_inventory(&item.kind).filter(|kind| *kind != Kind::Secret) else {
                continue;
            };
            if self.look_up(id, kind, &item.name).await?.is_none()
                && let Some(held) = self.memory.held(id, kind, &item.name)
            {
                self.memory.deleted(id, &held);
            }
        }
        let ours = ListParams::default().labels(&of_workload(&id.1));
        let pods = self.api(Kind::Pod, &id.0).list(&ours).await;
        for pod in pods.map_err(|error| refusal(Kind::Pod, &error))?.items {
            self.memory.take_in(Kind::Pod, &Passing::new(pod));
        }
        Ok(())
    }

    /// Where a Workload can be reached.
    async fn exposures(&self, id: &Id, target: &Target, view: &View, is_reachable: bool) -> Vec<Exposure> {
        let mut ways = Ways::default();
        for held in &view.objects {
            match &held.facts {
                Facts::Route(route) => ways.routes.push((**route).clone()),
                Facts::Service(service) => ways.services.push((**service).clone()),
                Facts::None | Facts::Rollout(_) => {}
            }
        }
        for exposure in &target.plan.exposures {
            let ExposureTarget::ClaimKey(key) = &exposure.target else { continue };
            let claim = target.plan.claims.iter().find(|claim| claim.key == *key);
            if let Some(instance) = claim.and_then(|claim| claim.instance.as_deref()) {
                ways.routes.extend(self.memory.routes(id, instance));
            }
        }
        let has_node_ports = ways.services.iter().any(|service| !service.node_ports.is_empty());
        if has_node_ports {
            ways.node_address = self.node_address().await;
        }
        let mut exposures = addresses(&subject(target), &ways);
        for exposure in &mut exposures {
            exposure.reachable = Some(is_reachable);
        }
        exposures
    }

    /// An address under which ports of machines are reached: one from outside, if there is one.
    async fn node_address(&self) -> Option<String> {
        let known = self.node_address.get_or_try_init(|| async {
            let api: Api<Node> = Api::all(self.client.clone());
            let nodes = api.list(&ListParams::default().limit(20)).await.map_err(|error| {
                tracing::warn!("the machines of the cluster cannot be read: {error}");
            })?;
            let addresses = nodes.items.iter().filter_map(|node| node.status.as_ref()?.addresses.as_ref());
            let addresses: Vec<_> = addresses.flatten().collect();
            let of_type = |type_: &str| addresses.iter().find(|address| address.type_ == type_);
            let address = of_type("ExternalIP").or_else(|| of_type("InternalIP"));
            address.map(|address| address.address.clone()).ok_or(())
        });
        known.await.ok().cloned()
    }

    /// Reads the last line of containers that crashed. A line that could hold a secret is not told.
    async fn read_last_lines(&self, id: &Id, target: &Target, view: &mut View) {
        let revision = Some(target.plan.revision.as_str());
        let current = view.pods.iter_mut().filter(|pod| pod.revision.as_deref() == revision);
        for pod in current {
            let Some(Cause::Crash(crash)) = pod.cause.as_deref_mut() else { continue };
            if crash.last_line.is_some() {
                continue;
            }
            let wish = LogParams {
                container: Some(crash.container.to_string()),
                tail_lines: Some(1),
                limit_bytes: Some(4096),
                ..LogParams::default()
            };
            let api: Api<k8s_openapi::api::core::v1::Pod> = Api::namespaced(self.client.clone(), &id.0);
            let Ok(line) = api.logs(&pod.name, &wish).await else { continue };
            let Some(line) = line.lines().last().map(str::trim).filter(|line| !line.is_empty()) else {
                continue;
            };
            let Some(line) = self.without_secrets(id, &target.plan, line).await else { continue };
            self.memory.last_line(id, &pod.uid, &line);
            crash.last_line = Some(line.into());
        }
    }

    /// Reads whether a check had those containers ended that did not run on.
    async fn read_checks(&self, id: &Id, target: &Target, view: &mut View) {
        let revision = Some(target.plan.revision.as_str());
        for pod in view.pods.iter_mut().filter(|pod| pod.revision.as_deref() == revision) {
            let Some(Cause::Crash(crash)) = pod.cause.as_deref_mut() else { continue };
            let is_checked = target.plan.containers.get(&*crash.container).is_some_and(|container| {
                container.liveness_probe.is_some() || container.readiness_probe.is_some()
            });
            if crash.ended_by.is_some() || !is_checked {
                continue;
            }
            let Some(events) = told_about(self.client.clone(), &id.0, &pod.uid).await else { continue };
            let Some(mut check) = news::ended_by(&events, crash) else { continue };
            self.clean(id, target, &mut check).await;
            self.memory.ended_by(id, &pod.uid, &check);
            crash.ended_by = Some(Box::new(check));
        }
    }

    /// Takes secrets out of what commands wrote that check containers.
    async fn clean_checks(&self, id: &Id, target: &Target, view: &mut View) {
        for cause in view.pods.iter_mut().filter_map(|pod| pod.told.as_deref_mut()) {
            if let Cause::Check(check) = cause {
                self.clean(id, target, check).await;
            }
        }
    }

    /// Takes secrets out of what a command wrote that checks a container.
    async fn clean(&self, id: &Id, target: &Target, check: &mut Check) {
        if let Some(line) = check.written() {
            let line = self.without_secrets(id, &target.plan, line).await;
            check.found = line.as_deref().unwrap_or(HIDDEN).into();
        }
    }

    /// A line without the secrets that a Workload was given; `None` if these cannot be told from the rest.
    async fn without_secrets(&self, id: &Id, plan: &WorkloadPlanSpec, line: &str) -> Option<String> {
        let api: Api<Secret> = Api::namespaced(self.client.clone(), &id.0);
        let mut line = line.to_owned();
        for output in secrets_of(plan) {
            let secret = api.get_opt(&output.secret_key_ref.name).await.ok()?;
            let value = secret.and_then(|secret| secret.data?.remove(&output.secret_key_ref.key));
            let Some(value) = value.and_then(|value| String::from_utf8(value.0).ok()) else { continue };
            for part in value.lines().filter(|part| !part.trim().is_empty()) {
                line = line.replace(part.trim(), HIDDEN);
            }
        }
        let told: String =
            line.chars().map(|c| if c.is_control() || c == '`' { ' ' } else { c }).take(LINE).collect();
        Some(told)
    }
}

/// What makes the copies: that of this revision, if there are several.
fn rollout(view: &View, revision: &str) -> Option<Rollout> {
    let all =
        || view.objects.iter().filter(|held| matches!(held.facts, Facts::Rollout(_)) && !held.is_leaving);
    let current = |held: &&Held| held.revision.as_deref() == Some(revision);
    let held = all().find(current).or_else(|| all().next())?;
    let Facts::Rollout(rollout) = &held.facts else { return None };
    let mut rollout = (**rollout).clone();
    rollout.cause = rollout.cause.or_else(|| held.told.clone());
    Some(rollout)
}

/// Every secret that a plan puts somewhere.
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
