//! Forecast of the claims of a Workload, as far as it follows without calling an engine.
//!
//! [`provision::decide`] gets the claims as they would be after an apply, beside those of other Workloads for the same
//! instances. Its statuses, and the outputs of static entries, are inputs of the next decision about the Workload. So a
//! preview shows the real statuses, up to the answers of engines and runtimes.

use std::collections::{BTreeMap, BTreeSet};

use orchestra_api::{
    ResourceClaim, Workload, WorkloadPlan,
    claim::{Phase, ResourceClaimStatus},
    config::Provisioner,
};

use super::{ObjectKind, as_applied, as_existing, known_after_apply, run_forecast::CapabilitiesOf};
use crate::{
    Decision, Inputs,
    claim_state::{self, is_bound, is_deleting},
    config::provisioner::is_existing,
    plan,
    provision::{self, Engine, Provision, Work, existing},
};

/// Inputs of a preview, beside those of a decision about the Workload.
#[derive(Clone, Debug, Default)]
pub struct PreviewContext {
    /// Stored Workload, if changes of the document are shown.
    pub live: Option<Workload>,
    /// Claims of other Workloads for the [instances](shared_instances) that this one would share.
    pub claims: Vec<ResourceClaim>,
    /// Plans of the Workloads of [those claims](kept_by) that are being deleted: a running version may still use them.
    pub plans: Vec<WorkloadPlan>,
    /// Available engines. Without them, claims have no forecast.
    pub engines: Option<BTreeMap<String, Engine>>,
    /// Answers of the built-in runtimes about a plan.
    pub capabilities: CapabilitiesOf,
    /// Objects of the Workload that cannot be deserialized, by kind and name. The inputs do not have them.
    pub malformed: Vec<(ObjectKind, String)>,
}

impl PreviewContext {
    /// Notes for the explanation: a controller that has read an earlier version of a malformed object continues with that one.
    pub(super) fn notes(&self) -> impl Iterator<Item = String> {
        self.malformed.iter().map(|(kind, name)| {
            let noun = match kind {
                ObjectKind::ResourceClaim => "claim",
                ObjectKind::WorkloadPlan => "plan",
                ObjectKind::WorkloadExposure => "exposure",
                ObjectKind::Workload => "workload",
            };
            format!(
                "The {noun} `{name}` cannot be deserialized. Here it counts as absent; a running orchestrator continues with the last version that it could read."
            )
        })
    }

    /// Plan of the Workload of a claim.
    fn plan_of(&self, inputs: &Inputs, claim: &ResourceClaim) -> Option<WorkloadPlan> {
        let plans = inputs.plan.iter().chain(&self.plans);
        plans.into_iter().find(|plan| plan.spec.workload_ref == claim.spec.workload_ref).cloned()
    }
}

/// Forecast of a claim, before an engine is called.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Forecast {
    /// An engine will provide it.
    Engine {
        /// Provisioner entry.
        entry: Box<Provisioner>,
        /// Warning about unused parameters.
        warning: Option<String>,
    },
    /// An external controller will provide it.
    External,
    /// Its status is already known.
    Status(Box<ResourceClaimStatus>),
}

impl Forecast {
    /// Note on the change of the claim.
    pub(super) fn note(&self) -> String {
        match self {
            Self::Engine { entry, warning } => {
                let warning = warning.iter().map(|warning| format!("; {warning}"));
                format!("provided by the engine `{}`{}", entry.engine, warning.collect::<String>())
            }
            Self::External => "provided by an external controller (engine `external`)".to_owned(),
            Self::Status(status) => {
                let what = if status.phase == Phase::Failed { "cannot be provisioned" } else { "waits" };
                let why = status.message.iter().map(|message| format!(": {message}"));
                format!("{what}{}", why.collect::<String>())
            }
        }
    }

    /// Entry of a resource that already exists.
    pub(super) fn existing(&self) -> Option<&Provisioner> {
        match self {
            Self::Engine { entry, .. } if is_existing(&entry.engine) => Some(entry),
            _ => None,
        }
    }

    /// Status that the claim will have, if it is known.
    fn status(&self, claim: &ResourceClaim) -> Option<ResourceClaimStatus> {
        match self {
            Self::Status(status) => Some(ResourceClaimStatus::clone(status)),
            Self::External => None,
            Self::Engine { warning, .. } => {
                // A preview does not check that secrets exist.
                let entry = self.existing().filter(|entry| existing::secrets(entry).next().is_none())?;
                let answer = Provision::Bound(existing::bind(entry, BTreeMap::new()));
                Some(provision::report(claim, &answer, warning.as_deref()))
            }
        }
    }
}

/// Decision after all forecasts are applied.
#[derive(Debug)]
pub(super) struct Settled {
    /// Its inputs.
    pub(super) inputs: Inputs,
    /// The decision.
    pub(super) decision: Decision,
    /// Claims that are written on the way, by name.
    pub(super) claims: BTreeMap<String, ResourceClaim>,
    /// Forecasts of claims, by name.
    pub(super) forecasts: BTreeMap<String, Forecast>,
}

impl Settled {
    /// True if it binds claims that do not exist yet: a plan refers to their uids.
    pub(super) fn binds_new_claims(&self) -> bool {
        let live = self.inputs.owned();
        let mut bound = live.claims.values().filter(|claim| is_bound(claim));
        bound.any(|claim| claim.metadata.uid.is_none())
    }
}

/// Decides about a Workload until no forecast changes.
pub(super) fn settle(inputs: &Inputs, context: &PreviewContext) -> Settled {
    let mut inputs = inputs.clone();
    let mut claims = BTreeMap::new();
    let mut rounds = None;
    loop {
        let decision = plan(&inputs);
        let applied = as_applied(&decision, &inputs.owned());
        let mut next = inputs.clone();
        for (name, claim) in
            applied.claims.into_iter().filter_map(|(name, answer)| Some((name, answer.ok()?)))
        {
            next.claims.retain(|existing| existing.metadata.name.as_deref() != Some(name.as_str()));
            next.claims.push(claim);
        }
        let written = decision.claims.iter().cloned();
        claims.extend(written.map(|claim| (claim.metadata.name.clone().unwrap_or_default(), claim)));
        let forecasts = forecasts(&next, context, &decision);
        // Each round sets the status of at least one more claim, or is the last.
        let left = rounds.get_or_insert(2 * decision.status_inputs.claims.len());
        if *left == 0 || !apply_forecasts(&mut next, &forecasts) {
            return Settled { inputs, decision, claims, forecasts };
        }
        *left -= 1;
        inputs = next;
    }
}

/// Sets the known statuses of claims. Returns whether any has changed.
fn apply_forecasts(inputs: &mut Inputs, forecasts: &BTreeMap<String, Forecast>) -> bool {
    let mut is_changed = false;
    for claim in &mut inputs.claims {
        let forecast = claim.metadata.name.as_ref().and_then(|name| forecasts.get(name));
        let status = forecast.and_then(|forecast| forecast.status(claim));
        if status.is_some() && status != claim.status {
            claim.status = status;
            is_changed = true;
        }
    }
    is_changed
}

/// Forecasts of the desired claims of a Workload.
fn forecasts(inputs: &Inputs, context: &PreviewContext, decision: &Decision) -> BTreeMap<String, Forecast> {
    let Some(engines) = &context.engines else { return BTreeMap::new() };
    let live = inputs.owned();
    let wanted = decision.status_inputs.claims.iter().filter(|row| row.wanted);
    let wanted: BTreeMap<&str, &ResourceClaim> = wanted
        .filter_map(|row| Some((row.claim.as_str(), *live.claims.get(row.claim.as_str())?)))
        .filter(|(_, claim)| !is_deleting(claim))
        .collect();
    let mut forecasts = BTreeMap::new();
    for instance in wanted.values().map(|claim| claim_state::instance(claim)).collect::<BTreeSet<_>>() {
        let own: BTreeSet<_> = inputs.claims.iter().map(|claim| &claim.metadata.name).collect();
        let others = context.claims.iter().filter(|claim| !own.contains(&claim.metadata.name));
        let of_instance = inputs.claims.iter().chain(others);
        let claims: Vec<_> =
            of_instance.filter(|claim| claim_state::instance(claim) == instance).cloned().collect();
        let decision = provision::decide(&provision::Inputs {
            namespace: inputs.namespace_name().to_owned(),
            in_use: claim_state::in_use(&claims, |claim| context.plan_of(inputs, claim)),
            instance: instance.clone(),
            claims,
            config: std::sync::Arc::clone(&inputs.config),
            engines: engines.clone(),
        });
        for (name, _) in wanted.iter().filter(|(_, claim)| claim_state::instance(claim) == instance) {
            forecasts.extend(forecast(name, &decision).map(|forecast| ((*name).to_owned(), forecast)));
        }
    }
    forecasts
}

fn forecast(claim: &str, decision: &provision::Decision) -> Option<Forecast> {
    if let Some(status) = decision.statuses.get(claim) {
        return Some(Forecast::Status(Box::new(status.clone())));
    }
    match &decision.work {
        Some(Work::Ensure(instance)) if instance.claims.iter().any(|name| name == claim) => {
            let entry = Box::new(instance.entry.clone());
            Some(Forecast::Engine { entry, warning: instance.warning.clone() })
        }
        _ => decision.external.then_some(Forecast::External),
    }
}

/// Instances that a Workload would share by id. Claims of other Workloads for them influence its forecasts.
pub fn shared_instances(inputs: &Inputs) -> BTreeSet<String> {
    let inputs = as_existing(inputs);
    let decision = plan(&inputs);
    let later = known_after_apply::derive(&inputs, &decision, &BTreeMap::new());
    let claims = inputs.claims.iter().chain(&decision.claims).chain(&later.claims);
    let shared = claims.filter(|claim| claim.spec.id.is_some());
    shared.map(claim_state::instance).collect()
}

/// Workloads whose plans decide whether claims that are being deleted are kept.
pub fn kept_by(claims: &[ResourceClaim]) -> BTreeSet<String> {
    let deleted = claims.iter().filter(|claim| is_deleting(claim));
    deleted.map(|claim| claim_state::workload(claim).to_owned()).collect()
}
