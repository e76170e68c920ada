//! The one decision path: what is to be done about a Workload, from everything that is known.
//!
//! The controller carries the answer out; `orchestra plan`, `explain` and the server only show it.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use orchestra_api::{
    Placement, ResourceClaim, WorkloadExposure, WorkloadPlan, annotation,
    condition::{Finding, Reason},
    exposure::WorkloadExposureSpec,
    finalizer, label,
    plan::{Kind, Phase, SUSPENDED, WorkloadPlanSpec},
};
use orchestra_score::{
    Node, Pointer,
    model::{self, Resource},
};
use serde_json::{Map, Value as Json};

use crate::{
    claims::{self, Claims, metadata_differs},
    decision::{Decision, DoomedKind, Finalizer},
    explain::{Explanation, Mistake},
    inputs::{Held, Inputs, Live},
    lint,
    outputs::{Gap, Outputs, is_provided},
    place::{Placed, ProfileReason, Refusal, Terms},
    policy::{self, Effective, Subject, Violation},
    project::Projection,
    render, request, revision,
    sentence::sentence,
    status::{Basis, Line, Runtime},
    teardown::{doom, tear_down, unique_keys},
    validate,
};

/// Decides what is to be done about a Workload.
pub fn plan(inputs: &Inputs) -> Decision {
    if inputs.workload.metadata.deletion_timestamp.is_some() {
        return tear_down(inputs);
    }
    let mut steps = Steps { inputs, live: inputs.live(), explanation: Explanation::default() };
    let (Ok(decision) | Err(decision)) = steps.decide();
    let mut decision = *decision;
    steps.heed_suspension(&mut decision);
    decision
}

/// The policies that select a Workload, by name, and whether it violates them. It is looked at as [`plan`] looks at
/// it, only policy by policy. None judges what is invalid or on its way out.
pub fn judge(inputs: &Inputs) -> BTreeMap<String, bool> {
    let valid = validate::validate(&inputs.workload).ok();
    let Some(document) = valid.filter(|_| inputs.workload.metadata.deletion_timestamp.is_none()) else {
        return BTreeMap::new();
    };
    let live = inputs.live();
    let classes = claims::existing_classes(&live, document.resources.as_ref().unwrap_or(&BTreeMap::new()));
    let subject = subject(inputs, &document, &classes);
    let effective = policy::apply(&inputs.policies, &subject).effective;
    let forbids = |allowed: &BTreeSet<String>| {
        request::forbid_profile(inputs, &live, &document, &effective, allowed).is_some()
    };
    let verdicts = policy::judge(&inputs.policies, &subject).into_iter();
    verdicts
        .map(|verdict| {
            let is_violated =
                !verdict.violations.is_empty() || verdict.profiles.as_ref().is_some_and(forbids);
            (verdict.policy, is_violated)
        })
        .collect()
}

/// The Workload as policies look at it.
fn subject<'a>(
    inputs: &'a Inputs,
    document: &'a model::Workload,
    classes: &'a BTreeMap<String, String>,
) -> Subject<'a> {
    static NO_LABELS: BTreeMap<String, String> = BTreeMap::new();
    Subject {
        namespace: inputs.namespace_name(),
        namespace_labels: &inputs.namespace.labels,
        labels: inputs.workload.metadata.labels.as_ref().unwrap_or(&NO_LABELS),
        document,
        classes,
    }
}

/// The steps so far. Each either leads to the next or ends in a decision: the error of a step is one.
struct Steps<'a> {
    inputs: &'a Inputs,
    live: Live<'a>,
    explanation: Explanation,
}

type Step<T> = Result<T, Box<Decision>>;

impl Steps<'_> {
    fn decide(&mut self) -> Step<Box<Decision>> {
        let document = self.validate()?;
        let resources = document.resources.clone().unwrap_or_default();
        let effective = self.apply_policy(&document, &resources)?;
        let names = claims::names(&document.metadata.name, &resources, &effective);
        if self.inputs.namespace.terminating {
            let finding = Finding::bad(
                Reason::RuntimeProvisioning,
                "The namespace is being deleted: nothing new is made in it.",
            );
            return Err(self.held_up(&names, finding));
        }
        let requirements = request::requirements(&effective.annotations);
        let placed = self.place(&document, &effective, &requirements, &names)?;

        let (kind, values) = self.terms(&placed);
        let (claims, outputs) = self.claim(&resources, &effective, &placed.placement, &names);
        let planned = Projection {
            workload: self.inputs.workload_ref(),
            namespace: self.inputs.namespace_name(),
            generation: self.inputs.generation(),
            document: &document,
            labels: self.inputs.workload.metadata.labels.as_ref().unwrap_or(&BTreeMap::new()),
            effective: &effective,
            placed: &placed,
            requirements: &requirements,
            kind,
            values,
            claims: &names,
            outputs: &outputs,
        }
        .project();

        let lines = names.iter().map(|(key, name)| Line {
            key: key.clone(),
            claim: name.clone(),
            blocked: claims.wanted.get(key).and_then(|wanted| wanted.blocked.clone()),
            wanted: true,
        });
        let mut decision = self.decision(lines.collect());
        decision.finalizer = self.finalizer();
        let mut missing: Vec<Gap> = Vec::new();
        for wanted in claims.wanted.into_values() {
            decision.claims.extend(wanted.write);
            missing.extend(wanted.gaps);
        }
        match planned {
            Err(gaps) => {
                decision.basis.runtime = Runtime::Blocked(unresolved(&gaps));
                missing.extend(gaps);
            }
            Ok(spec) => self.put_in_force(spec, &mut decision),
        }
        missing.sort();
        missing.dedup();
        self.explanation.gaps = missing;
        self.retire(&names, &mut decision);
        decision.explanation = std::mem::take(&mut self.explanation);
        Ok(decision)
    }

    fn validate(&mut self) -> Step<model::Workload> {
        let unknown = annotation::unknown(&Node::from(self.inputs.workload.document()));
        let notes = unknown.iter().map(|found| sentence(&format!("{}; {}", found.message, found.hint), 0));
        self.explanation.notes.extend(notes);
        validate::validate(&self.inputs.workload).map_err(|errors| {
            self.explanation.mistakes = errors.iter().map(Mistake::from).collect();
            self.refused(validate::refuse(&errors))
        })
    }

    fn apply_policy(
        &mut self,
        document: &model::Workload,
        resources: &BTreeMap<String, Resource>,
    ) -> Step<Effective> {
        let classes = claims::existing_classes(&self.live, resources);
        let outcome = policy::apply(&self.inputs.policies, &subject(self.inputs, document, &classes));
        self.explanation.settings = outcome.explanation;
        self.explanation.audited = outcome.audited;
        let left_out = |policy: &String| {
            format!("The policy `{policy}` has a fault, and is left out: ask the platform team.")
        };
        self.explanation.notes.extend(outcome.left_out.iter().map(left_out));
        if let Some(invalid) = outcome.invalid.first() {
            return Err(self.refused(Finding::bad(Reason::SpecInvalid, invalid.message.clone())));
        }
        if let Some(first) = outcome.violations.first() {
            let more = outcome.violations.len() - 1;
            let finding = Finding::bad(Reason::PolicyViolation, sentence(&first.message, more));
            self.explanation.violations = outcome.violations;
            return Err(self.refused(finding));
        }
        Ok(outcome.effective)
    }

    fn place(
        &mut self,
        document: &model::Workload,
        effective: &Effective,
        requirements: &BTreeSet<String>,
        names: &BTreeMap<String, String>,
    ) -> Step<Placed> {
        self.audit_profile(document, effective);
        let outcome = request::place(self.inputs, &self.live, document, effective, requirements);
        self.explanation.placement = Some(outcome.explanation);
        outcome.result.map_err(|refusal| {
            let message = sentence(&refusal.message(), 0);
            match refusal {
                Refusal::UnknownProfile { because: ProfileReason::Annotation, .. } => {
                    self.refused(Finding::bad(Reason::SpecInvalid, message))
                }
                Refusal::ProfileNotAllowed { .. } => {
                    self.refused(Finding::bad(Reason::PolicyViolation, message))
                }
                _ => self.held_up(names, Finding::bad(Reason::RuntimeSelecting, message)),
            }
        })
    }

    /// Whether the profile would be refused by policies that are not enforced. An author's own is judged already.
    fn audit_profile(&mut self, document: &model::Workload, effective: &Effective) {
        let pointer = Pointer::of(["metadata", "annotations", annotation::PROFILE]);
        for (policy, allowed) in &effective.audited_profiles {
            let is_judged = |known: &Violation| known.policy == *policy && known.pointer == pointer.as_str();
            if self.explanation.audited.iter().any(is_judged) {
                continue;
            }
            let refusal = request::forbid_profile(self.inputs, &self.live, document, effective, allowed);
            self.explanation.audited.extend(refusal.map(|refusal| Violation {
                policy: policy.clone(),
                pointer: pointer.as_str().to_owned(),
                message: sentence(&refusal.message(), 0),
            }));
        }
    }

    /// What is asked for, and what it has given. What a claim gave before it is asked for otherwise is out of date:
    /// what refers to it waits.
    fn claim<'s>(
        &'s self,
        resources: &BTreeMap<String, Resource>,
        effective: &Effective,
        placement: &Placement,
        names: &'s BTreeMap<String, String>,
    ) -> (Claims, Outputs<'s>) {
        let live = |name: &str| {
            let claim = self.live.claims.get(name).copied();
            claim.filter(|claim| !claims::is_going(claim) || self.live.is_kept(claim))
        };
        let mut given: BTreeMap<&str, Option<&ResourceClaim>> =
            names.iter().map(|(key, name)| (key.as_str(), live(name))).collect();
        loop {
            let outputs = Outputs::new(self.metadata(), given.clone());
            let claims = claims::claim(self.inputs, &self.live, resources, effective, placement, &outputs);
            let is_outdated = |key: &str| claims.wanted.get(key).is_some_and(|wanted| wanted.outdated);
            // A claim that depends on another outdated one is judged in a later round: its parameters are unknown until
            // that one is provided again, and it gives what it gave until then.
            let is_next = |key: &str| {
                let depends_on = claims::references(resources.get(key).and_then(|it| it.params.as_ref()));
                is_outdated(key)
                    && !depends_on.iter().any(|other| {
                        is_outdated(other) && given.get(other.as_str()).is_some_and(Option::is_some)
                    })
            };
            let next: Vec<_> = given
                .iter()
                .filter(|(key, claim)| claim.is_some() && is_next(key))
                .map(|(key, _)| *key)
                .collect();
            // Each round withdraws at least one claim, or is the last.
            if next.is_empty() {
                return (claims, outputs);
            }
            given.extend(next.into_iter().map(|key| (key, None)));
        }
    }

    /// What placeholders of the form `${metadata.…}` stand for.
    fn metadata(&self) -> Json {
        self.inputs.workload.document()["metadata"].take()
    }

    /// On which terms it runs where it is placed.
    fn terms(&mut self, placed: &Placed) -> (Kind, Map<String, Json>) {
        match &placed.terms {
            Terms::Configured { kind, values } => {
                let mut values = values.clone();
                if placed.placement.runtime_class == render::kubernetes::CLASS {
                    render::kubernetes::heed_namespace(&mut values, &self.inputs.namespace.labels);
                }
                (*kind, values)
            }
            Terms::AsPlanned { because } => {
                self.explanation.notes.push(because.clone());
                let plan = self.live.plan.ours().map(|plan| (plan.spec.kind, plan.spec.values.clone()));
                plan.unwrap_or_default()
            }
        }
    }

    /// What runs on because nothing newer can be planned, stops and goes on as it is asked to all the same. Who asked for that
    /// wants to know how far it is.
    fn heed_suspension(&self, decision: &mut Decision) {
        if matches!(decision.basis.runtime, Runtime::Planned(..)) {
            return;
        }
        let annotations = self.inputs.workload.metadata.annotations.as_ref();
        let suspend = annotations.is_some_and(annotation::suspends);
        match self.live.plan {
            Held::Ours(live) if live.metadata.deletion_timestamp.is_none() => {
                let mut spec = live.spec.clone();
                if spec.lifecycle.suspend != suspend {
                    spec.lifecycle.suspend = suspend;
                    spec.revision = revision::of(&spec);
                    let (metadata, spec) = (self.metadata_of_child(), spec.clone());
                    decision.plan = Some(WorkloadPlan { metadata, spec, status: None });
                }
                if suspend {
                    decision.basis.runtime = Runtime::Planned(spec.revision, Some(Box::new(live.clone())));
                }
            }
            Held::Free if suspend => {
                let finding = Finding::bad(Reason::RuntimeProvisioning, SUSPENDED);
                decision.basis.runtime = Runtime::Blocked(finding);
            }
            Held::Ours(_) | Held::Free | Held::Foreign => {}
        }
    }

    /// Puts a plan in force, unless it is.
    fn put_in_force(&self, mut spec: WorkloadPlanSpec, decision: &mut Decision) {
        debug_assert_eq!(lint::lint(&spec), Vec::<String>::new(), "a plan that breaks its own rules");
        let in_the_way = |what| {
            Runtime::Blocked(Finding::bad(
                Reason::RuntimeProvisioning,
                format!("Waiting for {what} of an earlier workload of this name to go."),
            ))
        };
        let revision = spec.revision.clone();
        match self.live.plan {
            Held::Foreign => {
                decision.basis.runtime = in_the_way("the plan");
                return;
            }
            Held::Ours(live) if live.metadata.deletion_timestamp.is_some() => {
                decision.basis.runtime = in_the_way("what runs");
                return;
            }
            Held::Ours(live) => {
                // A plan changes with its meaning only: its generation, and what follows from the rest, are noted then.
                if live.spec.revision == revision {
                    spec.observed_workload_generation = live.spec.observed_workload_generation;
                    spec.claims.clone_from(&live.spec.claims);
                }
                let desired = WorkloadPlan { metadata: self.metadata_of_child(), spec, status: None };
                if live.spec != desired.spec || metadata_differs(&live.metadata, &desired.metadata) {
                    decision.plan = Some(desired);
                }
            }
            Held::Free => {
                decision.plan = Some(WorkloadPlan { metadata: self.metadata_of_child(), spec, status: None });
            }
        }
        let live = self.live.plan.ours().map(|plan| Box::new(plan.clone()));
        decision.basis.runtime = Runtime::Planned(revision, live);
        let runtime_class =
            decision.plan.as_ref().or(self.live.plan.ours()).map(|plan| plan.spec.runtime_class.clone());
        let exposure = WorkloadExposure {
            metadata: self.metadata_of_child(),
            spec: WorkloadExposureSpec {
                workload_ref: self.inputs.workload_ref(),
                runtime_class: runtime_class.unwrap_or_default(),
                observed_workload_generation: self.inputs.generation(),
            },
            status: None,
        };
        match self.live.exposure {
            Held::Foreign => decision.basis.runtime = in_the_way("the address"),
            Held::Ours(live) if live.metadata.deletion_timestamp.is_some() => {}
            Held::Ours(live)
                if live.spec == exposure.spec && !metadata_differs(&live.metadata, &exposure.metadata) => {}
            Held::Ours(_) | Held::Free => decision.exposure = Some(exposure),
        }
    }

    fn metadata_of_child(&self) -> ObjectMeta {
        let name = self.inputs.workload_ref().name;
        let labels = [
            (label::WORKLOAD, name.clone()),
            (label::APP, name.clone()),
            (label::MANAGED_BY, label::ORCHESTRA.to_owned()),
        ];
        ObjectMeta {
            name: Some(name),
            namespace: Some(self.inputs.namespace_name().to_owned()),
            labels: Some(labels.map(|(key, value)| (key.to_owned(), value)).into()),
            owner_references: Some(vec![self.inputs.owner_reference()]),
            ..ObjectMeta::default()
        }
    }

    /// Lets go of claims that nobody wants, once nothing that runs can be using them.
    fn retire(&self, names: &BTreeMap<String, String>, decision: &mut Decision) {
        let wanted: BTreeSet<&str> = names.values().map(String::as_str).collect();
        let is_wanted = |name: Option<&str>| name.is_some_and(|name| wanted.contains(name));
        let moved_on = match (&decision.basis.runtime, self.live.plan.ours()) {
            // The first plan is judged from now on as it will be once it is stored.
            (_, None) => decision.plan.is_none(),
            (Runtime::Planned(revision, _), Some(plan)) => {
                let status = plan.status.as_ref();
                plan.spec.revision == *revision
                    && status.is_some_and(|status| {
                        status.observed_revision.as_ref() == Some(revision) && status.phase == Phase::Ready
                    })
            }
            _ => false,
        };
        for (name, claim) in &self.live.claims {
            if !wanted.contains(name) {
                let message = "No longer wanted; kept until the running version does without it.".to_owned();
                let is_going = claims::is_going(claim);
                decision.basis.claims.push(Line {
                    key: claim.spec.key.clone(),
                    claim: (*name).to_owned(),
                    blocked: (!is_going && !moved_on).then_some(message),
                    wanted: false,
                });
            }
        }
        decision.basis.claims = unique_keys(std::mem::take(&mut decision.basis.claims));
        if moved_on {
            let changing = decision.claims.iter().filter_map(|claim| claim.metadata.name.as_deref());
            let waiting = decision.basis.claims.iter().filter(|line| line.blocked.is_some());
            let unsettled: BTreeSet<&str> = changing.chain(waiting.map(|line| line.claim.as_str())).collect();
            let is_current = |claim: &ResourceClaim| {
                let name = claim.metadata.name.as_deref();
                is_wanted(name)
                    && is_provided(claim)
                    && !claims::is_going(claim)
                    && name.is_none_or(|name| !unsettled.contains(name))
            };
            let is_wanted = |claim: &ResourceClaim| is_wanted(claim.metadata.name.as_deref());
            for claim in claims::removable(&self.live, is_wanted, is_current) {
                doom(DoomedKind::ResourceClaim, &claim.metadata, &mut decision.delete);
            }
        }
    }

    fn finalizer(&self) -> Finalizer {
        let mut held = self.inputs.workload.metadata.finalizers.iter().flatten();
        if held.any(|held| held == finalizer::WORKLOAD) { Finalizer::Unchanged } else { Finalizer::Add }
    }

    /// The inputs are refused: nothing changes, what was planned before stays in force.
    fn refused(&mut self, finding: Finding) -> Box<Decision> {
        let lines = self.live.claims.iter().map(|(name, claim)| Line {
            key: claim.spec.key.clone(),
            claim: (*name).to_owned(),
            blocked: None,
            wanted: true,
        });
        let mut decision = self.decision(unique_keys(lines.collect()));
        decision.basis.inputs = finding;
        decision.basis.runtime = Runtime::LastGood(self.live.plan.ours().map(|plan| Box::new(plan.clone())));
        decision.explanation = std::mem::take(&mut self.explanation);
        decision
    }

    /// The inputs are fine, but nothing can be asked for yet.
    fn held_up(&mut self, names: &BTreeMap<String, String>, finding: Finding) -> Box<Decision> {
        let lines = names.iter().map(|(key, name)| Line {
            key: key.clone(),
            claim: name.clone(),
            blocked: (!self.live.claims.contains_key(name.as_str()))
                .then(|| "It is asked for once there is a place to run.".to_owned()),
            wanted: true,
        });
        let mut decision = self.decision(lines.collect());
        decision.basis.runtime = Runtime::Blocked(finding);
        decision.explanation = std::mem::take(&mut self.explanation);
        decision
    }

    /// The names of claims that are deleted, and kept since what runs uses them.
    fn kept(&self) -> BTreeSet<String> {
        let claims = self.live.claims.iter();
        let kept = claims.filter(|(_, claim)| claims::is_going(claim) && self.live.is_kept(claim));
        kept.map(|(name, _)| (*name).to_owned()).collect()
    }

    fn decision(&self, claims: Vec<Line>) -> Box<Decision> {
        Box::new(Decision {
            finalizer: Finalizer::Unchanged,
            claims: Vec::new(),
            plan: None,
            exposure: None,
            delete: Vec::new(),
            basis: Basis {
                generation: self.inputs.generation(),
                previous: self.inputs.workload.status.clone().unwrap_or_default(),
                now: self.inputs.now,
                inputs: Finding::good("The document is valid, and the platform's policy allows it."),
                claims,
                claims_overall: None,
                runtime: Runtime::LastGood(None),
                awaited: None,
                kept: self.kept(),
                live_claims: self.inputs.live_claims(),
                live_exposure: self.live.exposure.ours().cloned(),
            },
            explanation: Explanation::default(),
        })
    }
}

/// What is said while values are missing: the first that will not come by itself, else the first that is awaited.
fn unresolved(gaps: &[Gap]) -> Finding {
    let first = gaps.iter().find(|gap| !gap.awaited).or_else(|| gaps.first());
    let message = first.map(|gap| gap.message.as_str()).unwrap_or_default();
    Finding::bad(Reason::ProjectionError, sentence(message, gaps.len().saturating_sub(1)))
}
