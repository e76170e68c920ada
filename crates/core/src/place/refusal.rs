//! Refusals of a placement, with messages for authors.

use std::collections::BTreeSet;

use orchestra_api::{annotation, reference::Placement};

use super::explanation::{Considered, ProfileReason};
use crate::config::{Config, name_rules};

/// Reason why a Workload cannot be placed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The profile does not exist. Requested by annotation, it is a fault of the Workload.
    UnknownProfile {
        /// The profile.
        profile: String,
        /// Source: the Workload or a policy.
        because: ProfileReason,
        /// Existing profiles.
        known: Vec<String>,
    },
    /// Policies do not allow the profile.
    ProfileNotAllowed {
        /// The profile.
        profile: String,
        /// Reason for the profile.
        because: ProfileReason,
        /// Profiles that are allowed and exist.
        allowed: Vec<String>,
    },
    /// No backend of the profile accepts the Workload.
    NoCandidate {
        /// The profile.
        profile: String,
        /// Its backends with their objections.
        backends: Vec<Considered>,
    },
    /// The requested backend does not exist.
    UnknownTarget {
        /// Requested backend.
        target: String,
        /// The profile.
        profile: String,
        /// Backends of the profile.
        known: Vec<String>,
        /// Other profiles that the backend serves.
        other_profiles: Vec<String>,
    },
    /// The requested backend does not accept the Workload.
    TargetUnfit(Considered),
    /// The Workload would move away from its data.
    DataStays {
        /// Current placement.
        from: Placement,
        /// New placement.
        to: Placement,
        /// Dependencies with the data.
        keys: Vec<String>,
    },
}

impl Refusal {
    /// A profile that does not exist.
    pub(super) fn unknown_profile(config: &Config, profile: &str, because: ProfileReason) -> Self {
        let known = config.profiles().keys().cloned().collect();
        Self::UnknownProfile { profile: profile.to_owned(), because, known }
    }

    /// A profile that policies do not allow.
    pub(super) fn not_allowed(
        config: &Config,
        profile: &str,
        because: ProfileReason,
        allowed: &BTreeSet<String>,
    ) -> Self {
        let allowed = allowed.iter().filter(|name| config.profiles().contains_key(*name)).cloned().collect();
        Self::ProfileNotAllowed { profile: profile.to_owned(), because, allowed }
    }

    /// Neutral sentence with the remedy.
    pub fn message(&self) -> String {
        match self {
            Self::UnknownProfile { profile, because, known } => {
                let names: Vec<&str> = known.iter().map(String::as_str).collect();
                let remedy = name_rules::did_you_mean(profile, names.iter().copied())
                    .unwrap_or_else(|| format!("use {}", name_rules::alternatives(&names)));
                match because {
                    ProfileReason::Policy(policy) => format!(
                        "policy {policy} sets the unknown profile {profile:?}; name one in the annotation {}, or correct the policy; available profiles: {}",
                        annotation::PROFILE,
                        name_rules::all(&names)
                    ),
                    _ => format!("unknown profile {profile:?}; {remedy}"),
                }
            }
            Self::ProfileNotAllowed { profile, because, allowed } => {
                let names: Vec<&str> = allowed.iter().map(String::as_str).collect();
                let remedy = match &names[..] {
                    [] => "no profile is allowed: change the policy".to_owned(),
                    names => format!(
                        "set the annotation {} to {}",
                        annotation::PROFILE,
                        name_rules::alternatives(names)
                    ),
                };
                format!("the profile {profile:?} ({because}) is not allowed here by policy; {remedy}")
            }
            Self::NoCandidate { profile, backends } => {
                let reasons: Vec<String> = backends.iter().map(why_dropped).collect();
                format!(
                    "no backend of the profile {profile:?} matches: {}; change the requirements of the workload, or add a matching backend to the orchestrator config",
                    reasons.join("; ")
                )
            }
            Self::UnknownTarget { target, profile, known, other_profiles } => {
                let names: Vec<&str> = known.iter().map(String::as_str).collect();
                let remedy = name_rules::did_you_mean(target, names.iter().copied())
                    .unwrap_or_else(|| format!("use {}, or `best`", name_rules::alternatives(&names)));
                let served: Vec<&str> = other_profiles.iter().map(String::as_str).collect();
                match &served[..] {
                    [] => format!(
                        "the annotation {} names {target:?}, which does not exist; {remedy}",
                        annotation::MOVE
                    ),
                    served => format!(
                        "the annotation {} names {target:?}, which serves {} and not the profile {profile:?}; {remedy}",
                        annotation::MOVE,
                        name_rules::all(served)
                    ),
                }
            }
            Self::TargetUnfit(target) => format!(
                "the workload cannot move to {}; change the requirements of the workload, or the annotation {}",
                why_dropped(target),
                annotation::MOVE
            ),
            Self::DataStays { from, to, keys } => {
                let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
                format!(
                    "the workload would move from {:?} to {:?}, and the data of {} would stay behind; undo the change, or set the annotation {} to \"true\" to give the data up",
                    from.backend_id,
                    to.backend_id,
                    name_rules::all(&keys),
                    annotation::ABANDON_DATA
                )
            }
        }
    }
}

fn why_dropped(backend: &Considered) -> String {
    let reasons: Vec<String> = backend.dropped.iter().map(ToString::to_string).collect();
    format!("{:?} ({})", backend.placement.backend_id, reasons.join("; "))
}
