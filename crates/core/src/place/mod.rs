//! Where a Workload runs: its profile, then the backend.
//!
//! A place is kept while it takes the Workload, whatever else the platform's document now prefers; and where the
//! document no longer offers it, the Workload is kept there until it changes itself. So no edit of the document
//! moves what runs. Data never moves: a Workload leaves it behind only if its author says so.

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

/// What is asked of a place.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The labels of the Workload.
    pub labels: &'a BTreeMap<String, String>,
    /// The profile that it asks for.
    pub profile: Option<&'a str>,
    /// The profile that a policy has as default, and the name of the policy.
    pub policy_profile: Option<(&'a str, &'a str)>,
    /// The profiles that policies allow; all if absent.
    pub allowed_profiles: Option<&'a BTreeSet<String>>,
    /// The features that it asks for.
    pub requirements: &'a BTreeSet<String>,
    /// The region that it asks for.
    pub region: Option<&'a str>,
    /// The processor time that all its containers ask for.
    pub cpu: Quantity,
    /// The memory that all its containers ask for.
    pub memory: Quantity,
    /// Where it asks to go.
    pub move_to: Option<Move<'a>>,
    /// Whether it may leave its data behind.
    pub abandon_data: bool,
    /// Where it is now.
    pub current: Option<Current<'a>>,
}

/// Where a Workload asks to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move<'a> {
    /// To the best place there is.
    Best,
    /// To this backend.
    Backend(&'a str),
}

/// Where a Workload runs, or is meant to run.
#[derive(Clone, Copy, Debug)]
pub struct Current<'a> {
    /// The place.
    pub placement: &'a Placement,
    /// The profile under which it was placed there; absent if there is no plan yet.
    pub profile: Option<&'a str>,
    /// The features that were asked for then.
    pub requirements: &'a [String],
    /// Whether everything else that counts here (its spec, labels and region) is as it was then.
    pub unchanged: bool,
    /// The dependencies whose data does not move.
    pub data: &'a [String],
}

/// A place or the lack of one, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The place.
    pub result: Result<Placed, Refusal>,
    /// Why.
    pub explanation: Explanation,
}

/// A place for a Workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Placed {
    /// The profile.
    pub profile: String,
    /// The place.
    pub placement: Placement,
    /// On which terms it runs there.
    pub terms: Terms,
}

/// On which terms a Workload runs in a place.
#[derive(Clone, Debug, PartialEq)]
pub enum Terms {
    /// Those of the platform's document.
    Configured {
        /// Whether it runs on, or to an end.
        kind: Kind,
        /// Settings of the backend.
        values: Map<String, Json>,
    },
    /// Those of its present plan: the platform no longer offers the place, and the Workload is kept there.
    AsPlanned {
        /// Why the place is no longer offered.
        because: String,
    },
}

/// Finds the place of a Workload.
pub fn place(config: &Config, request: &Request<'_>) -> Outcome {
    let mut finding = Finding { config, request, profile: None, backends: Vec::new() };
    let result = finding.find();
    let conclusion = match &result {
        Ok((_, conclusion)) => conclusion.clone(),
        Err(refusal) => Conclusion::Refused(refusal.message()),
    };
    let explanation = Explanation { profile: finding.profile, backends: finding.backends, conclusion };
    Outcome { result: result.map(|(placed, _)| placed), explanation }
}

/// The search for a place, with what it has looked at so far.
struct Finding<'a> {
    config: &'a Config,
    request: &'a Request<'a>,
    profile: Option<ProfileChoice>,
    backends: Vec<Considered>,
}

type Found = Result<(Placed, Conclusion), Refusal>;

impl<'a> Finding<'a> {
    fn find(&mut self) -> Found {
        let current = self.request.current;
        match (current, self.request.move_to) {
            (None, None) | (_, Some(Move::Best)) => self.choose(),
            (Some(current), None) => self.stay(current),
            // Whoever is there already need not go there.
            (Some(current), Some(Move::Backend(id))) if self.is_there(current, id) => self.stay(current),
            (_, Some(Move::Backend(id))) => self.go_to(id),
        }
    }

    /// Whether a backend is the place where the Workload is; one that is offered in another runtime is not.
    fn is_there(&self, current: Current<'_>, id: &str) -> bool {
        let backends = self.config.profiles().values().flat_map(|profile| &profile.backends);
        let mut offered = backends.filter(|backend| backend.placement.backend_id == id).peekable();
        current.placement.backend_id == id
            && (offered.peek().is_none() || offered.any(|backend| backend.placement == *current.placement))
    }

    /// Keeps the place if it can be kept.
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
            (None, _) => format!("there is no profile {:?} any more", wanted.unwrap_or_default()),
        };
        match current.profile.filter(|_| self.asks_the_same(current)) {
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
                // Whoever asks for this place does not want another.
                Some(Move::Backend(id)) => self.go_to(id),
                _ => self.choose(),
            },
        }
    }

    /// Whether the Workload asks for what it asked for when it was placed, so that only the platform has changed.
    fn asks_the_same(&self, current: Current<'_>) -> bool {
        let then: BTreeSet<&String> = current.requirements.iter().collect();
        current.unchanged
            && self.request.profile.is_none_or(|profile| current.profile == Some(profile))
            && self.request.requirements.iter().collect::<BTreeSet<_>>() == then
    }

    /// Takes the best of all places.
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

    /// Takes the place that the Workload asks for. It keeps its profile, since it asks for another place only.
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
                elsewhere: self.config.profiles().values().filter(serves).map(|p| p.name.clone()).collect(),
            });
        };
        let considered = consider(backend, self.request);
        if !considered.dropped.is_empty() {
            return Err(Refusal::TargetUnfit(considered));
        }
        self.go(profile, backend, ChoiceReason::Asked)
    }

    /// Goes to a place, unless data would stay behind.
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

    /// The profile of a Workload that is placed anew: its own wish, a policy, the labels, the default.
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

    /// Takes a profile if policies allow it, and looks at all of its backends; nothing if it does not exist.
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

    /// Takes a profile that must exist.
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
