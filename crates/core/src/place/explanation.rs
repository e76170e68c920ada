//! How a place was found, for people and for tools.

use std::fmt;

use orchestra_api::reference::Placement;
use serde::Serialize;

use super::admission::Objection;

/// How a place was found, or why there is none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// The profile, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<ProfileChoice>,
    /// Every backend of the profile, the preferred first.
    pub backends: Vec<Considered>,
    /// What came of it.
    pub conclusion: Conclusion,
}

/// The profile, and why it is this one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProfileChoice {
    /// Its name.
    pub name: String,
    /// Why it is this one.
    pub because: ProfileReason,
}

/// Why a profile was taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ProfileReason {
    /// The Workload asks for it.
    Annotation,
    /// A policy has it as default.
    Policy(String),
    /// A selector of the platform's document has it: the first is 1.
    Selector(usize),
    /// The platform's document has it as default.
    Default,
    /// It is so where nobody says otherwise.
    BuiltIn,
    /// The Workload was placed under it.
    Placed,
}

/// A backend that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Considered {
    /// Where it is.
    #[serde(flatten)]
    pub placement: Placement,
    /// Its priority.
    pub priority: i64,
    /// Its version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Why it does not take the Workload; nothing if it does.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<Objection>,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Conclusion {
    /// A place was chosen.
    Chosen {
        /// The place.
        placement: Placement,
        /// What decided.
        because: ChoiceReason,
    },
    /// The Workload stays where it is, though another place may now be preferred.
    Stays(Placement),
    /// The Workload is kept where it is, though the platform no longer offers the place.
    Kept {
        /// The place.
        placement: Placement,
        /// Why it is no longer offered.
        because: String,
    },
    /// There is no place.
    Refused(String),
}

/// What decided between places.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ChoiceReason {
    /// No other takes the Workload.
    OnlyOne,
    /// It has the highest priority.
    Priority,
    /// Of the highest priority, it is the newest.
    Version,
    /// Of equals, it is the first by name.
    Name,
    /// The Workload asks to go there.
    Asked,
}

impl fmt::Display for ProfileReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Annotation => {
                write!(f, "the workload asks for it ({})", orchestra_api::annotation::PROFILE)
            }
            Self::Policy(name) => write!(f, "default of policy {name}"),
            Self::Selector(number) => {
                write!(f, "selector {number} of the platform's document matches the labels")
            }
            Self::Default => f.write_str("default of the platform's document"),
            Self::BuiltIn => f.write_str("built-in default"),
            Self::Placed => f.write_str("the workload was placed under it"),
        }
    }
}

impl fmt::Display for ChoiceReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OnlyOne => "no other takes the workload",
            Self::Priority => "highest priority",
            Self::Version => "newest version of the highest priority",
            Self::Name => "first by name of equals",
            Self::Asked => "the workload asks to go there",
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
            return f.write_str("takes the workload");
        }
        let reasons: Vec<String> = self.dropped.iter().map(ToString::to_string).collect();
        write!(f, "dropped: {}", reasons.join("; "))
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(profile) = &self.profile {
            writeln!(f, "profile {}: {}", profile.name, profile.because)?;
        }
        for backend in &self.backends {
            writeln!(f, "backend {backend}")?;
        }
        match &self.conclusion {
            Conclusion::Chosen { placement, because } => {
                write!(f, "runs on {}: {because}", placement.backend_id)
            }
            Conclusion::Stays(placement) => write!(f, "stays on {}, where it is", placement.backend_id),
            Conclusion::Kept { placement, because } => {
                write!(f, "is kept on {}, where it is: {because}", placement.backend_id)
            }
            Conclusion::Refused(message) => write!(f, "no place: {message}"),
        }
    }
}
