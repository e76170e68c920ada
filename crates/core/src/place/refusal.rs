//! Why a Workload cannot be placed, in words for its author.

use std::collections::BTreeSet;

use orchestra_api::{annotation, reference::Placement};

use super::explanation::{Considered, ProfileReason};
use crate::config::{Config, words};

/// Why a Workload cannot be placed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The profile does not exist. Asked for by annotation, it is a fault of the Workload.
    UnknownProfile {
        /// The profile.
        profile: String,
        /// Who asks for it: the Workload or a policy.
        because: ProfileReason,
        /// The profiles there are.
        known: Vec<String>,
    },
    /// Policies do not allow the profile.
    ProfileNotAllowed {
        /// The profile.
        profile: String,
        /// Why it would be this one.
        because: ProfileReason,
        /// The profiles that are allowed and exist.
        allowed: Vec<String>,
    },
    /// No backend of the profile takes the Workload.
    NoCandidate {
        /// The profile.
        profile: String,
        /// Its backends, and why each does not take it.
        backends: Vec<Considered>,
    },
    /// The Workload asks to go where the platform has no backend.
    UnknownTarget {
        /// The backend asked for.
        target: String,
        /// The profile.
        profile: String,
        /// The backends of the profile.
        known: Vec<String>,
        /// Whether the backend serves other profiles.
        elsewhere: Vec<String>,
    },
    /// The Workload asks to go to a backend that does not take it.
    TargetUnfit(Considered),
    /// The Workload would move away from its data.
    DataStays {
        /// Where it is.
        from: Placement,
        /// Where it would go.
        to: Placement,
        /// The dependencies that hold the data.
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

    /// What is wrong and what to do, in one neutral sentence.
    pub fn message(&self) -> String {
        match self {
            Self::UnknownProfile { profile, because, known } => {
                let names: Vec<&str> = known.iter().map(String::as_str).collect();
                let remedy = words::did_you_mean(profile, names.iter().copied())
                    .unwrap_or_else(|| format!("use {}", words::alternatives(&names)));
                match because {
                    ProfileReason::Policy(policy) => format!(
                        "policy {policy} gives the profile {profile:?}, which does not exist; name one in the annotation {}, or ask the platform team to mend the policy; there is {}",
                        annotation::PROFILE,
                        words::all(&names)
                    ),
                    _ => format!("there is no profile {profile:?}; {remedy}"),
                }
            }
            Self::ProfileNotAllowed { profile, because, allowed } => {
                let names: Vec<&str> = allowed.iter().map(String::as_str).collect();
                let remedy = match &names[..] {
                    [] => "ask the platform team which profile to use".to_owned(),
                    names => format!(
                        "set the annotation {} to {}",
                        annotation::PROFILE,
                        words::alternatives(names)
                    ),
                };
                format!("the profile {profile:?} ({because}) is not allowed here by policy; {remedy}")
            }
            Self::NoCandidate { profile, backends } => {
                let reasons: Vec<String> = backends.iter().map(why_dropped).collect();
                format!(
                    "nowhere to run in the profile {profile:?}: {}; change what the workload asks for, or ask the platform team for a place that offers it",
                    reasons.join("; ")
                )
            }
            Self::UnknownTarget { target, profile, known, elsewhere } => {
                let names: Vec<&str> = known.iter().map(String::as_str).collect();
                let remedy = words::did_you_mean(target, names.iter().copied())
                    .unwrap_or_else(|| format!("use {}, or `best`", words::alternatives(&names)));
                let served: Vec<&str> = elsewhere.iter().map(String::as_str).collect();
                match &served[..] {
                    [] => format!(
                        "the annotation {} names {target:?}, which does not exist; {remedy}",
                        annotation::MOVE
                    ),
                    served => format!(
                        "the annotation {} names {target:?}, which serves {} and not the profile {profile:?}; {remedy}",
                        annotation::MOVE,
                        words::all(served)
                    ),
                }
            }
            Self::TargetUnfit(target) => format!(
                "the workload cannot move to {}; change what the workload asks for, or the annotation {}",
                why_dropped(target),
                annotation::MOVE
            ),
            Self::DataStays { from, to, keys } => {
                let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
                format!(
                    "the workload would move from {:?} to {:?}, and the data of {} would stay behind; undo the change, or set the annotation {} to \"true\" to give the data up",
                    from.backend_id,
                    to.backend_id,
                    words::all(&keys),
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
