//! Explanation of a placement, as text and JSON.

use std::fmt;

use orchestra_api::reference::Placement;
use serde::{Deserialize, Serialize};

use super::admission::Objection;

/// Explanation of a placement, or of the lack of one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// Profile, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<ProfileChoice>,
    /// All backends of the profile, in order of preference.
    pub backends: Vec<Considered>,
    /// Result.
    pub conclusion: Conclusion,
}

/// Profile and the reason for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProfileChoice {
    /// Name.
    pub name: String,
    /// Reason.
    pub because: ProfileReason,
}

/// Reason for a profile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ProfileReason {
    /// Annotation of the Workload.
    Annotation,
    /// Default of this policy.
    Policy(String),
    /// Selector of the orchestrator config, counted from 1.
    Selector(usize),
    /// Default of the orchestrator config.
    Default,
    /// Built-in default.
    BuiltIn,
    /// Profile of the current placement.
    Placed,
}

/// Backend that was considered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Considered {
    /// Backend id and runtime class.
    #[serde(flatten)]
    pub placement: Placement,
    /// Priority.
    pub priority: i64,
    /// Version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Objections; empty if it accepts the Workload.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<Objection>,
}

/// Result of a placement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Conclusion {
    /// A backend was chosen.
    Chosen {
        /// Placement.
        placement: Placement,
        /// Reason.
        because: ChoiceReason,
    },
    /// The Workload stays, although another backend may be preferred now.
    Stays(Placement),
    /// The Workload stays, although its backend would no longer accept it.
    Kept {
        /// Placement.
        placement: Placement,
        /// Reason why the backend would no longer accept it.
        because: String,
    },
    /// No backend accepts it.
    Refused(String),
}

/// Reason for a backend.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ChoiceReason {
    /// Only this one accepts the Workload.
    OnlyOne,
    /// Highest priority.
    Priority,
    /// Newest version of the highest priority.
    Version,
    /// First by name among equals.
    Name,
    /// Requested by the Workload.
    #[serde(rename = "asked")]
    Requested,
}

impl fmt::Display for ProfileReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Annotation => {
                write!(f, "requested by the annotation {}", orchestra_api::annotation::PROFILE)
            }
            Self::Policy(name) => write!(f, "default of policy {name}"),
            Self::Selector(number) => {
                write!(f, "selector {number} of the orchestrator config matches the labels")
            }
            Self::Default => f.write_str("default of the orchestrator config"),
            Self::BuiltIn => f.write_str("built-in default"),
            Self::Placed => f.write_str("profile of the current placement"),
        }
    }
}

impl fmt::Display for ChoiceReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OnlyOne => "the only backend that accepts the workload",
            Self::Priority => "highest priority",
            Self::Version => "newest version of the highest priority",
            Self::Name => "first by name among equals",
            Self::Requested => "requested by the workload",
        })
    }
}

impl fmt::Display for Considered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Placement { backend_id, runtime_class } = &self.placement;
        write!(f, "{backend_id} ({runtime_class}, priority {}", self.priority)?;
        if let Some(version) = &self.version {
            write!(f, ", version {version}")?;
        }
        f.write_str("): ")?;
        if self.dropped.is_empty() {
            return f.write_str("accepts the workload");
        }
        let reasons: Vec<String> = self.dropped.iter().map(ToString::to_string).collect();
        write!(f, "rejected: {}", reasons.join("; "))
    }
}

impl Explanation {
    /// Profile and backends, one per line.
    pub fn considered(&self) -> impl Iterator<Item = String> {
        let profile =
            self.profile.iter().map(|profile| format!("profile {}: {}", profile.name, profile.because));
        profile.chain(self.backends.iter().map(|backend| format!("backend {backend}")))
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in self.considered() {
            writeln!(f, "{line}")?;
        }
        self.conclusion.fmt(f)
    }
}

impl fmt::Display for Conclusion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Chosen { placement, because } => {
                write!(f, "runs on {}: {because}", placement.backend_id)
            }
            Self::Stays(placement) => write!(f, "stays on {}", placement.backend_id),
            Self::Kept { placement, because } => {
                write!(f, "stays on {} for now: {because}", placement.backend_id)
            }
            Self::Refused(message) => write!(f, "no placement: {message}"),
        }
    }
}
