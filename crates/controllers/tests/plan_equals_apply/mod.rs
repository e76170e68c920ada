//! Plan equals apply: after a reconcile the API has exactly the previewed objects, on built-in and external runtimes.

mod change;
mod platform;

use std::collections::{BTreeMap, BTreeSet};

use kube::{
    Api, Resource, ResourceExt,
    api::{DeleteParams, Patch, PatchParams},
};
use orchestra_api::{
    Condition, PlatformPolicy, ResourceClaim, Workload, WorkloadExposure, WorkloadPlan, finalizer,
    workload::WorkloadStatus,
};
use orchestra_core::{
    Applied, Decision, Inputs,
    decision::{Deferral, DeletionKind},
    plan,
    preview::{Action, of_deletion, preview},
};
use orchestra_testkit::scripted::RunScript;
use proptest::{
    strategy::{Strategy as _, ValueTree},
    test_runner::{Config as Running, RngAlgorithm, TestRng, TestRunner},
};
use serde::Serialize;
use serde_json::{Value as Json, json};

use self::{
    change::{Change, change},
    platform::{BUILT_IN, EXTERNAL, NAME, Platform},
};

/// Random histories of a Workload; each takes a few passes of all controllers.
const HISTORIES: usize = 12;

fn specs<K: Resource<DynamicType = ()>, S: Serialize>(
    all: &[K],
    spec: fn(&K) -> &S,
) -> BTreeMap<String, Json> {
    all.iter().map(|object| (object.name_any(), json!(spec(object)))).collect()
}

/// Specs of a kind in the API after a decision, by name.
fn expected(
    mut specs: BTreeMap<String, Json>,
    written: BTreeMap<String, Json>,
    deleted: &[&str],
) -> BTreeMap<String, Json> {
    specs.extend(written);
    specs.retain(|name, _| !deleted.contains(&name.as_str()));
    specs
}

async fn check(platform: &Platform, before: &Inputs, decision: &Decision) {
    let deleted = |kind: DeletionKind| {
        let deletion = decision.delete.iter().filter(move |deletion| deletion.kind == kind);
        deletion.map(|deletion| deletion.name.as_str()).collect::<Vec<_>>()
    };
    let after = platform.inputs().await;
    // A claim with a finalizer is terminating, and gone later.
    let stays = |claim: &&ResourceClaim| claim.metadata.deletion_timestamp.is_none();
    let claims: Vec<_> = after.claims.iter().filter(stays).cloned().collect();
    let before_claims: Vec<_> = before.claims.iter().filter(stays).cloned().collect();
    assert_eq!(
        specs(&claims, |claim| &claim.spec),
        expected(
            specs(&before_claims, |claim| &claim.spec),
            specs(&decision.claims, |claim| &claim.spec),
            &deleted(DeletionKind::ResourceClaim),
        ),
    );
    let plans = |plan: &Option<WorkloadPlan>| specs(plan.as_slice(), |plan| &plan.spec);
    assert_eq!(plans(&after.plan), expected(plans(&before.plan), plans(&decision.plan), &[]));
    let exposures =
        |exposure: &Option<WorkloadExposure>| specs(exposure.as_slice(), |exposure| &exposure.spec);
    assert_eq!(
        exposures(&after.exposure),
        expected(exposures(&before.exposure), exposures(&decision.exposure), &[])
    );
    // The next decision has no changes, and defers the same.
    let next = plan(&after);
    assert!(next.claims.is_empty() && next.plan.is_none() && next.exposure.is_none(), "{next:#?}");
    assert_eq!(next.deferred, decision.deferred);
    let expected = next.status_inputs.report(&Applied::default());
    let deferred = next.report(&Applied::default()).deferred;
    match (&after.workload.status, deferred) {
        (None, deferred) => assert_eq!(deferred, Some(Deferral::FirstStatus)),
        (Some(reported), Some(Deferral::Address)) => {
            assert_eq!(WorkloadStatus { endpoint: None, ..expected }, *reported);
        }
        (Some(reported), deferred) => {
            assert_eq!(deferred, None);
            assert_eq!(expected, *reported);
        }
    }
}

/// The finalizer of built-in runtimes is on their plans, and on no others.
fn check_finalizer(plan: &WorkloadPlan) {
    let has_finalizer = plan.finalizers().iter().any(|name| name == finalizer::RUNTIME);
    assert_eq!(has_finalizer, plan.spec.runtime_class == BUILT_IN, "{plan:#?}");
}

/// Workload without dependencies.
fn simple() -> Json {
    json!({"containers": {"app": {"image": "nginx"}}})
}

async fn follow_histories(runtime_class: &str) {
    let mut runner =
        TestRunner::new_with_rng(Running::default(), TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let histories = proptest::collection::vec(change(), 1..4);
    for _ in 0..HISTORIES {
        let history = histories.new_tree(&mut runner).unwrap().current();
        let platform = Platform::start(runtime_class).await;
        platform.apply(&json!({}), &simple()).await;
        for change in &history {
            match change {
                Change::Workload(annotations, spec) => {
                    platform.apply(annotations, spec).await;
                }
                Change::Policy(spec) => {
                    let policies: Api<PlatformPolicy> = Api::all(platform.client());
                    platform.write(policies, "PlatformPolicy", "policy", &json!({}), spec).await;
                }
            }
            let before = platform.inputs().await;
            let decision = plan(&before);
            // A runtime that is still starting leads to no further decision.
            platform.orchestrate(RunScript::Start).await;
            check(&platform, &before, &decision).await;
            platform.settle().await;
            platform.all().await.iter().for_each(check_finalizer);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_shows_what_apply_does_on_an_external_runtime() {
    Box::pin(follow_histories(EXTERNAL)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_shows_what_apply_does_on_a_built_in_runtime() {
    Box::pin(follow_histories(BUILT_IN)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_that_its_runtime_cannot_run_is_refused_as_the_preview_shows() {
    let platform = Platform::start(BUILT_IN).await;
    platform.apply(&json!({}), &simple()).await;
    let lack = RunScript::Lack("`containers.app.image` must be `.`.".to_owned());
    let context = platform.preview_context(lack.clone());
    let previewed = preview(&platform.inputs().await, &context).status;
    // The first status is deferred; the second pass starts with the refusal.
    platform.orchestrate(lack.clone()).await;
    platform.orchestrate(lack).await;
    let reported = platform.inputs().await.workload.status.unwrap();
    let texts = |status: &WorkloadStatus| {
        let conditions = status.conditions.iter();
        let text = |condition: &Condition| (condition.type_, condition.reason, condition.message.clone());
        conditions.map(text).collect::<Vec<_>>()
    };
    assert_eq!(texts(&reported), texts(&previewed));
    assert!(texts(&reported)[2].2.contains("cannot run this"), "{reported:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_move_waits_for_the_first_report_of_the_current_runtime_as_the_plan_shows() {
    let platform = Platform::start(BUILT_IN).await;
    platform.apply(&json!({}), &simple()).await;
    platform.settle().await;
    // A platform that was killed before the first report leaves no status.
    let plans: Api<WorkloadPlan> = Api::default_namespaced(platform.client());
    let unreported = Patch::Merge(json!({"status": null}));
    plans.patch_status(NAME, &PatchParams::default(), &unreported).await.unwrap();
    platform.apply(&json!({"score.dev/move": "there"}), &simple()).await;
    let decision = plan(&platform.inputs().await);
    assert_eq!((decision.deferred.as_slice(), &decision.plan), ([Deferral::Move].as_slice(), &None));
    platform.settle().await;
    let moved = platform.inputs().await.plan.unwrap();
    assert_eq!(moved.spec.backend_id, "there");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deletion_removes_exactly_what_the_preview_shows() {
    for runtime_class in [BUILT_IN, EXTERNAL] {
        let platform = Platform::start(runtime_class).await;
        let spec = json!({
            "containers": {"app": {"image": "nginx", "variables": {"HOST": "${resources.db.host}"}}},
            "resources": {"db": {"type": "postgres"}, "cache": {"type": "redis"}},
        });
        platform.apply(&json!({}), &spec).await;
        platform.settle().await;
        let shown = of_deletion(&platform.inputs().await).changes;
        assert!(shown.iter().all(|change| change.action == Action::Delete), "{shown:#?}");
        let objects = platform.objects().await;
        assert_eq!(
            shown.iter().map(|change| (change.kind, change.name.clone())).collect::<BTreeSet<_>>(),
            objects
        );
        let workloads: Api<Workload> = Api::default_namespaced(platform.client());
        workloads.delete(NAME, &DeleteParams::default()).await.unwrap();
        assert_eq!(platform.remaining().await, BTreeSet::new());
    }
}
