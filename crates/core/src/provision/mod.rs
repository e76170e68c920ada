//! What is to be done about one instance: the thing behind all claims of a namespace with the same type, class and
//! id. It is decided over all its claims at once, so that sharers see one thing, and the last to leave takes it down.

pub mod existing;
pub mod neighbour;
pub mod params;
mod release;
mod sharing;
pub mod template;

use std::collections::{BTreeMap, BTreeSet};

use orchestra_api::{
    Placement, ResourceClaim, WorkloadPlan, annotation,
    claim::{DeprovisionPolicy, Output, Phase, ResourceClaimStatus},
    condition::Reason,
    config::{Provisioner, UnknownParams},
    finalizer, name, plan,
};
use serde_json::{Map, Value as Json};

use crate::{
    claims,
    config::{
        Config, builtin,
        provisioner::{self, Wanted},
    },
    sentence::sentence,
};

/// Everything that a decision about one instance rests on.
#[derive(Clone, Debug)]
pub struct Inputs {
    /// The namespace of the instance.
    pub namespace: String,
    /// Its identity, as the label of its claims says.
    pub instance: String,
    /// All its claims, those that are being deleted too.
    pub claims: Vec<ResourceClaim>,
    /// The names of claims that something which runs still uses.
    pub in_use: BTreeSet<String>,
    /// The platform's document.
    pub config: std::sync::Arc<Config>,
    /// The engines that are at hand, and whether sharers may add parameters of their own.
    pub engines: BTreeMap<String, Engine>,
}

/// What is known of an engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Engine {
    /// Whether sharers of an instance may add parameters of their own.
    pub additive: bool,
    /// Whether it looks at parameters at all.
    pub reads_params: bool,
}

/// What is decided about one instance.
#[derive(Clone, Debug, Default, PartialEq)]
#[must_use]
pub struct Decision {
    /// Claims, by name, to take charge of with this engine, before anything is made.
    pub take: BTreeMap<String, String>,
    /// The status of claims, by name, where it is known without asking anybody.
    pub statuses: BTreeMap<String, ResourceClaimStatus>,
    /// What an engine has to do, if anything.
    pub work: Option<Work>,
    /// Claims, by name, that can go: others still hold the instance, or nobody ever made it.
    pub let_go: Vec<String>,
    /// Whether it is left to a provisioner that others write.
    pub external: bool,
}

/// What an engine has to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Work {
    /// Provide the instance to these claims.
    Ensure(Box<Instance>),
    /// Take the instance down; then these claims can go.
    Release(Release),
}

/// An instance to provide.
#[derive(Clone, Debug, PartialEq)]
pub struct Instance {
    /// Where it belongs.
    pub namespace: String,
    /// Its identity.
    pub id: String,
    /// What kind of thing it is.
    pub type_: String,
    /// Which sort of it.
    pub class: String,
    /// The identity under which it is shared.
    pub shared_id: Option<String>,
    /// Parameters of all its claims together.
    pub params: Map<String, Json>,
    /// What authors noted about it.
    pub metadata: Map<String, Json>,
    /// Settings of the backend where what asks for it runs, in the words of its runtime.
    pub values: Map<String, Json>,
    /// Who provides it.
    pub entry: Provisioner,
    /// The names of the claims it is provided to.
    pub claims: Vec<String>,
    /// Who asks for it with these claims, in the same order.
    pub dependents: Vec<Dependent>,
    /// What is said of parameters that are not used.
    pub warning: Option<String>,
}

/// A Workload that depends on an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependent {
    /// Its name.
    pub workload: String,
    /// What it calls the dependency.
    pub key: String,
}

impl From<&ResourceClaim> for Dependent {
    fn from(claim: &ResourceClaim) -> Self {
        Self { workload: claim.spec.workload_ref.name.clone(), key: claim.spec.key.clone() }
    }
}

/// An instance to take down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    /// Where it belongs.
    pub namespace: String,
    /// Its identity.
    pub id: String,
    /// What kind of thing it is.
    pub type_: String,
    /// The engine that made it.
    pub engine: String,
    /// What becomes of it.
    pub policy: DeprovisionPolicy,
    /// The claims that can go afterwards, by name.
    pub claims: Vec<String>,
}

/// Decides about one instance.
pub fn decide(inputs: &Inputs) -> Decision {
    let mut decision = Decision::default();
    // What something that runs still uses is provided as before, although somebody deleted it.
    let is_kept = |claim: &ResourceClaim| {
        inputs.in_use.contains(&name_of(claim)) && is_ours(claim) && !release::is_begun(claim)
    };
    let (dying, mut living): (Vec<_>, Vec<_>) = inputs
        .claims
        .iter()
        .partition(|claim| claim.metadata.deletion_timestamp.is_some() && !is_kept(claim));
    living.sort_by_key(|claim| sharing::seniority(claim));
    if dying.iter().any(|claim| release::is_begun(claim)) {
        // What is being taken down is provided anew only once it is gone.
        let message = "What bore this identity before is being taken down first.";
        decision.statuses.extend(living.iter().map(|claim| (name_of(claim), pending(claim, message))));
        release::decide(inputs, &dying, false, &mut decision);
        return decision;
    }
    let instance = provide(inputs, &living, &mut decision);
    // Only a claim that is in our charge, or is about to be, sees to it that the instance is taken down one day.
    let is_held = !decision.take.is_empty() || living.iter().any(|claim| is_ours(claim));
    release::decide(inputs, &dying, is_held, &mut decision);
    // One thing at a time: what is being taken down is provided anew only once it is gone.
    if decision.work.is_none() {
        decision.work = instance.map(|instance| Work::Ensure(Box::new(instance)));
    }
    decision
}

/// Decides about the claims that are not being deleted, and what is to be provided to them.
fn provide(inputs: &Inputs, living: &[&ResourceClaim], decision: &mut Decision) -> Option<Instance> {
    let holder = living.first()?;

    let is_at_hand = |engine: &str| inputs.engines.contains_key(engine);
    let selected = provisioner::select(&inputs.config, &Wanted::by(&holder.spec), is_at_hand);
    let entry = match selected.map_err(|none| sentence(&none.to_string(), 0)) {
        Ok(entry) => builtin::resolved(entry, &holder.spec.placement.runtime_class, is_at_hand),
        Err(message) => {
            nobody_provides(living, &message, decision);
            return None;
        }
    };
    if entry.engine == EXTERNAL {
        decision.external = true;
        return None;
    }
    let Some(engine) = inputs.engines.get(&entry.engine) else {
        let message = format!(
            "The platform's document provides `{}` with the engine `{}`, which is not at hand: ask the platform team.",
            holder.spec.type_, entry.engine
        );
        nobody_provides(living, &message, decision);
        return None;
    };
    let noted = living.iter().find_map(|claim| keeper(claim));
    if let Some(other) = noted.filter(|noted| **noted != entry.engine) {
        let message = format!(
            "It was made by the engine `{other}`, and the platform's document now names `{}`: what was made stays as it is until nobody wants it.",
            entry.engine
        );
        nobody_provides(living, &message, decision);
        return None;
    }
    let (sharers, params, metadata) = sharing::agree(living, *engine, decision);
    let unused = if engine.reads_params { Vec::new() } else { params.keys().cloned().collect() };
    let warning = unused_params(&entry, &unused);
    if let (Some(warning), UnknownParams::Refuse) = (&warning, entry.unknown_params) {
        decision.statuses.extend(sharers.iter().map(|claim| (name_of(claim), failed(claim, warning))));
        return None;
    }
    for claim in &sharers {
        if !is_taken(claim, &entry.engine) {
            decision.take.insert(name_of(claim), entry.engine.clone());
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

/// The settings of a backend; none if the document does not name it any more.
fn values(inputs: &Inputs, placement: &Placement) -> Map<String, Json> {
    let backends = inputs.config.profiles().values().flat_map(|profile| &profile.backends);
    let mut here = backends.filter(|backend| backend.placement == *placement);
    here.next().map(|backend| backend.values.clone()).unwrap_or_default()
}

/// Claims that nobody here provides. What is bound was provided before the platform changed: it stays as it is.
fn nobody_provides(claims: &[&ResourceClaim], message: &str, decision: &mut Decision) {
    for claim in claims.iter().filter(|claim| !is_served(claim) && !is_others(claim)) {
        decision.statuses.insert(name_of(claim), failed(claim, message));
    }
}

/// Whether a claim is bound as it is asked for now. A deletion counts as a generation, and asks for nothing else.
pub fn is_served(claim: &ResourceClaim) -> bool {
    let generation = claim.metadata.generation;
    let before_deletion = claim.metadata.deletion_timestamp.as_ref().and(generation.map(|all| all - 1));
    claim.status.as_ref().is_some_and(|status| {
        let observed = status.observed_generation;
        status.phase == Phase::Bound
            && (observed == generation || observed.is_some() && observed == before_deletion)
    })
}

/// Whether something that runs may be using a claim: the plan of its Workload names it, or has not taken the place of
/// one that did.
pub fn is_in_use(claim: &ResourceClaim, plan: &WorkloadPlan) -> bool {
    let may_run_older = plan.status.as_ref().is_some_and(|status| {
        status.phase != plan::Phase::Ready || status.observed_revision.as_ref() != Some(&plan.spec.revision)
    });
    plan.spec.workload_ref == claim.spec.workload_ref
        && (may_run_older
            || plan.spec.claims.iter().any(|used| Some(&used.name) == claim.metadata.name.as_ref()))
}

/// Whether a claim is being taken down, from which there is no way back.
pub fn is_releasing(claim: &ResourceClaim) -> bool {
    release::is_begun(claim)
}

/// The engine of provisioners that others write.
pub const EXTERNAL: &str = "external";

fn unused_params(entry: &Provisioner, unused: &[String]) -> Option<String> {
    let unused: Vec<_> = unused.iter().filter(|key| !entry.matching.contains_key(*key)).collect();
    if unused.is_empty() {
        return None;
    }
    let names: Vec<_> = unused.iter().map(|name| format!("`{name}`")).collect();
    Some(match entry.unknown_params {
        UnknownParams::Refuse => {
            format!("The parameters {} are not known here: remove them from `params`.", names.join(", "))
        }
        UnknownParams::Warn => format!("The parameters {} are not used here.", names.join(", ")),
    })
}

fn is_taken(claim: &ResourceClaim, engine: &str) -> bool {
    keeper(claim).is_some_and(|noted| noted == engine)
}

/// The engine of ours that has taken charge of a claim.
pub(crate) fn keeper(claim: &ResourceClaim) -> Option<&String> {
    engine_of(claim).filter(|_| is_ours(claim))
}

/// The engine that is noted on a claim.
fn engine_of(claim: &ResourceClaim) -> Option<&String> {
    claim.metadata.annotations.as_ref()?.get(annotation::ENGINE)
}

/// Whether somebody else has taken charge of a claim, as its finalizer tells: two who contradict each other help nobody.
fn is_others(claim: &ResourceClaim) -> bool {
    !is_ours(claim) && claim.metadata.finalizers.as_ref().is_some_and(|holders| !holders.is_empty())
}

/// Whether one of our engines has taken charge of a claim.
fn is_ours(claim: &ResourceClaim) -> bool {
    claim.metadata.finalizers.iter().flatten().any(|holder| holder == finalizer::PROVISIONER)
}

fn name_of(claim: &ResourceClaim) -> String {
    claim.metadata.name.clone().unwrap_or_default()
}

/// A claim that has to wait.
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

/// A claim that cannot be provided. What it gave before is still known: whatever uses it runs on.
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

/// What an engine answers.
#[derive(Clone, Debug, PartialEq)]
pub enum Provision {
    /// It has not begun, and why.
    Pending(String),
    /// It is at work.
    Binding(String),
    /// Something is in its way, and it is tried again.
    Hindered(Reason, String),
    /// The thing is there and answers.
    Bound(Bound),
    /// It cannot be had.
    Failed(Reason, String),
}

/// What a thing that is there gives.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bound {
    /// Its outputs, by name.
    pub outputs: BTreeMap<String, Output>,
    /// The versions of the Secrets that outputs refer to, by name: no values, but they change when a value does.
    pub versions: BTreeMap<String, String>,
    /// What users are told.
    pub message: String,
}

/// The status of a claim, from what the engine answered.
pub fn report(claim: &ResourceClaim, answer: &Provision, warning: Option<&str>) -> ResourceClaimStatus {
    let before = claim.status.clone().unwrap_or_default();
    let said = |message: &str| {
        let warning = warning.map(|warning| format!(" {warning}")).unwrap_or_default();
        Some(format!("{message}{warning}"))
    };
    let observed_generation = claim.metadata.generation;
    match answer {
        Provision::Pending(message) => ResourceClaimStatus {
            phase: Phase::Pending,
            reason: Some(Reason::BindingPending),
            message: said(message),
            outputs_available: false,
            observed_generation,
            ..before
        },
        Provision::Binding(message) => ResourceClaimStatus {
            phase: Phase::Binding,
            reason: Some(Reason::BindingPending),
            message: said(message),
            outputs_available: false,
            observed_generation,
            ..before
        },
        Provision::Hindered(reason, message) => ResourceClaimStatus {
            phase: Phase::Binding,
            reason: Some(if claims::is_obstacle(*reason) { *reason } else { Reason::BindingPending }),
            message: said(message),
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
            message: said(&bound.message),
            outputs_available: true,
            outputs: bound.outputs.clone(),
            outputs_revision: Some(revision(claim, bound)),
            observed_generation,
        },
    }
}

/// Changes with the outputs and with the versions of the Secrets behind them. It follows from no secret value.
fn revision(claim: &ResourceClaim, bound: &Bound) -> String {
    let outputs = serde_json::to_string(&bound.outputs).unwrap_or_default();
    let versions = serde_json::to_string(&bound.versions).unwrap_or_default();
    name::hash(&[claim.metadata.uid.as_deref().unwrap_or_default(), &outputs, &versions])
}
