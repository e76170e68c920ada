//! Placement of a Workload: its profile, then the backend.
//!
//! A Workload stays on its backend while that accepts it, even if the orchestrator config now prefers another. If the config
//! no longer offers the backend, the Workload stays until it changes itself. So no edit of the config moves what runs. Data
//! never moves: a Workload leaves it behind only if its author says so in an annotation.

mod admission;
mod explanation;
#[cfg(test)]
mod properties;
mod refusal;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use orchestra_api::{plan::Kind, reference::Placement};
use orchestra_score::quantity::Quantity;
use serde_json::{Map, Value as Json};

use crate::config::{Backend, Config, DefaultProfile, Profile};

pub use admission::{Constraint, Objection};
pub use explanation::{ChoiceReason, Conclusion, Considered, Explanation, ProfileChoice, ProfileReason};
pub use refusal::Refusal;

/// Requirements of a Workload on its placement.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Labels of the Workload.
    pub labels: &'a BTreeMap<String, String>,
    /// Requested profile.
    pub profile: Option<&'a str>,
    /// Default profile of a policy, and the name of the policy.
    pub policy_profile: Option<(&'a str, &'a str)>,
    /// Profiles that policies allow; all if absent.
    pub allowed_profiles: Option<&'a BTreeSet<String>>,
    /// Required features.
    pub requirements: &'a BTreeSet<String>,
    /// Required region.
    pub region: Option<&'a str>,
    /// Requested CPU of all containers.
    pub cpu: Quantity,
    /// Requested memory of all containers.
    pub memory: Quantity,
    /// Requested move.
    pub move_to: Option<Move<'a>>,
    /// True if it may leave its data behind.
    pub abandon_data: bool,
    /// Current placement.
    pub current: Option<Current<'a>>,
}

/// Requested move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move<'a> {
    /// To the preferred backend.
    Best,
    /// To this backend.
    Backend(&'a str),
}

/// Current placement of a Workload.
#[derive(Clone, Copy, Debug)]
pub struct Current<'a> {
    /// Placement.
    pub placement: &'a Placement,
    /// Its profile; absent if there is no plan yet.
    pub profile: Option<&'a str>,
    /// Features required at that time.
    pub requirements: &'a [String],
    /// True if spec, labels and region have not changed since.
    pub unchanged: bool,
    /// Dependencies whose data does not move.
    pub data: &'a [String],
}

/// Placement or refusal, with an explanation.
#[derive(Clone, Debug, PartialEq)]
pub struct PlacementOutcome {
    /// Placement or refusal.
    pub result: Result<Placed, Refusal>,
    /// Explanation.
    pub explanation: Explanation,
}

/// Placement of a Workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Placed {
    /// Profile.
    pub profile: String,
    /// Placement.
    pub placement: Placement,
    /// Source of kind and values.
    pub terms: Terms,
}

/// Source of the kind and the values of a plan.
#[derive(Clone, Debug, PartialEq)]
pub enum Terms {
    /// The orchestrator config.
    Configured {
        /// Service or job.
        kind: Kind,
        /// Settings of the backend.
        values: Map<String, Json>,
    },
    /// The current plan: the backend would no longer accept the Workload, which stays there.
    AsPlanned {
        /// Reason why the backend would no longer accept it.
        because: String,
    },
}

/// Places a Workload.
pub fn place(config: &Config, request: &Request<'_>) -> PlacementOutcome {
    let mut search = Search { config, request, profile: None, backends: Vec::new() };
    let result = search.find();
    let conclusion = match &result {
        Ok((_, conclusion)) => conclusion.clone(),
        Err(refusal) => Conclusion::Refused(refusal.message()),
    };
    let explanation = Explanation { profile: search.profile, backends: search.backends, conclusion };
    PlacementOutcome { result: result.map(|(placed, _)| placed), explanation }
}

/// Search for a backend, with what it has considered so far.
struct Search<'a> {
    config: &'a Config,
    request: &'a Request<'a>,
    profile: Option<ProfileChoice>,
    backends: Vec<Considered>,
}

type Found = Result<(Placed, Conclusion), Refusal>;

impl<'a> Search<'a> {
    fn find(&mut self) -> Found {
        let current = self.request.current;
        match (current, self.request.move_to) {
            (None, None) | (_, Some(Move::Best)) => self.choose(),
            (Some(current), None) => self.stay(current),
            // A move to the current backend is no move.
            (Some(current), Some(Move::Backend(id))) if self.is_there(current, id) => self.stay(current),
            (_, Some(Move::Backend(id))) => self.go_to(id),
        }
    }

    /// True if a backend is the current one; the same id in another runtime class is not.
    fn is_there(&self, current: Current<'_>, id: &str) -> bool {
        let backends = self.config.profiles().values().flat_map(|profile| &profile.backends);
        let mut offered = backends.filter(|backend| backend.placement.backend_id == id).peekable();
        current.placement.backend_id == id
            && (offered.peek().is_none() || offered.any(|backend| backend.placement == *current.placement))
    }

    /// Keeps the placement if possible.
    fn stay(&mut self, current: Current<'_>) -> Found {
        let wanted = self.request.profile.or(current.profile);
        let profile = match wanted {
            Some(name) => {
                let because = if self.request.profile.is_some() {
                    ProfileReason::Annotation
                } else {
                    ProfileReason::Placed
                };
                self.take_profile(name, because)?
            }
            None => Some(self.choose_profile()?),
        };
        let offered = profile.and_then(|profile| {
            profile.backends.iter().find(|backend| backend.placement == *current.placement)
        });
        let dropped = |backend: &Backend| admission::objections(backend, self.request);
        let because = match (profile, offered) {
            (Some(profile), Some(backend)) if dropped(backend).is_empty() => {
                return Ok((configured(profile, backend), Conclusion::Stays(backend.placement.clone())));
            }
            (Some(_), Some(backend)) => {
                let reasons: Vec<String> = dropped(backend).iter().map(ToString::to_string).collect();
                reasons.join("; ")
            }
            (Some(profile), None) => format!("the profile {:?} no longer offers it", profile.name),
            (None, _) => format!("the profile {:?} no longer exists", wanted.unwrap_or_default()),
        };
        match current.profile.filter(|_| self.is_unchanged(current)) {
            Some(profile) => {
                let placement = current.placement.clone();
                let placed = Placed {
                    profile: profile.to_owned(),
                    placement: placement.clone(),
                    terms: Terms::AsPlanned { because: because.clone() },
                };
                Ok((placed, Conclusion::Kept { placement, because }))
            }
            None => match self.request.move_to {
                // The Workload requests this backend, so no other will do.
                Some(Move::Backend(id)) => self.go_to(id),
                _ => self.choose(),
            },
        }
    }

    /// True if the requirements are those of the current placement, so only the platform has changed.
    fn is_unchanged(&self, current: Current<'_>) -> bool {
        let then: BTreeSet<&String> = current.requirements.iter().collect();
        current.unchanged
            && self.request.profile.is_none_or(|profile| current.profile == Some(profile))
            && self.request.requirements.iter().collect::<BTreeSet<_>>() == then
    }

    /// Chooses the preferred backend.
    fn choose(&mut self) -> Found {
        let profile = self.choose_profile()?;
        let fitting: Vec<&Backend> = profile
            .backends
            .iter()
            .filter(|backend| admission::objections(backend, self.request).is_empty())
            .collect();
        let Some(best) = fitting.first() else {
            let backends = self.backends.clone();
            return Err(Refusal::NoCandidate { profile: profile.name.clone(), backends });
        };
        let because = match fitting.get(1) {
            None => ChoiceReason::OnlyOne,
            Some(next) if next.priority < best.priority => ChoiceReason::Priority,
            Some(next) if best.by_version(next).is_ne() => ChoiceReason::Version,
            Some(_) => ChoiceReason::Name,
        };
        self.go(profile, best, because)
    }

    /// Moves to the requested backend. The profile stays, since only a move is requested.
    fn go_to(&mut self, id: &str) -> Found {
        let placed_under = self.request.current.and_then(|current| current.profile);
        let placed_under = placed_under.filter(|name| self.config.profiles().contains_key(*name));
        let profile = match placed_under.filter(|_| self.request.profile.is_none()) {
            Some(name) => self.take_existing(name, ProfileReason::Placed)?,
            None => self.choose_profile()?,
        };
        let Some(backend) = profile.backends.iter().find(|backend| backend.placement.backend_id == id) else {
            let serves = |profile: &&Profile| profile.backends.iter().any(|b| b.placement.backend_id == id);
            let ids: BTreeSet<_> = profile.backends.iter().map(|b| b.placement.backend_id.clone()).collect();
            return Err(Refusal::UnknownTarget {
                target: id.to_owned(),
                profile: profile.name.clone(),
                known: ids.into_iter().collect(),
                other_profiles: self
                    .config
                    .profiles()
                    .values()
                    .filter(serves)
                    .map(|p| p.name.clone())
                    .collect(),
            });
        };
        let considered = consider(backend, self.request);
        if !considered.dropped.is_empty() {
            return Err(Refusal::TargetUnfit(considered));
        }
        self.go(profile, backend, ChoiceReason::Requested)
    }

    /// Moves to a backend, unless data would stay behind.
    fn go(&self, profile: &Profile, backend: &Backend, because: ChoiceReason) -> Found {
        let placement = backend.placement.clone();
        if let Some(current) = self.request.current
            && *current.placement != placement
            && !current.data.is_empty()
            && !self.request.abandon_data
        {
            let keys: BTreeSet<_> = current.data.iter().cloned().collect();
            return Err(Refusal::DataStays {
                from: current.placement.clone(),
                to: placement,
                keys: keys.into_iter().collect(),
            });
        }
        Ok((configured(profile, backend), Conclusion::Chosen { placement, because }))
    }

    /// Profile of a new placement: by annotation, policy, labels or default.
    fn choose_profile(&mut self) -> Result<&'a Profile, Refusal> {
        let selectors = self.config.selectors().iter().enumerate();
        let mut matching = selectors.filter(|(_, entry)| entry.selector.matches(self.request.labels));
        let (name, because) = if let Some(name) = self.request.profile {
            (name, ProfileReason::Annotation)
        } else if let Some((name, policy)) = self.request.policy_profile {
            (name, ProfileReason::Policy(policy.to_owned()))
        } else if let Some((index, entry)) = matching.next() {
            (entry.profile.as_str(), ProfileReason::Selector(index + 1))
        } else {
            match self.config.default_profile() {
                DefaultProfile::Configured(name) => (name.as_str(), ProfileReason::Default),
                DefaultProfile::BuiltIn(name) => (name.as_str(), ProfileReason::BuiltIn),
            }
        };
        self.take_existing(name, because)
    }

    /// Selects a profile if policies allow it, and considers all of its backends. `None` if it does not exist.
    fn take_profile(&mut self, name: &str, because: ProfileReason) -> Result<Option<&'a Profile>, Refusal> {
        let profile = self.config.profiles().get(name);
        let backends = profile.into_iter().flat_map(|profile| &profile.backends);
        self.backends = backends.map(|backend| consider(backend, self.request)).collect();
        self.profile = Some(ProfileChoice { name: name.to_owned(), because: because.clone() });
        match self.request.allowed_profiles.filter(|allowed| !allowed.contains(name)) {
            Some(allowed) if profile.is_some() => {
                Err(Refusal::not_allowed(self.config, name, because, allowed))
            }
            _ => Ok(profile),
        }
    }

    /// Selects a profile that must exist.
    fn take_existing(&mut self, name: &str, because: ProfileReason) -> Result<&'a Profile, Refusal> {
        let profile = self.take_profile(name, because.clone())?;
        profile.ok_or_else(|| Refusal::unknown_profile(self.config, name, because))
    }
}

fn configured(profile: &Profile, backend: &Backend) -> Placed {
    Placed {
        profile: profile.name.clone(),
        placement: backend.placement.clone(),
        terms: Terms::Configured { kind: profile.kind.into(), values: backend.values.clone() },
    }
}

fn consider(backend: &Backend, request: &Request<'_>) -> Considered {
    Considered {
        placement: backend.placement.clone(),
        priority: backend.priority,
        version: backend.version.as_ref().map(ToString::to_string),
        dropped: admission::objections(backend, request),
    }
}
