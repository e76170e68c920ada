use orchestra_api::{annotation, claim::ResourceClaimSpec};
use serde_json::json;

use super::*;

const MESSAGE: &str = "It is missing.";

fn claim() -> ResourceClaim {
    let spec: ResourceClaimSpec = serde_json::from_value(json!({
        "workloadRef": {"name": "web", "uid": "u"}, "key": "db", "type": "postgres", "class": "default",
        "placement": {"runtimeClass": "kubernetes", "backendId": "here"}, "deprovisionPolicy": "Delete",
    }))
    .unwrap();
    ResourceClaim::new("web-db", spec)
}

/// Phase of a claim after an answer of its engine, and when it is reconciled again.
fn reported(answer: Result<Provision, DriverError>) -> (Phase, Requeue) {
    let engine = Engine { additive: false, reads_params: true };
    let inputs = Inputs {
        namespace: "shop".to_owned(),
        instance: "db".to_owned(),
        claims: vec![claim()],
        in_use: BTreeSet::new(),
        config: std::sync::Arc::new(Config::builtin_for(crate::config::PlatformKind::CLUSTER)),
        engines: [("template".to_owned(), engine)].into(),
    };
    let Some(Work::Ensure(instance)) = decide(&inputs).work else { panic!("it is not provided") };
    let Report { statuses, requeue, .. } = report_ensured(&inputs, &instance, answer);
    (statuses["web-db"].phase, requeue)
}

#[test]
fn a_failure_is_checked_again_unless_a_watch_reports_what_fixes_it() {
    let (reason, message) = (Reason::BindingFailed, MESSAGE.to_owned());
    let transient = DriverError::transient(reason, MESSAGE);
    let unwatched = Requeue::After(UNWATCHED_CHECK_INTERVAL);
    for (answer, expected) in [
        (Ok(Provision::Failed(reason, message.clone())), (Phase::Failed, Requeue::OnChange)),
        (Err(DriverError::refused(reason, message.clone())), (Phase::Failed, Requeue::OnChange)),
        (Err(DriverError::unwatched(reason, message)), (Phase::Failed, unwatched)),
        (Err(transient.clone()), (Phase::Binding, Requeue::Backoff(transient.into()))),
    ] {
        assert_eq!(reported(answer.clone()), expected, "{answer:?}");
    }
}

#[test]
fn an_instance_of_a_built_in_engine_is_not_left_to_an_external_controller() {
    let config = "{apiVersion: score.dev/v1b1, kind: OrchestratorConfig, spec: {profiles: [], provisioners: \
                  [{type: postgres, engine: external}]}}";
    let mut claim = claim();
    claim.metadata.finalizers = Some(vec![finalizer::PROVISIONER.to_owned()]);
    claim.metadata.annotations = Some([(annotation::ENGINE.to_owned(), "template".to_owned())].into());
    let decide = |claim: ResourceClaim| {
        decide(&Inputs {
            namespace: "shop".to_owned(),
            instance: "db".to_owned(),
            claims: vec![claim],
            in_use: BTreeSet::new(),
            config: std::sync::Arc::new(crate::config::check(config).unwrap()),
            engines: [("template".to_owned(), Engine::default())].into(),
        })
    };
    let decision = decide(claim);
    assert!(!decision.external);
    let message = decision.statuses["web-db"].message.clone().unwrap();
    assert!(message.starts_with("It was provisioned by the engine `template`"), "{message}");
    assert!(decide(self::claim()).external, "a new instance");
}
