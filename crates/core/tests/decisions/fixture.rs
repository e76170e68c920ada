//! Simulated platform: the objects of the API, and scripted provisioners and runtimes.
//!
//! It executes decisions as the controllers do, and stores objects as the API does: a change of a spec increments the
//! generation, an object with finalizers stays until they are removed, and each status has its own writer.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use k8s_openapi::{
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time},
    jiff::Timestamp,
};
use orchestra_api::{
    PlatformPolicy, Reason, ResourceClaim, Workload, WorkloadExposure, WorkloadPlan, annotation,
    claim::{DeprovisionPolicy, Output},
    exposure::{self, WorkloadExposureStatus},
    finalizer, label,
    plan::{Phase, WorkloadPlanStatus},
    reference::SecretKeyRef,
    workload::{WorkloadSpec, WorkloadStatus},
};
use orchestra_core::{
    Applied, Decision, Denied, Inputs, NamespaceFacts, claim_state,
    config::{self, Config},
    decision::{Deletion, DeletionKind, Write},
    inputs::QueueState,
    plan, policy,
    provision::{self, Bound, Engine, Provision, Work},
};
use serde_json::{Value as Json, json};

/// Orchestrator config of most tests.
pub(crate) const CONFIG: &str = r#"
apiVersion: score.dev/v1b1
kind: OrchestratorConfig
metadata: {name: default}
spec:
  profiles:
    - name: web-service
      backends:
        - {backendId: here, runtimeClass: scripted, priority: 10, constraints: {features: [fast]}}
        - {backendId: there, runtimeClass: scripted, priority: 5, constraints: {features: [fast, big]}, values: {replicas: 2}}
    - name: batch-job
      kind: job
      backends: [{backendId: here, runtimeClass: scripted}]
  provisioners:
    - {type: postgres, engine: builtin}
    - {type: redis, class: small, engine: builtin}
    - {type: redis, engine: builtin}
    - {type: volume, engine: builtin}
    - {type: route, engine: builtin}
    - {type: queue, engine: external}
    - {type: service, engine: static, outputs: {host: {value: "flags.example.test"}, port: {value: 443}, password: {secretKeyRef: {name: flags, key: key}}}}
  defaults: {profile: web-service}
"#;

/// Answer of a provisioner for a type.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Answer {
    /// Bound.
    Bind,
    /// Bound, without the output `host`.
    BindInPart,
    /// In progress.
    Make,
    /// Not started.
    Wait,
    /// Blocked by an obstacle.
    Hinder(Reason),
    /// Failed.
    Refuse(Reason),
}

/// Answer of a runtime for every plan.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Running {
    /// None yet.
    Absent,
    /// This phase and reason, about the current revision.
    Says(Phase, Option<Reason>),
}

/// Writes that the API denies.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Denials {
    pub(crate) claims: Option<Reason>,
    pub(crate) plans: Option<Reason>,
}

#[derive(Clone, Debug)]
pub(crate) struct Fixture {
    pub(crate) workload: Option<Workload>,
    pub(crate) namespace: NamespaceFacts,
    pub(crate) policies: Vec<PlatformPolicy>,
    pub(crate) unreadable_policies: Vec<Json>,
    pub(crate) config: Arc<Config>,
    pub(crate) claims: BTreeMap<String, ResourceClaim>,
    pub(crate) plan: Option<WorkloadPlan>,
    pub(crate) exposure: Option<WorkloadExposure>,
    pub(crate) answers: BTreeMap<String, Answer>,
    pub(crate) running: Running,
    pub(crate) denials: Denials,
    /// Released instances, with their policies.
    pub(crate) released: Vec<(String, DeprovisionPolicy)>,
    made: u64,
}

pub(crate) const NAME: &str = "shop";
const NOW: i64 = 1_700_000_000;

impl Fixture {
    pub(crate) fn new(document: &str) -> Self {
        Self {
            workload: None,
            namespace: NamespaceFacts::default(),
            policies: Vec::new(),
            unreadable_policies: Vec::new(),
            config: Arc::new(config::check(document).unwrap()),
            claims: BTreeMap::new(),
            plan: None,
            exposure: None,
            answers: BTreeMap::new(),
            running: Running::Says(Phase::Ready, None),
            denials: Denials::default(),
            released: Vec::new(),
            made: 0,
        }
    }

    /// Fixture with one Workload.
    pub(crate) fn with(spec: Json) -> Self {
        let mut fixture = Self::new(CONFIG);
        fixture.write(json!({}), json!({}), spec);
        fixture
    }

    /// Applies the Workload.
    pub(crate) fn write(&mut self, labels: Json, annotations: Json, spec: Json) {
        let metadata = ObjectMeta {
            labels: serde_json::from_value(labels).unwrap(),
            annotations: serde_json::from_value(annotations).unwrap(),
            ..ObjectMeta::default()
        };
        let spec: WorkloadSpec = serde_json::from_value(spec).unwrap();
        let live = self.workload.take();
        let mut workload = live.unwrap_or_else(|| Workload {
            metadata: self.new_metadata(NAME),
            spec: WorkloadSpec::clone(&spec),
            status: None,
        });
        if workload.spec != spec {
            workload.metadata.generation = workload.metadata.generation.map(|generation| generation + 1);
        }
        workload.spec = spec;
        workload.metadata.labels = metadata.labels;
        workload.metadata.annotations = metadata.annotations;
        self.workload = Some(workload);
    }

    /// Deletes the Workload.
    pub(crate) fn delete(&mut self) {
        let Some(workload) = &mut self.workload else { return };
        workload.metadata.deletion_timestamp = Some(now());
        if workload.metadata.finalizers.iter().flatten().next().is_none() {
            self.workload = None;
        }
    }

    pub(crate) fn policy(&mut self, name: &str, spec: Json) {
        let mut policy = PlatformPolicy::new(name, serde_json::from_value(spec).unwrap());
        policy.metadata = self.new_metadata(name);
        self.policies.push(policy);
    }

    pub(crate) fn answer(&mut self, type_: &str, answer: Answer) {
        self.answers.insert(type_.to_owned(), answer);
    }

    pub(crate) fn new_metadata(&mut self, name: &str) -> ObjectMeta {
        self.made += 1;
        ObjectMeta {
            name: Some(name.to_owned()),
            namespace: Some("default".to_owned()),
            uid: Some(format!("uid-{}", self.made)),
            generation: Some(1),
            creation_timestamp: Some(now()),
            ..ObjectMeta::default()
        }
    }

    pub(crate) fn inputs(&self) -> Option<Inputs> {
        let (policies, unreadable_policies) =
            policy::unreadable::resolve(self.policies.clone(), &self.unreadable_policies);
        Some(Inputs {
            workload: self.workload.clone()?,
            namespace: Some(self.namespace.clone()),
            policies,
            unreadable_policies,
            config: Arc::clone(&self.config),
            claims: self.claims.values().cloned().collect(),
            plan: self.plan.clone(),
            exposure: self.exposure.clone(),
            runtimes: BTreeSet::new(),
            now: now().0,
            queue: QueueState::default(),
        })
    }

    pub(crate) fn decide(&self) -> Decision {
        plan(&self.inputs().unwrap())
    }

    pub(crate) fn status(&self) -> WorkloadStatus {
        self.workload.clone().and_then(|workload| workload.status).unwrap_or_default()
    }

    /// One pass of the workload controller. Returns whether anything changed.
    pub(crate) fn reconcile(&mut self) -> bool {
        let Some(inputs) = self.inputs() else { return false };
        let decision = plan(&inputs);
        let settled = decision.is_settled();
        let applied = self.execute(&decision);
        let Some(workload) = &mut self.workload else { return true };
        let status = decision.report(&applied).status;
        let is_new = status.is_some();
        workload.status = status.or(workload.status.take());
        // Denied writes are retried.
        is_new || !(settled || applied.denials().next().is_some())
    }

    fn execute(&mut self, decision: &Decision) -> Applied {
        let mut applied = Applied::default();
        for write in decision.writes() {
            match write {
                Write::AddFinalizer => {
                    if let Some(workload) = &mut self.workload {
                        workload.metadata.finalizers = Some(vec![finalizer::WORKLOAD.to_owned()]);
                    }
                }
                Write::EnsureNoLeftovers => {}
                Write::RemoveFinalizer => self.workload = None,
                Write::Claim(claim) => {
                    let name = claim.metadata.name.clone().unwrap();
                    let answer = match self.denials.claims {
                        Some(reason) => Err(denied(reason)),
                        None => Ok(self.apply_claim(&name, claim)),
                    };
                    applied.claims.insert(name, answer);
                }
                Write::Plan(wanted) => {
                    applied.plan = Some(match self.denials.plans {
                        Some(reason) => Err(denied(reason)),
                        None => Ok(self.apply_plan(wanted)),
                    });
                }
                Write::Exposure(wanted) => applied.exposure = Some(Ok(self.apply_exposure(wanted))),
                Write::Delete(deletion) => self.execute_deletion(deletion),
            }
        }
        applied
    }

    fn execute_deletion(&mut self, Deletion { kind, name, uid }: &Deletion) {
        match kind {
            DeletionKind::ResourceClaim => {
                let claim = self.claims.get_mut(name).unwrap();
                assert_eq!(claim.metadata.uid.as_ref(), Some(uid));
                if !mark_for_deletion(&mut claim.metadata) {
                    self.claims.remove(name);
                }
            }
            DeletionKind::WorkloadPlan => {
                if !mark_for_deletion(&mut self.plan.as_mut().unwrap().metadata) {
                    self.plan = None;
                }
            }
            DeletionKind::WorkloadExposure => {
                if !mark_for_deletion(&mut self.exposure.as_mut().unwrap().metadata) {
                    self.exposure = None;
                }
            }
        }
    }

    fn apply_plan(&mut self, wanted: &WorkloadPlan) -> WorkloadPlan {
        let live = self.plan.take();
        let status = live.as_ref().and_then(|live| live.status.clone());
        let mut plan = self.applied(live, wanted, |p| &mut p.metadata, |a, b| a.spec == b.spec);
        plan.status = status;
        self.plan = Some(plan.clone());
        plan
    }

    fn apply_exposure(&mut self, wanted: &WorkloadExposure) -> WorkloadExposure {
        let live = self.exposure.take();
        let status = live.as_ref().and_then(|live| live.status.clone());
        let mut exposure = self.applied(live, wanted, |e| &mut e.metadata, |a, b| a.spec == b.spec);
        exposure.status = status;
        self.exposure = Some(exposure.clone());
        exposure
    }

    fn apply_claim(&mut self, name: &str, wanted: &ResourceClaim) -> ResourceClaim {
        let live = self.claims.remove(name);
        let status = live.as_ref().and_then(|live| live.status.clone());
        let mut claim = self.applied(live, wanted, |c| &mut c.metadata, |a, b| a.spec == b.spec);
        claim.status = status;
        self.claims.insert(name.to_owned(), claim.clone());
        claim
    }

    /// Object after an apply.
    fn applied<K: Clone>(
        &mut self,
        live: Option<K>,
        wanted: &K,
        metadata: fn(&mut K) -> &mut ObjectMeta,
        same: fn(&K, &K) -> bool,
    ) -> K {
        let mut object = wanted.clone();
        let given = metadata(&mut object).clone();
        let mut held = match live {
            None => self.new_metadata(given.name.as_deref().unwrap()),
            Some(mut live) => {
                let is_same = same(&live, wanted);
                let mut held = metadata(&mut live).clone();
                held.generation = held.generation.map(|generation| generation + i64::from(!is_same));
                held
            }
        };
        held.labels.get_or_insert_default().extend(given.labels.into_iter().flatten());
        held.owner_references = given.owner_references;
        *metadata(&mut object) = held;
        object
    }

    /// One pass over all instances. Returns whether anything changed.
    pub(crate) fn provide(&mut self) -> bool {
        let before = self.claims.clone();
        let instances: BTreeSet<String> = self
            .claims
            .values()
            .map(|claim| claim.metadata.labels.as_ref().unwrap()[label::INSTANCE].clone())
            .collect();
        for instance in instances {
            self.provide_one(&instance);
        }
        self.provide_externally();
        before != self.claims
    }

    fn provide_one(&mut self, instance: &str) {
        let of_instance =
            |claim: &&ResourceClaim| claim.metadata.labels.as_ref().unwrap()[label::INSTANCE] == instance;
        let claims: Vec<_> = self.claims.values().filter(of_instance).cloned().collect();
        let engines = [
            ("builtin".to_owned(), Engine { additive: false, reads_params: true }),
            ("static".to_owned(), Engine { additive: true, reads_params: false }),
        ];
        let inputs = provision::Inputs {
            namespace: "default".to_owned(),
            instance: instance.to_owned(),
            in_use: claims.iter().filter(|claim| self.is_used(claim)).map(name_of).collect(),
            config: Arc::clone(&self.config),
            engines: engines.into(),
            claims,
        };
        let provision::Decision { add_finalizer, statuses, work, remove_finalizer, external: _ } =
            provision::decide(&inputs);
        for (name, status) in statuses {
            self.claims.get_mut(&name).unwrap().status = Some(status);
        }
        for (name, engine) in add_finalizer {
            let metadata = &mut self.claims.get_mut(&name).unwrap().metadata;
            metadata.finalizers = Some(vec![finalizer::PROVISIONER.to_owned()]);
            metadata.annotations.get_or_insert_default().insert(annotation::ENGINE.to_owned(), engine);
        }
        for name in remove_finalizer {
            self.claims.remove(&name);
        }
        match work {
            None => {}
            Some(Work::Release(release)) => {
                self.released.push((release.type_.clone(), release.policy));
                for name in release.claims {
                    self.claims.remove(&name);
                }
            }
            Some(Work::Ensure(instance)) => {
                let answer = self.answers.get(&instance.type_).unwrap_or(&Answer::Bind);
                let mut outputs = instance.entry.outputs.clone();
                if outputs.is_empty() {
                    let secret =
                        SecretKeyRef { name: format!("of-{}", instance.id), key: "password".to_owned() };
                    outputs = BTreeMap::from([
                        (
                            "host".to_owned(),
                            Output::Value(json!(format!("{}-{}.test", instance.type_, instance.class))),
                        ),
                        ("port".to_owned(), Output::Value(json!(5432))),
                        ("password".to_owned(), Output::SecretKeyRef(secret)),
                    ]);
                }
                let answer = match answer {
                    Answer::Bind => bound(outputs),
                    Answer::BindInPart => {
                        outputs.remove("host");
                        bound(outputs)
                    }
                    Answer::Make => Provision::Binding("It is being made.".to_owned()),
                    Answer::Wait => Provision::Pending("It waits for its turn.".to_owned()),
                    Answer::Hinder(reason) => Provision::Blocked(*reason, "It is tried again.".to_owned()),
                    Answer::Refuse(reason) => Provision::Failed(*reason, "There is none left.".to_owned()),
                };
                for name in &instance.claims {
                    let claim = self.claims.get_mut(name).unwrap();
                    claim.status = Some(provision::report(claim, &answer, instance.warning.as_deref()));
                }
            }
        }
    }

    /// External controller, which provides `queue`.
    fn provide_externally(&mut self) {
        let Some(answer) = self.answers.get("queue") else { return };
        let host = ("host".to_owned(), Output::Value(json!("queue.test")));
        let answer = match answer {
            Answer::Bind => bound(BTreeMap::from([host])),
            Answer::Refuse(reason) => Provision::Failed(*reason, "There is none left.".to_owned()),
            _ => Provision::Binding("It is being made.".to_owned()),
        };
        for claim in self.claims.values_mut().filter(|claim| claim.spec.type_ == "queue") {
            claim.status = Some(provision::report(claim, &answer, None));
        }
    }

    fn is_used(&self, claim: &ResourceClaim) -> bool {
        self.plan.as_ref().is_some_and(|plan| claim_state::is_in_use(claim, plan))
    }

    /// One pass of the runtime. Returns whether anything changed.
    pub(crate) fn run(&mut self) -> bool {
        let Some(plan) = &mut self.plan else { return false };
        let Running::Says(phase, reason) = &self.running else {
            return false;
        };
        if plan.metadata.deletion_timestamp.is_some() {
            self.plan = None;
            return true;
        }
        let before = plan.clone();
        plan.metadata.finalizers = Some(vec![finalizer::RUNTIME.to_owned()]);
        plan.status = Some(WorkloadPlanStatus {
            phase: *phase,
            reason: *reason,
            observed_revision: Some(plan.spec.revision.clone()),
            ..WorkloadPlanStatus::default()
        });
        let is_ready = *phase == Phase::Ready;
        let changed = before != *plan;
        let published = plan.spec.exposures.iter().filter(|_| is_ready).map(|exposure| exposure::Exposure {
            url: format!("http://{}.example.test", plan.spec.backend_id),
            priority: exposure.priority,
            ..exposure::Exposure::default()
        });
        let status = Some(WorkloadExposureStatus { exposures: published.collect(), conditions: Vec::new() });
        let Some(exposure) = &mut self.exposure else { return changed };
        let republished = exposure.status != status;
        exposure.status = status;
        changed || republished
    }

    /// Runs all controllers until nothing changes.
    pub(crate) fn settle(&mut self) -> WorkloadStatus {
        for _ in 0..MAX_PASSES {
            let changed = [self.reconcile(), self.provide(), self.run()];
            if changed == [false; 3] {
                return self.status();
            }
        }
        panic!("no end after {MAX_PASSES} passes: {self:#?}");
    }
}

/// Maximum number of passes until a fixture with a few dependencies settles.
const MAX_PASSES: usize = 40;

fn bound(outputs: BTreeMap<String, Output>) -> Provision {
    Provision::Bound(Bound { outputs, versions: BTreeMap::new(), message: "Ready.".to_owned() })
}

fn denied(reason: Reason) -> Denied {
    Denied { reason, message: "The platform does not take it.".to_owned(), cause: String::new() }
}

fn name_of(claim: &ResourceClaim) -> String {
    claim.metadata.name.clone().unwrap()
}

/// Marks an object as deleted. Returns whether it has finalizers.
fn mark_for_deletion(metadata: &mut ObjectMeta) -> bool {
    metadata.deletion_timestamp = Some(now());
    metadata.finalizers.iter().flatten().next().is_some()
}

fn now() -> Time {
    Time(Timestamp::from_second(NOW).unwrap())
}
