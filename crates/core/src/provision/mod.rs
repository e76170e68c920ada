//! Decision about one instance, which all claims of a namespace with the same type, class and id share. It covers all its
//! claims at once, so all of them see the same instance, and the deletion of the last one releases it.

pub mod existing;
pub mod params;
mod release;
mod secret;
pub mod service_ref;
mod sharing;
pub mod template;
#[cfg(test)]
mod tests;
mod writes;

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use orchestra_api::{
    Placement, ResourceClaim,
    claim::{DeprovisionPolicy, Output, Phase, ResourceClaimStatus},
    condition::Reason,
    config::{Provisioner, UnknownParams},
    finalizer, name,
};
use serde_json::{Map, Value as Json};

pub use self::{
    secret::{check_secret_owner, is_secret_of},
    writes::Write,
};
use crate::{
    claim_state::{self, has_finalizer, has_only_foreign_finalizers, is_bound, is_deleting, is_releasing},
    claims,
    config::{
        Config, builtin,
        provisioner::{self, ResourceRequest},
    },
    decision::Requeue,
    driver::{DriverError, DriverErrorKind, Released, UNWATCHED_CHECK_INTERVAL},
    sentence::sentence,
};

/// Inputs of a decision about one instance.
#[derive(Clone, Debug)]
pub struct Inputs {
    /// Namespace of the instance.
    pub namespace: String,
    /// Id of the instance, as in the label of its claims.
    pub instance: String,
    /// All its claims, including those that are being deleted.
    pub claims: Vec<ResourceClaim>,
    /// Names of claims that a running version uses.
    pub in_use: BTreeSet<String>,
    /// The orchestrator config in force.
    pub config: std::sync::Arc<Config>,
    /// Available engines.
    pub engines: BTreeMap<String, Engine>,
}

/// Capabilities of an engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Engine {
    /// True if claims of one instance may have different parameters.
    pub additive: bool,
    /// True if it reads parameters.
    pub reads_params: bool,
}

/// Decision about one instance.
#[derive(Clone, Debug, Default, PartialEq)]
#[must_use]
pub struct Decision {
    /// Claims, by name, to add the finalizer and this engine to, before anything is provisioned.
    pub add_finalizer: BTreeMap<String, String>,
    /// Statuses of claims, by name, that are known without the engine.
    pub statuses: BTreeMap<String, ResourceClaimStatus>,
    /// Work of an engine.
    pub work: Option<Work>,
    /// Claims, by name, whose finalizer is removed: other claims keep the instance, or it was never provisioned.
    pub remove_finalizer: Vec<String>,
    /// True if an external controller provides it.
    pub external: bool,
}

/// Work of an engine.
#[derive(Clone, Debug, PartialEq)]
pub enum Work {
    /// Provide the instance to these claims.
    Ensure(Box<Instance>),
    /// Release the instance.
    Release(Release),
}

/// Instance to provide.
#[derive(Clone, Debug, PartialEq)]
pub struct Instance {
    /// Namespace.
    pub namespace: String,
    /// Id of the instance.
    pub id: String,
    /// Resource type.
    pub type_: String,
    /// Resource class.
    pub class: String,
    /// Id under which it is shared.
    pub shared_id: Option<String>,
    /// Merged parameters of all its claims.
    pub params: Map<String, Json>,
    /// Metadata of its resources.
    pub metadata: Map<String, Json>,
    /// Settings of the backend of its first Workload.
    pub values: Map<String, Json>,
    /// Provisioner entry.
    pub entry: Provisioner,
    /// Names of its claims.
    pub claims: Vec<String>,
    /// Workloads with these claims, in the same order.
    pub dependents: Vec<Dependent>,
    /// Warning about unused parameters.
    pub warning: Option<String>,
}

/// Workload that depends on an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependent {
    /// Name of the Workload.
    pub workload: String,
    /// Key of the resource.
    pub key: String,
}

impl From<&ResourceClaim> for Dependent {
    fn from(claim: &ResourceClaim) -> Self {
        Self { workload: claim.spec.workload_ref.name.clone(), key: claim.spec.key.clone() }
    }
}

/// Instance to release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    /// Namespace.
    pub namespace: String,
    /// Id of the instance.
    pub id: String,
    /// Resource type.
    pub type_: String,
    /// Engine that provisioned it.
    pub engine: String,
    /// Deprovision policy.
    pub policy: DeprovisionPolicy,
    /// Claims, by name, whose finalizer is removed afterwards.
    pub claims: Vec<String>,
    /// Those of them on which the start of the release is recorded first: it cannot be undone from then on.
    pub start: Vec<String>,
}

/// Writes after the work of an engine.
#[derive(Clone, Debug, Default, PartialEq)]
#[must_use]
pub struct Report {
    /// Statuses of claims, by name.
    pub statuses: BTreeMap<String, ResourceClaimStatus>,
    /// Claims, by name, whose finalizer is removed.
    pub remove_finalizer: Vec<String>,
    /// When the instance is reconciled again.
    pub requeue: Requeue,
}

/// Interval of checks on an instance that is being provided or released, in case its engine reports no change.
const PROGRESS_CHECK_INTERVAL: Duration = Duration::from_secs(5);

/// Interval of checks on the Secrets behind an instance that is bound: they are not watched, and may be rotated.
const SECRET_CHECK_INTERVAL: Duration = Duration::from_mins(5);

/// Report after an engine was asked to provide an instance.
pub fn report_ensured(
    inputs: &Inputs,
    instance: &Instance,
    answer: Result<Provision, DriverError>,
) -> Report {
    let (answer, requeue) = match answer {
        Ok(answer) => {
            let requeue = answer.requeue();
            (answer, requeue)
        }
        Err(error) => {
            let (reason, message) = (error.reason, error.message.clone());
            match error.kind {
                DriverErrorKind::Refused => (Provision::Failed(reason, message), Requeue::OnChange),
                DriverErrorKind::Unwatched => {
                    (Provision::Failed(reason, message), Requeue::After(UNWATCHED_CHECK_INTERVAL))
                }
                DriverErrorKind::Transient => {
                    (Provision::Blocked(reason, message), Requeue::Backoff(error.into()))
                }
            }
        }
    };
    let is_unreachable = matches!(requeue, Requeue::Backoff(_));
    let claims = inputs.claims.iter().filter(|claim| instance.claims.contains(&name_of(claim)));
    // A bound claim stays bound while its engine is unreachable.
    let reported = claims.filter(|claim| !is_unreachable || !is_bound(claim));
    let statuses =
        reported.map(|claim| (name_of(claim), report(claim, &answer, instance.warning.as_deref()))).collect();
    Report { statuses, remove_finalizer: Vec::new(), requeue }
}

/// Report after an engine was asked to release an instance. Without an answer, this binary does not contain the engine.
pub fn report_released(
    inputs: &Inputs,
    release: &Release,
    answer: Option<Result<Released, DriverError>>,
) -> Report {
    let later = Requeue::After(PROGRESS_CHECK_INTERVAL);
    let (message, requeue) = match answer {
        Some(Ok(Released::Done)) => {
            return Report { remove_finalizer: release.claims.clone(), ..Report::default() };
        }
        Some(Ok(Released::Waiting(message))) => (message, later),
        Some(Err(error)) => (error.to_string(), Requeue::Backoff(error.into())),
        None => {
            let message = format!(
                "The engine `{}` that provisioned it is not available: restore it, or remove the finalizer `{}` from this claim.",
                release.engine,
                finalizer::PROVISIONER
            );
            (message, later)
        }
    };
    let claims = inputs.claims.iter().filter(|claim| release.claims.contains(&name_of(claim)));
    let waiting = |claim: &ResourceClaim| ResourceClaimStatus {
        reason: Some(Reason::BindingPending),
        message: Some(message.clone()),
        ..claim.status.clone().unwrap_or_default()
    };
    let statuses = claims.map(|claim| (name_of(claim), waiting(claim))).collect();
    Report { statuses, remove_finalizer: Vec::new(), requeue }
}

/// Decides about one instance.
pub fn decide(inputs: &Inputs) -> Decision {
    let mut decision = Decision::default();
    // A deleted claim that a running version uses is still provided.
    let is_kept = |claim: &ResourceClaim| {
        has_finalizer(claim) && claim_state::is_kept(claim, inputs.in_use.contains(&name_of(claim)))
    };
    let (deleted, mut current): (Vec<_>, Vec<_>) =
        inputs.claims.iter().partition(|claim| is_deleting(claim) && !is_kept(claim));
    current.sort_by_key(|claim| sharing::seniority(claim));
    if deleted.iter().any(|claim| is_releasing(claim)) {
        // A new instance is provisioned once the previous one is gone.
        let message = "Waiting for the previous instance to be deleted.";
        decision.statuses.extend(current.iter().map(|claim| (name_of(claim), pending(claim, message))));
        release::decide(inputs, &deleted, false, &mut decision);
        return decision;
    }
    let instance = provide(inputs, &current, &mut decision);
    // Only a claim with our finalizer leads to a release of the instance later.
    let stays = !decision.add_finalizer.is_empty() || current.iter().any(|claim| has_finalizer(claim));
    release::decide(inputs, &deleted, stays, &mut decision);
    // A new instance is provisioned once the previous one is gone.
    if decision.work.is_none() {
        decision.work = instance.map(|instance| Work::Ensure(Box::new(instance)));
    }
    decision
}

/// Decides about the claims that are not being deleted. Returns the instance to provide.
fn provide(inputs: &Inputs, current: &[&ResourceClaim], decision: &mut Decision) -> Option<Instance> {
    let holder = current.first()?;

    let is_available = |engine: &str| inputs.engines.contains_key(engine);
    let selected = provisioner::select(&inputs.config, &ResourceRequest::of(&holder.spec), is_available);
    let entry = match selected.map_err(|none| sentence(&none.to_string(), 0)) {
        Ok(entry) => builtin::resolved(entry, &holder.spec.placement.runtime_class, is_available),
        Err(message) => {
            fail_all(current, &message, decision);
            return None;
        }
    };
    let recorded = current.iter().find_map(|claim| claim_state::engine(claim));
    if let Some(other) = recorded.filter(|recorded| **recorded != entry.engine) {
        let message = format!(
            "It was provisioned by the engine `{other}`, and the orchestrator config now names `{}`: it is unchanged until it is released.",
            entry.engine
        );
        fail_all(current, &message, decision);
        return None;
    }
    if entry.engine == EXTERNAL {
        decision.external = true;
        return None;
    }
    let Some(engine) = inputs.engines.get(&entry.engine) else {
        let message = format!(
            "The orchestrator config provides `{}` with the engine `{}`, which is not available here; choose another engine.",
            holder.spec.type_, entry.engine
        );
        fail_all(current, &message, decision);
        return None;
    };
    let (sharers, params, metadata) = sharing::agree(current, *engine, decision);
    let unused = if engine.reads_params { Vec::new() } else { params.keys().cloned().collect() };
    let warning = unused_params(&entry, &unused);
    if let (Some(warning), UnknownParams::Refuse) = (&warning, entry.unknown_params) {
        decision.statuses.extend(sharers.iter().map(|claim| (name_of(claim), failed(claim, warning))));
        return None;
    }
    for claim in &sharers {
        if claim_state::engine(claim) != Some(&entry.engine) {
            decision.add_finalizer.insert(name_of(claim), entry.engine.clone());
        }
    }
    (!sharers.is_empty()).then(|| Instance {
        namespace: inputs.namespace.clone(),
        id: inputs.instance.clone(),
        type_: holder.spec.type_.clone(),
        class: holder.spec.class.clone(),
        shared_id: holder.spec.id.clone(),
        params,
        metadata,
        values: values(inputs, &holder.spec.placement),
        entry,
        claims: sharers.iter().map(|claim| name_of(claim)).collect(),
        dependents: sharers.iter().map(|claim| Dependent::from(*claim)).collect(),
        warning,
    })
}

/// Settings of a backend; empty if the config no longer has it.
fn values(inputs: &Inputs, placement: &Placement) -> Map<String, Json> {
    let backends = inputs.config.profiles().values().flat_map(|profile| &profile.backends);
    let mut here = backends.filter(|backend| backend.placement == *placement);
    here.next().map(|backend| backend.values.clone()).unwrap_or_default()
}

/// Fails claims without a provider. A bound claim stays bound: it was provided before the platform changed.
fn fail_all(claims: &[&ResourceClaim], message: &str, decision: &mut Decision) {
    for claim in claims.iter().filter(|claim| !is_bound(claim) && !has_only_foreign_finalizers(claim)) {
        decision.statuses.insert(name_of(claim), failed(claim, message));
    }
}

/// Engine of resources that external controllers provide.
pub const EXTERNAL: &str = "external";

fn unused_params(entry: &Provisioner, unused: &[String]) -> Option<String> {
    let unused: Vec<_> = unused.iter().filter(|key| !entry.matching.contains_key(*key)).collect();
    if unused.is_empty() {
        return None;
    }
    let names: Vec<_> = unused.iter().map(|name| format!("`{name}`")).collect();
    Some(match entry.unknown_params {
        UnknownParams::Refuse => {
            format!("Unknown params: {}; remove them.", names.join(", "))
        }
        UnknownParams::Warn => format!("Ignored params: {}.", names.join(", ")),
    })
}

fn name_of(claim: &ResourceClaim) -> String {
    claim.metadata.name.clone().unwrap_or_default()
}

/// Status of a claim that waits.
fn pending(claim: &ResourceClaim, message: &str) -> ResourceClaimStatus {
    ResourceClaimStatus {
        phase: Phase::Pending,
        reason: Some(Reason::BindingPending),
        message: Some(message.to_owned()),
        outputs_available: false,
        observed_generation: claim.metadata.generation,
        ..claim.status.clone().unwrap_or_default()
    }
}

/// Status of a claim that cannot be provided. Its outputs stay, since a running version may use them.
fn failed(claim: &ResourceClaim, message: &str) -> ResourceClaimStatus {
    let before = claim.status.clone().unwrap_or_default();
    ResourceClaimStatus {
        phase: Phase::Failed,
        reason: Some(Reason::BindingFailed),
        message: Some(message.to_owned()),
        outputs_available: false,
        observed_generation: claim.metadata.generation,
        ..before
    }
}

/// Answer of an engine.
#[derive(Clone, Debug, PartialEq)]
pub enum Provision {
    /// Not started, with the reason.
    Pending(String),
    /// In progress.
    Binding(String),
    /// Blocked by an obstacle; it is retried.
    Blocked(Reason, String),
    /// The instance exists and responds.
    Bound(Bound),
    /// It cannot be provisioned.
    Failed(Reason, String),
}

impl Provision {
    /// When the instance is reconciled again.
    fn requeue(&self) -> Requeue {
        match self {
            Self::Bound(bound) if !bound.versions.is_empty() => Requeue::After(SECRET_CHECK_INTERVAL),
            Self::Bound(_) | Self::Failed(..) => Requeue::OnChange,
            Self::Pending(_) | Self::Binding(_) | Self::Blocked(..) => {
                Requeue::After(PROGRESS_CHECK_INTERVAL)
            }
        }
    }
}

/// Outputs of an instance.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bound {
    /// Its outputs, by name.
    pub outputs: BTreeMap<String, Output>,
    /// Resource versions of the Secrets behind the outputs, by name.
    pub versions: BTreeMap<String, String>,
    /// Message for users.
    pub message: String,
}

/// Status of a claim after the answer of an engine.
pub fn report(claim: &ResourceClaim, answer: &Provision, warning: Option<&str>) -> ResourceClaimStatus {
    let before = claim.status.clone().unwrap_or_default();
    let with_warning = |message: &str| {
        let warning = warning.map(|warning| format!(" {warning}")).unwrap_or_default();
        Some(format!("{message}{warning}"))
    };
    let observed_generation = claim.metadata.generation;
    match answer {
        Provision::Pending(message) => ResourceClaimStatus {
            phase: Phase::Pending,
            reason: Some(Reason::BindingPending),
            message: with_warning(message),
            outputs_available: false,
            observed_generation,
            ..before
        },
        Provision::Binding(message) => ResourceClaimStatus {
            phase: Phase::Binding,
            reason: Some(Reason::BindingPending),
            message: with_warning(message),
            outputs_available: false,
            observed_generation,
            ..before
        },
        Provision::Blocked(reason, message) => ResourceClaimStatus {
            phase: Phase::Binding,
            reason: Some(if claims::is_obstacle(*reason) { *reason } else { Reason::BindingPending }),
            message: with_warning(message),
            outputs_available: false,
            observed_generation,
            ..before
        },
        Provision::Failed(reason, message) => {
            ResourceClaimStatus { reason: Some(*reason), ..failed(claim, message) }
        }
        Provision::Bound(bound) => ResourceClaimStatus {
            phase: Phase::Bound,
            reason: Some(Reason::Succeeded),
            message: with_warning(&bound.message),
            outputs_available: true,
            outputs: bound.outputs.clone(),
            outputs_revision: Some(revision(claim, bound)),
            observed_generation,
        },
    }
}

/// Hash of the outputs and the versions of their Secrets, without secret values.
fn revision(claim: &ResourceClaim, bound: &Bound) -> String {
    let outputs = serde_json::to_string(&bound.outputs).unwrap_or_default();
    let versions = serde_json::to_string(&bound.versions).unwrap_or_default();
    name::hash(&[claim.metadata.uid.as_deref().unwrap_or_default(), &outputs, &versions])
}
