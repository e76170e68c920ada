//! What comes of the claims of a Workload, as far as that follows without asking anybody.
//!
//! The claims are laid before [`provision::decide`] as they would be after an apply, beside those of others for the
//! same instances; what it says of them, and what the platform's document itself gives, is then there for the next
//! decision about the Workload. So a preview says what will be said, up to the answers of engines and runtimes.

use std::collections::{BTreeMap, BTreeSet};

use orchestra_api::{
    ResourceClaim, Workload,
    claim::{Phase, ResourceClaimStatus},
    config::Provisioner,
    label,
};

use super::{as_applied, as_existing, foresight};
use crate::{
    Decision, Inputs,
    config::provisioner::STATIC,
    plan,
    provision::{self, Engine, Provision, Work, existing},
};

/// What a look ahead rests on, beside what a decision about the Workload rests on.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// The Workload as the API holds it, if what would become of it is to be shown.
    pub held: Option<Workload>,
    /// The claims of others for the [instances](shared_instances) that the Workload would share.
    pub claims: Vec<ResourceClaim>,
    /// The engines that are at hand. Where that is not known, nothing is said of what claims would come to.
    pub engines: Option<BTreeMap<String, Engine>>,
    /// The names of policies that cannot be read, and so have no part in decisions.
    pub unread_policies: Vec<String>,
}

impl Surroundings {
    /// What is worth knowing of them.
    pub(super) fn notes(&self) -> impl Iterator<Item = String> {
        self.unread_policies.iter().map(|policy| {
            format!("The policy `{policy}` cannot be read, and is left out here: ask the platform team.")
        })
    }
}

/// What is known of a claim before anybody is asked.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Prospect {
    /// An engine will be asked for it.
    Asked {
        /// Who provides it.
        entry: Box<Provisioner>,
        /// What is said of parameters that are not used.
        warning: Option<String>,
    },
    /// It is left to a provisioner that others write.
    External,
    /// This will be said of it.
    Said(Box<ResourceClaimStatus>),
}

impl Prospect {
    /// At the line of the claim.
    pub(super) fn note(&self) -> String {
        match self {
            Self::Asked { entry, warning } => {
                let warning = warning.iter().map(|warning| format!("; {warning}"));
                format!("provided by the engine `{}`{}", entry.engine, warning.collect::<String>())
            }
            Self::External => "provided by others (engine `external`)".to_owned(),
            Self::Said(status) => {
                let what = if status.phase == Phase::Failed { "cannot be had" } else { "has to wait" };
                let why = status.message.iter().map(|message| format!(": {message}"));
                format!("{what}{}", why.collect::<String>())
            }
        }
    }

    /// The entry, if it describes something that exists already.
    pub(super) fn existing(&self) -> Option<&Provisioner> {
        match self {
            Self::Asked { entry, .. } if entry.engine == STATIC => Some(entry),
            _ => None,
        }
    }

    /// The status that the claim will have, if that is known.
    fn status(&self, claim: &ResourceClaim) -> Option<ResourceClaimStatus> {
        match self {
            Self::Said(status) => Some(ResourceClaimStatus::clone(status)),
            Self::External => None,
            Self::Asked { warning, .. } => {
                // Whether Secrets are there is not looked at.
                let entry = self.existing().filter(|entry| existing::secrets(entry).next().is_none())?;
                let answer = Provision::Bound(existing::bind(entry, BTreeMap::new()));
                Some(provision::report(claim, &answer, warning.as_deref()))
            }
        }
    }
}

/// A decision, after everything that it leads to without anybody being asked.
#[derive(Debug)]
pub(super) struct Settled {
    /// What it rests on.
    pub(super) inputs: Inputs,
    /// The decision.
    pub(super) decision: Decision,
    /// The claims that are written on the way, by name.
    pub(super) claims: BTreeMap<String, ResourceClaim>,
    /// What is known of claims, by name.
    pub(super) prospects: BTreeMap<String, Prospect>,
}

impl Settled {
    /// Whether claims are bound that do not exist yet: what is noted of them in a plan follows from their uid.
    pub(super) fn binds_new_claims(&self) -> bool {
        let live = self.inputs.live();
        let mut bound = live.claims.values().filter(|claim| provision::is_served(claim));
        bound.any(|claim| claim.metadata.uid.is_none())
    }
}

/// Decides about a Workload until nothing more follows by itself.
pub(super) fn settle(inputs: &Inputs, around: &Surroundings) -> Settled {
    let mut inputs = inputs.clone();
    let mut claims = BTreeMap::new();
    let mut rounds = None;
    loop {
        let decision = plan(&inputs);
        let applied = as_applied(&decision, &inputs.live());
        let mut next = inputs.clone();
        for (name, claim) in
            applied.claims.into_iter().filter_map(|(name, answer)| Some((name, answer.ok()?)))
        {
            next.claims.retain(|held| held.metadata.name.as_deref() != Some(name.as_str()));
            next.claims.push(claim);
        }
        let written = decision.claims.iter().cloned();
        claims.extend(written.map(|claim| (claim.metadata.name.clone().unwrap_or_default(), claim)));
        let prospects = prospects(&next, around, &decision);
        // Each round says something of at least one more claim, or is the last.
        let left = rounds.get_or_insert(2 * decision.basis.claims.len());
        if *left == 0 || !say(&mut next, &prospects) {
            return Settled { inputs, decision, claims, prospects };
        }
        *left -= 1;
        inputs = next;
    }
}

/// Has the claims say what is known of them, and tells whether that is anything new.
fn say(inputs: &mut Inputs, prospects: &BTreeMap<String, Prospect>) -> bool {
    let mut news = false;
    for claim in &mut inputs.claims {
        let prospect = claim.metadata.name.as_ref().and_then(|name| prospects.get(name));
        let status = prospect.and_then(|prospect| prospect.status(claim));
        if status.is_some() && status != claim.status {
            claim.status = status;
            news = true;
        }
    }
    news
}

/// What is known of the claims that a Workload wants.
fn prospects(inputs: &Inputs, around: &Surroundings, decision: &Decision) -> BTreeMap<String, Prospect> {
    let Some(engines) = &around.engines else { return BTreeMap::new() };
    let live = inputs.live();
    let wanted = decision.basis.claims.iter().filter(|line| line.wanted);
    let wanted: BTreeMap<&str, &ResourceClaim> = wanted
        .filter_map(|line| Some((line.claim.as_str(), *live.claims.get(line.claim.as_str())?)))
        .filter(|(_, claim)| claim.metadata.deletion_timestamp.is_none())
        .collect();
    let mut prospects = BTreeMap::new();
    for instance in wanted.values().filter_map(|claim| instance_of(claim)).collect::<BTreeSet<_>>() {
        let own: BTreeSet<_> = inputs.claims.iter().map(|claim| &claim.metadata.name).collect();
        let others = around.claims.iter().filter(|claim| !own.contains(&claim.metadata.name));
        let of_instance = inputs.claims.iter().chain(others);
        let decision = provision::decide(&provision::Inputs {
            namespace: inputs.namespace_name().to_owned(),
            instance: instance.to_owned(),
            claims: of_instance.filter(|claim| instance_of(claim) == Some(instance)).cloned().collect(),
            // It counts for claims that are being deleted only, and these are not looked at.
            in_use: BTreeSet::new(),
            config: std::sync::Arc::clone(&inputs.config),
            engines: engines.clone(),
        });
        for (name, _) in wanted.iter().filter(|(_, claim)| instance_of(claim) == Some(instance)) {
            prospects.extend(prospect(name, &decision).map(|prospect| ((*name).to_owned(), prospect)));
        }
    }
    prospects
}

fn prospect(claim: &str, decision: &provision::Decision) -> Option<Prospect> {
    if let Some(status) = decision.statuses.get(claim) {
        return Some(Prospect::Said(Box::new(status.clone())));
    }
    match &decision.work {
        Some(Work::Ensure(instance)) if instance.claims.iter().any(|name| name == claim) => {
            let entry = Box::new(instance.entry.clone());
            Some(Prospect::Asked { entry, warning: instance.warning.clone() })
        }
        _ => decision.external.then_some(Prospect::External),
    }
}

fn instance_of(claim: &ResourceClaim) -> Option<&str> {
    claim.metadata.labels.as_ref()?.get(label::INSTANCE).map(String::as_str)
}

/// The instances that a Workload would share by an id. What others ask of them has a say in what becomes of its claims.
pub fn shared_instances(inputs: &Inputs) -> BTreeSet<String> {
    let inputs = as_existing(inputs);
    let decision = plan(&inputs);
    let later = foresight::foresee(&inputs, &decision, &BTreeMap::new());
    let claims = inputs.claims.iter().chain(&decision.claims).chain(&later.claims);
    let shared = claims.filter(|claim| claim.spec.id.is_some());
    shared.filter_map(|claim| instance_of(claim)).map(ToOwned::to_owned).collect()
}
