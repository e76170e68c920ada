//! Simulated platform: decisions are executed on inputs as controllers would.

use std::{collections::BTreeSet, sync::Arc};

use k8s_openapi::{apimachinery::pkg::apis::meta::v1::Time, jiff::Timestamp};
use orchestra_api::{
    PlatformPolicy, Workload,
    claim::{Output, Phase, ResourceClaimStatus},
    condition::Reason,
    exposure::{Exposure, WorkloadExposureStatus},
    finalizer,
    plan::{self, WorkloadPlanStatus},
    reference::SecretKeyRef,
};
use serde_json::{Value as Json, json};

use crate::{
    Inputs, config,
    decision::{DeletionKind, Finalizer},
    inputs::{NamespaceFacts, QueueState},
    policy,
    preview::{self, Explained, Preview, PreviewContext},
    provision::Engine,
};

const CONFIG: &str = r"
apiVersion: score.dev/v1b1
kind: OrchestratorConfig
spec:
  profiles:
    - name: web-service
      backends:
        - {backendId: here, runtimeClass: process, priority: 10, constraints: {features: [fast], resources: {memory: 0-1Gi}}}
        - {backendId: there, runtimeClass: kubernetes, priority: 5, version: 1.2.0, constraints: {features: [fast, big]}}
  provisioners:
    - {type: postgres, engine: builtin}
    - {type: dns, engine: builtin}
  defaults: {profile: web-service}
";

/// Platform with at most one Workload.
pub(super) struct Fixture {
    pub(super) inputs: Inputs,
    pub(super) context: PreviewContext,
    pub(super) live: bool,
}

impl Fixture {
    /// Platform without Workloads.
    pub(super) fn empty() -> Self {
        let inputs = Inputs {
            workload: Workload::new("web", serde_json::from_value(json!({})).unwrap()),
            namespace: Some(NamespaceFacts::default()),
            policies: Vec::new(),
            unreadable_policies: Vec::new(),
            config: Arc::new(config::check(CONFIG).unwrap()),
            claims: Vec::new(),
            plan: None,
            exposure: None,
            runtimes: BTreeSet::new(),
            now: Timestamp::UNIX_EPOCH,
            queue: QueueState::default(),
        };
        Self { inputs, context: PreviewContext::default(), live: false }
    }

    pub(super) fn with_policy(mut self, name: &str, spec: Json) -> Self {
        self.inputs.policies.push(PlatformPolicy::new(name, serde_json::from_value(spec).unwrap()));
        self
    }

    /// Adds a policy that cannot be deserialized, with its last accepted version.
    pub(super) fn with_unreadable_policy(mut self, name: &str, in_force: &Json) -> Self {
        let object = json!({"metadata": {"name": name}, "spec": 7, "status": {"inForce": in_force}});
        let (policies, found) = policy::unreadable::resolve(self.inputs.policies, &[object]);
        self.inputs.policies = policies;
        self.inputs.unreadable_policies.extend(found);
        self
    }

    /// Inputs of a preview of this Workload.
    pub(super) fn proposing(&self, annotations: Json, spec: Json) -> Inputs {
        let mut proposed = Workload::new("web", serde_json::from_value(spec).unwrap());
        proposed.metadata.namespace = Some("shop".to_owned());
        proposed.metadata.annotations = Some(serde_json::from_value(annotations).unwrap());
        let live = self.live.then_some(&self.inputs.workload);
        Inputs { workload: preview::propose(live, proposed), ..self.inputs.clone() }
    }

    pub(super) fn preview(&self, spec: Json) -> Preview {
        self.preview_annotated(json!({}), spec)
    }

    pub(super) fn preview_annotated(&self, annotations: Json, spec: Json) -> Preview {
        let live = self.live.then(|| self.inputs.workload.clone());
        let context = PreviewContext { live, ..self.context.clone() };
        preview::preview(&self.proposing(annotations, spec), &context)
    }

    pub(super) fn explain(&self) -> Explained {
        preview::explain(&self.inputs, &self.context)
    }

    /// Adds provisioner entries to the config, and makes the engines `builtin` and `static` available.
    pub(super) fn with_provisioners(mut self, entries: &str) -> Self {
        let document = CONFIG.replace("  provisioners:\n", &format!("  provisioners:\n{entries}"));
        self.inputs.config = Arc::new(config::check(&document).unwrap());
        let engines = [
            ("builtin".to_owned(), Engine { additive: false, reads_params: true }),
            ("static".to_owned(), Engine { additive: true, reads_params: false }),
        ];
        self.context.engines = Some(engines.into());
        self
    }

    /// Applies a Workload, and executes one decision.
    pub(super) fn apply(&mut self, spec: Json) {
        self.apply_annotated(json!({}), spec);
    }

    pub(super) fn apply_annotated(&mut self, annotations: Json, spec: Json) {
        self.inputs = self.proposing(annotations, spec);
        if !self.live {
            self.inputs.workload.metadata.uid = Some("uid-1".to_owned());
        }
        self.live = true;
        self.step();
    }

    pub(super) fn delete(&mut self) {
        self.inputs.workload.metadata.deletion_timestamp = Some(Time(self.inputs.now));
        self.step();
    }

    /// Executes one decision. A deleted plan stays until its finalizer is removed.
    pub(super) fn step(&mut self) {
        let decision = crate::plan(&self.inputs);
        let applied = preview::as_applied(&decision, &self.inputs.owned());
        let status = decision.status_inputs.report(&applied);
        if decision.finalizer == Finalizer::Add {
            self.inputs.workload.metadata.finalizers = Some(vec![finalizer::WORKLOAD.to_owned()]);
        }
        for claim in applied.claims.into_values().map(Result::unwrap) {
            self.inputs.claims.retain(|held| held.metadata.name != claim.metadata.name);
            self.inputs.claims.push(claim);
        }
        self.inputs.plan = applied.plan.map(Result::unwrap).or(self.inputs.plan.take());
        self.inputs.exposure = applied.exposure.map(Result::unwrap).or(self.inputs.exposure.take());
        let now = Some(Time(self.inputs.now));
        for deletion in decision.delete {
            match deletion.kind {
                DeletionKind::WorkloadExposure => self.inputs.exposure = None,
                DeletionKind::WorkloadPlan => {
                    let metadata = &mut self.inputs.plan.as_mut().unwrap().metadata;
                    metadata.deletion_timestamp.clone_from(&now);
                }
                DeletionKind::ResourceClaim => {
                    self.inputs.claims.retain(|claim| claim.metadata.name.as_ref() != Some(&deletion.name));
                }
            }
        }
        self.inputs.workload.status = Some(status);
    }

    /// Sets the status of a dependency, as its provisioner would.
    pub(super) fn report_claim(&mut self, key: &str, phase: Phase, reason: Option<Reason>, message: &str) {
        let claim = self.inputs.claims.iter_mut().find(|claim| claim.spec.key == key).unwrap();
        claim.status = Some(ResourceClaimStatus {
            phase,
            reason,
            message: Some(message.to_owned()),
            ..ResourceClaimStatus::default()
        });
        self.step();
    }

    /// Binds a dependency, with a host and a secret password.
    pub(super) fn bind(&mut self, key: &str) {
        let claim = self.inputs.claims.iter_mut().find(|claim| claim.spec.key == key).unwrap();
        let password = SecretKeyRef { name: "db-secret".to_owned(), key: "password".to_owned() };
        claim.status = Some(ResourceClaimStatus {
            phase: Phase::Bound,
            outputs_available: true,
            outputs: [
                ("host".to_owned(), Output::Value(json!("db.example.test"))),
                ("password".to_owned(), Output::SecretKeyRef(password)),
            ]
            .into(),
            outputs_revision: Some("r1".to_owned()),
            ..ResourceClaimStatus::default()
        });
        self.step();
    }

    /// Runs the plan.
    pub(super) fn run(&mut self) {
        let plan = self.inputs.plan.as_mut().unwrap();
        plan.metadata.finalizers = Some(vec![finalizer::RUNTIME.to_owned()]);
        plan.status = Some(WorkloadPlanStatus {
            phase: plan::Phase::Ready,
            observed_revision: Some(plan.spec.revision.clone()),
            ..WorkloadPlanStatus::default()
        });
        let url = "http://web.example.test".to_owned();
        let exposures = vec![Exposure { url, ..Exposure::default() }];
        self.inputs.exposure.as_mut().unwrap().status =
            Some(WorkloadExposureStatus { exposures, ..WorkloadExposureStatus::default() });
        self.step();
    }
}

/// Workload with a database.
pub(super) fn with_database(greeting: &str) -> Json {
    json!({
        "containers": {"app": {"image": "nginx", "variables": {
            "DB": "postgres://u:${resources.db.password}@${resources.db.host}/", "GREETING": greeting,
        }}},
        "service": {"ports": {"http": {"port": 80}}},
        "resources": {"db": {"type": "postgres"}},
    })
}

/// Platform with a ready Workload with a database.
pub(super) fn ready() -> Fixture {
    let mut fixture = Fixture::empty();
    fixture.apply(with_database("hello"));
    fixture.bind("db");
    fixture.run();
    fixture
}

/// Compares texts, apart from blank lines at both ends.
#[track_caller]
pub(super) fn assert_text(found: &impl std::fmt::Display, expected: &str) {
    let found = found.to_string();
    assert_eq!(found.trim_end(), expected.trim(), "found:\n{found}");
}
