//! Decision about a Workload, step by step.
//!
//! The controller executes it; `orchestra plan`, `explain` and the server only show it.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use orchestra_api::{
    Placement, ResourceClaim, WorkloadExposure, WorkloadPlan, annotation,
    condition::{Finding, Reason},
    exposure::WorkloadExposureSpec,
    finalizer, label,
    plan::{Kind, SUSPENDED, WorkloadPlanSpec},
    policy::Mode,
};
use orchestra_score::{
    Node, Pointer,
    model::{self, Resource},
};
use serde_json::{Map, Value as Json};

use crate::{
    claim_state::{is_deleting, is_provided},
    claims::{self, Claims, metadata_differs},
    decision::{Decision, Deferral, DeletionKind, Finalizer},
    explain::{Explanation, Mistake},
    inputs::{Inputs, Owned, Ownership},
    lint,
    outputs::{Gap, Outputs},
    place::{Placed, ProfileReason, Refusal, Terms},
    policy::{self, Effective, Subject, Violation},
    project::Projection,
    request, revision, run, runtimes,
    sentence::sentence,
    status::{ClaimRow, DeferralInputs, Runtime, StatusInputs},
    teardown::{mark_for_deletion, tear_down, unique_keys},
    validate,
};

/// Decides about a Workload.
pub fn plan(inputs: &Inputs) -> Decision {
    if inputs.workload.metadata.deletion_timestamp.is_some() {
        return tear_down(inputs);
    }
    let mut steps = Steps { inputs, live: inputs.owned(), explanation: Explanation::default() };
    if inputs.namespace.is_none() {
        let deferred = vec![Deferral::NamespaceUnknown];
        return Decision { deferred, ..*steps.decision(Vec::new()) };
    }
    let (Ok(decision) | Err(decision)) = steps.decide();
    let mut decision = *decision;
    steps.apply_suspension(&mut decision);
    decision
}

/// Policies that select a Workload, by name, and whether it violates them: the checks of [`plan`], for each policy alone.
/// Empty for an invalid or deleted Workload.
pub fn evaluate(inputs: &Inputs) -> BTreeMap<String, bool> {
    let valid = validate::validate(&inputs.workload).ok();
    let Some(document) = valid.filter(|_| inputs.workload.metadata.deletion_timestamp.is_none()) else {
        return BTreeMap::new();
    };
    let live = inputs.owned();
    let classes = claims::existing_classes(&live, document.resources.as_ref().unwrap_or(&BTreeMap::new()));
    let subject = subject(inputs, &document, &classes);
    let effective = policy::apply(&inputs.policies, &subject).effective;
    let forbids = |allowed: &BTreeSet<String>| {
        request::forbid_profile(inputs, &live, &document, &effective, allowed).is_some()
    };
    let verdicts = policy::evaluate(&inputs.policies, &subject).into_iter();
    verdicts
        .map(|verdict| {
            let is_violated =
                !verdict.violations.is_empty() || verdict.profiles.as_ref().is_some_and(forbids);
            (verdict.policy, is_violated)
        })
        .collect()
}

/// View of the Workload for policies.
fn subject<'a>(
    inputs: &'a Inputs,
    document: &'a model::Workload,
    classes: &'a BTreeMap<String, String>,
) -> Subject<'a> {
    static NO_LABELS: BTreeMap<String, String> = BTreeMap::new();
    Subject {
        namespace: inputs.namespace_name(),
        namespace_labels: inputs.namespace_labels(),
        labels: inputs.workload.metadata.labels.as_ref().unwrap_or(&NO_LABELS),
        document,
        classes,
    }
}

/// State of the steps. Each step either continues or ends in a decision, which is its error.
struct Steps<'a> {
    inputs: &'a Inputs,
    live: Owned<'a>,
    explanation: Explanation,
}

type Step<T> = Result<T, Box<Decision>>;

impl Steps<'_> {
    fn decide(&mut self) -> Step<Box<Decision>> {
        let document = self.validate()?;
        let resources = document.resources.clone().unwrap_or_default();
        let effective = self.apply_policy(&document, &resources)?;
        let names = claims::names(&document.metadata.name, &resources, &effective);
        if self.inputs.namespace.as_ref().is_some_and(|namespace| namespace.terminating) {
            let finding = Finding::bad(
                Reason::RuntimeProvisioning,
                "The namespace is being deleted: nothing can be created in it.",
            );
            return Err(self.blocked(&names, finding));
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

        let rows = names.iter().map(|(key, name)| ClaimRow {
            key: key.clone(),
            claim: name.clone(),
            blocked: claims.desired.get(key).and_then(|wanted| wanted.blocked.clone()),
            wanted: true,
        });
        let mut decision = self.decision(rows.collect());
        decision.finalizer = self.finalizer();
        let mut missing: Vec<Gap> = Vec::new();
        for wanted in claims.desired.into_values() {
            decision.claims.extend(wanted.write);
            missing.extend(wanted.gaps);
        }
        match planned {
            Err(gaps) => {
                decision.status_inputs.runtime = Runtime::Blocked(unresolved(&gaps));
                missing.extend(gaps);
            }
            Ok(spec) => self.apply_plan(spec, &mut decision),
        }
        missing.sort();
        missing.dedup();
        self.explanation.gaps = missing;
        self.delete_unused_claims(&names, &mut decision);
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
        let subject = subject(self.inputs, document, &classes);
        let outcome = policy::apply(&self.inputs.policies, &subject);
        let unreadable = &self.inputs.unreadable_policies;
        let unreadable: Vec<_> = unreadable.iter().filter(|policy| policy.may_select(&subject)).collect();
        self.explanation.settings = outcome.explanation;
        self.explanation.audited = outcome.audited;
        let left_out = |policy: &String| {
            format!(
                "The policy `{policy}` is invalid, and no accepted version of it is recorded; its status says why."
            )
        };
        self.explanation.notes.extend(outcome.left_out.keys().map(left_out));
        self.explanation.notes.extend(unreadable.iter().map(|policy| policy.note()));
        if let Some(invalid) = outcome.invalid.first() {
            return Err(self.refused(Finding::bad(Reason::SpecInvalid, invalid.message.clone())));
        }
        if let Some(first) = outcome.violations.first() {
            let more = outcome.violations.len() - 1;
            let finding = Finding::bad(Reason::PolicyViolation, sentence(&first.message, more));
            self.explanation.violations = outcome.violations;
            return Err(self.refused(finding));
        }
        let invalid = outcome.left_out.iter().find(|(_, mode)| **mode == Mode::Enforce);
        if let Some((policy, _)) = invalid {
            let message = format!(
                "The policy `{policy}` is invalid, so the workload cannot be checked: have the policy corrected or deleted."
            );
            return Err(self.refused(Finding::bad(Reason::PolicyViolation, message)));
        }
        if let Some(policy) = unreadable.iter().find(|policy| !policy.in_force) {
            return Err(self.refused(Finding::bad(Reason::PolicyViolation, policy.message())));
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
                _ => self.blocked(names, Finding::bad(Reason::RuntimeSelecting, message)),
            }
        })
    }

    /// Audits the profile against policies that are not enforced. A profile that the author names is already audited.
    fn audit_profile(&mut self, document: &model::Workload, effective: &Effective) {
        let pointer = Pointer::of(["metadata", "annotations", annotation::PROFILE]);
        for (policy, allowed) in &effective.audited_profiles {
            let is_audited = |known: &Violation| known.policy == *policy && known.pointer == pointer.as_str();
            if self.explanation.audited.iter().any(is_audited) {
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

    /// Desired claims and the available outputs. Outputs of a claim whose spec changes are out of date: references to them
    /// wait.
    fn claim<'s>(
        &'s self,
        resources: &BTreeMap<String, Resource>,
        effective: &Effective,
        placement: &Placement,
        names: &'s BTreeMap<String, String>,
    ) -> (Claims, Outputs<'s>) {
        let live = |name: &str| {
            let claim = self.live.claims.get(name).copied();
            claim.filter(|claim| !is_deleting(claim) || self.live.is_kept(claim))
        };
        let mut given: BTreeMap<&str, Option<&ResourceClaim>> =
            names.iter().map(|(key, name)| (key.as_str(), live(name))).collect();
        loop {
            let outputs = Outputs::new(self.metadata(), given.clone());
            let claims = claims::claim(self.inputs, &self.live, resources, effective, placement, &outputs);
            let is_outdated = |key: &str| claims.desired.get(key).is_some_and(|wanted| wanted.outdated);
            // A claim that depends on another outdated one is checked in a later round: its parameters are unknown until
            // that one is provided again, and it keeps its outputs until then.
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

    /// Values of placeholders of the form `${metadata.…}`.
    fn metadata(&self) -> Json {
        self.inputs.workload.document()["metadata"].take()
    }

    /// Kind and values of the plan.
    fn terms(&mut self, placed: &Placed) -> (Kind, Map<String, Json>) {
        match &placed.terms {
            Terms::Configured { kind, values } => {
                let mut values = values.clone();
                if let Some(class) = runtimes::find(&placed.placement.runtime_class) {
                    (class.adapt_to_namespace)(&mut values, self.inputs.namespace_labels());
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

    /// Suspends or resumes the plan in force, if nothing newer can be planned. The status reports the progress of a suspension.
    fn apply_suspension(&self, decision: &mut Decision) {
        if matches!(decision.status_inputs.runtime, Runtime::Planned(..)) {
            return;
        }
        let annotations = self.inputs.workload.metadata.annotations.as_ref();
        let suspend = annotations.is_some_and(annotation::suspends);
        match self.live.plan {
            Ownership::Ours(live) if live.metadata.deletion_timestamp.is_none() => {
                let mut spec = live.spec.clone();
                if spec.lifecycle.suspend != suspend {
                    spec.lifecycle.suspend = suspend;
                    spec.revision = revision::of(&spec);
                    let (metadata, spec) = (self.metadata_of_child(), spec.clone());
                    decision.plan = Some(WorkloadPlan { metadata, spec, status: None });
                }
                if suspend {
                    decision.status_inputs.runtime =
                        Runtime::Planned(spec.revision, Some(Box::new(live.clone())));
                }
            }
            Ownership::Free if suspend => {
                let finding = Finding::bad(Reason::RuntimeProvisioning, SUSPENDED);
                decision.status_inputs.runtime = Runtime::Blocked(finding);
            }
            Ownership::Ours(_) | Ownership::Free | Ownership::Foreign => {}
        }
    }

    /// Applies a plan and its exposure, if they differ.
    fn apply_plan(&self, mut spec: WorkloadPlanSpec, decision: &mut Decision) {
        debug_assert_eq!(lint::lint(&spec), Vec::<String>::new(), "the plan violates an invariant");
        let waiting_for = |what| {
            Runtime::Blocked(Finding::bad(
                Reason::RuntimeProvisioning,
                format!("Waiting for {what} of an earlier workload of this name to be deleted."),
            ))
        };
        let revision = spec.revision.clone();
        match self.live.plan {
            Ownership::Foreign => {
                decision.status_inputs.runtime = waiting_for("the plan");
                return;
            }
            Ownership::Ours(live) if live.metadata.deletion_timestamp.is_some() => {
                let message = "Waiting for the previous version to stop.";
                let finding = Finding::bad(Reason::RuntimeProvisioning, message);
                decision.status_inputs.runtime = Runtime::Blocked(finding);
                return;
            }
            Ownership::Ours(live)
                if self.is_unreported(live) && live.spec.placement() != spec.placement() =>
            {
                decision.deferred.push(Deferral::Move);
                decision.status_inputs.runtime = Runtime::Planned(revision, Some(Box::new(live.clone())));
                return;
            }
            Ownership::Ours(live) => {
                // A plan changes only with its revision; the observed generation and the claims are updated at that time.
                if live.spec.revision == revision {
                    spec.observed_workload_generation = live.spec.observed_workload_generation;
                    spec.claims.clone_from(&live.spec.claims);
                }
                let desired = WorkloadPlan { metadata: self.metadata_of_child(), spec, status: None };
                if live.spec != desired.spec || metadata_differs(&live.metadata, &desired.metadata) {
                    decision.plan = Some(desired);
                }
            }
            Ownership::Free => {
                decision.plan = Some(WorkloadPlan { metadata: self.metadata_of_child(), spec, status: None });
            }
        }
        let live = self.live.plan.ours().map(|plan| Box::new(plan.clone()));
        decision.status_inputs.runtime = Runtime::Planned(revision, live);
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
            Ownership::Foreign => decision.status_inputs.runtime = waiting_for("the address"),
            Ownership::Ours(live) if live.metadata.deletion_timestamp.is_some() => {}
            Ownership::Ours(live)
                if live.spec == exposure.spec && !metadata_differs(&live.metadata, &exposure.metadata) => {}
            Ownership::Ours(_) | Ownership::Free => decision.exposure = Some(exposure),
        }
    }

    /// True if a built-in runtime may have started a plan, and has not reported yet. Its finalizer may not be visible yet.
    fn is_unreported(&self, plan: &WorkloadPlan) -> bool {
        let is_built_in = self.inputs.runtimes.contains(&plan.spec.runtime_class);
        plan.status.is_none() && (is_built_in || run::has_finalizer(plan))
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

    /// Deletes claims that are no longer desired, once the running version cannot use them.
    fn delete_unused_claims(&self, names: &BTreeMap<String, String>, decision: &mut Decision) {
        let wanted: BTreeSet<&str> = names.values().map(String::as_str).collect();
        let is_wanted = |name: Option<&str>| name.is_some_and(|name| wanted.contains(name));
        let moved_on = match (&decision.status_inputs.runtime, self.live.plan.ours()) {
            // The first plan counts as stored.
            (_, None) => decision.plan.is_none(),
            (Runtime::Planned(revision, _), Some(plan)) => {
                plan.spec.revision == *revision && run::is_ready(plan)
            }
            _ => false,
        };
        for (name, claim) in &self.live.claims {
            if !wanted.contains(name) {
                let message =
                    "No longer needed; kept until the running version no longer uses it.".to_owned();
                let is_deleting = is_deleting(claim);
                decision.status_inputs.claims.push(ClaimRow {
                    key: claim.spec.key.clone(),
                    claim: (*name).to_owned(),
                    blocked: (!is_deleting && !moved_on).then_some(message),
                    wanted: false,
                });
            }
        }
        decision.status_inputs.claims = unique_keys(std::mem::take(&mut decision.status_inputs.claims));
        if moved_on {
            let changing = decision.claims.iter().filter_map(|claim| claim.metadata.name.as_deref());
            let waiting = decision.status_inputs.claims.iter().filter(|row| row.blocked.is_some());
            let unsettled: BTreeSet<&str> = changing.chain(waiting.map(|row| row.claim.as_str())).collect();
            let is_current = |claim: &ResourceClaim| {
                let name = claim.metadata.name.as_deref();
                is_wanted(name)
                    && is_provided(claim)
                    && !is_deleting(claim)
                    && name.is_none_or(|name| !unsettled.contains(name))
            };
            let is_wanted = |claim: &ResourceClaim| is_wanted(claim.metadata.name.as_deref());
            for claim in claims::removable(&self.live, is_wanted, is_current) {
                mark_for_deletion(DeletionKind::ResourceClaim, &claim.metadata, &mut decision.delete);
            }
        }
    }

    fn finalizer(&self) -> Finalizer {
        let has_finalizer = finalizer::is_on(&self.inputs.workload.metadata, finalizer::WORKLOAD);
        if has_finalizer { Finalizer::Unchanged } else { Finalizer::Add }
    }

    /// Decision about refused inputs: nothing changes, the last plan stays in force.
    fn refused(&mut self, finding: Finding) -> Box<Decision> {
        let rows = self.live.claims.iter().map(|(name, claim)| ClaimRow {
            key: claim.spec.key.clone(),
            claim: (*name).to_owned(),
            blocked: None,
            wanted: true,
        });
        let mut decision = self.decision(unique_keys(rows.collect()));
        decision.status_inputs.inputs = finding;
        decision.status_inputs.runtime =
            Runtime::LastGood(self.live.plan.ours().map(|plan| Box::new(plan.clone())));
        decision.explanation = std::mem::take(&mut self.explanation);
        decision
    }

    /// Decision about valid inputs before claims can be requested.
    fn blocked(&mut self, names: &BTreeMap<String, String>, finding: Finding) -> Box<Decision> {
        let rows = names.iter().map(|(key, name)| ClaimRow {
            key: key.clone(),
            claim: name.clone(),
            blocked: (!self.live.claims.contains_key(name.as_str()))
                .then(|| "Requested once a backend is selected.".to_owned()),
            wanted: true,
        });
        let mut decision = self.decision(rows.collect());
        decision.status_inputs.runtime = Runtime::Blocked(finding);
        decision.explanation = std::mem::take(&mut self.explanation);
        decision
    }

    /// Names of deleted claims that are kept because the running version uses them.
    fn kept(&self) -> BTreeSet<String> {
        let claims = self.live.claims.iter();
        let kept = claims.filter(|(_, claim)| is_deleting(claim) && self.live.is_kept(claim));
        kept.map(|(name, _)| (*name).to_owned()).collect()
    }

    fn decision(&self, claims: Vec<ClaimRow>) -> Box<Decision> {
        Box::new(Decision {
            finalizer: Finalizer::Unchanged,
            claims: Vec::new(),
            plan: None,
            exposure: None,
            delete: Vec::new(),
            status_inputs: StatusInputs {
                generation: self.inputs.generation(),
                previous: self.inputs.workload.status.clone().unwrap_or_default(),
                now: self.inputs.now,
                inputs: Finding::good("The workload is valid and allowed by policy."),
                claims,
                claims_overall: None,
                runtime: Runtime::LastGood(None),
                awaited: None,
                kept: self.kept(),
                live_claims: self.inputs.live_claims(),
                live_exposure: self.live.exposure.ours().cloned(),
                deferral: DeferralInputs::of(self.inputs),
            },
            deferred: Vec::new(),
            explanation: Explanation::default(),
        })
    }
}

/// Finding about missing values: the first that needs a change of the document, else the first that is awaited.
fn unresolved(gaps: &[Gap]) -> Finding {
    let first = gaps.iter().find(|gap| !gap.awaited).or_else(|| gaps.first());
    let message = first.map(|gap| gap.message.as_str()).unwrap_or_default();
    Finding::bad(Reason::ProjectionError, sentence(message, gaps.len().saturating_sub(1)))
}
