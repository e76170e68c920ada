//! Rules of `docs/spec/lifecycle.md` for a provisioner that the orchestrator does not exercise: here the test writes claims and
//! plans.

use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use orchestra_api::{
    ResourceClaim, WorkloadPlan,
    claim::{Phase, ResourceClaimStatus},
};
use orchestra_e2e::platform::{Embedded, eventually};
use serde_json::{Value as Json, from_value, json};

use super::fixture::Fixture;

fn claim(workload: &str, params: &Json, metadata: &Json) -> ResourceClaim {
    from_value(json!({
        "apiVersion": "score.dev/v1b1", "kind": "ResourceClaim",
        "metadata": {"name": format!("{workload}-jobs"), "labels": {"score.dev/instance": "jobs"}},
        "spec": {
            "workloadRef": {"name": workload, "uid": "u"}, "key": "jobs", "type": "queue", "class": "default", "id": "jobs",
            "params": params, "metadata": metadata,
            "placement": {"runtimeClass": "example", "backendId": "here"}, "deprovisionPolicy": "Delete",
        },
    }))
    .unwrap()
}

/// Plan that no longer names the claim, with the finalizer of a built-in runtime and without a status.
fn plan(workload: &str) -> WorkloadPlan {
    from_value(json!({
        "apiVersion": "score.dev/v1b1", "kind": "WorkloadPlan",
        "metadata": {"name": workload, "finalizers": ["score.dev/runtime"]},
        "spec": {
            "workloadRef": {"name": workload, "uid": "u"}, "observedWorkloadGeneration": 2, "runtimeClass": "scripted",
            "profile": "web-service", "backendId": "ours", "kind": "Service", "containers": {}, "revision": "r2",
        },
    }))
    .unwrap()
}

impl Fixture {
    async fn create_claim(&self, claim: &ResourceClaim) {
        self.claims().create(&PostParams::default(), claim).await.unwrap();
    }

    /// Waits until the status of a claim is as expected, and returns it.
    async fn until_claim(
        &self,
        name: &str,
        what: &str,
        expected: impl Fn(&ResourceClaimStatus) -> bool,
    ) -> ResourceClaimStatus {
        let waited = eventually(format!("{name} is {what}"), async || {
            let claim = self.claims().get(name).await?;
            match claim.status.clone().filter(&expected) {
                Some(status) => Ok(status),
                None => Err(format!("{:#}", json!(claim)).into()),
            }
        });
        waited.await.unwrap()
    }
}

fn is_bound(status: &ResourceClaimStatus) -> bool {
    status.phase == Phase::Bound
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deleted_claim_is_provided_until_no_version_can_use_it() {
    let server = Embedded::start().await.unwrap();
    let fixture = Fixture::set_up(server.kubeconfig()).await;
    fixture.plans().create(&PostParams::default(), &plan("shop")).await.unwrap();
    fixture.create_claim(&claim("shop", &json!({"shards": 1}), &Json::Null)).await;
    let provisioner = fixture.provisioner();
    let bound = fixture.until_claim("shop-jobs", "bound", is_bound).await;

    // A version that was started before the first status may use it.
    fixture.claims().delete("shop-jobs", &DeleteParams::default()).await.unwrap();
    let rotated = json!({"stringData": {"token": "rotated"}});
    fixture.secrets().patch("queue-jobs", &PatchParams::default(), &Patch::Merge(rotated)).await.unwrap();
    let provided =
        |status: &ResourceClaimStatus| is_bound(status) && status.outputs_revision != bound.outputs_revision;
    fixture.until_claim("shop-jobs", "bound to the rotated token", provided).await;

    // The new version, which does not use it, is ready.
    let ready = json!({"status": {"phase": "Ready", "reason": "Succeeded", "observedRevision": "r2"}});
    fixture.plans().patch_status("shop", &PatchParams::default(), &Patch::Merge(ready)).await.unwrap();
    let waited =
        eventually("the claim is released", async || match fixture.claims().get_opt("shop-jobs").await? {
            None => Ok(()),
            Some(claim) => Err(format!("{:#}", json!(claim)).into()),
        });
    waited.await.unwrap();
    assert_eq!(fixture.all_secrets().await.len(), 0);
    drop(provisioner);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_with_other_params_or_metadata_than_the_first_fails() {
    let server = Embedded::start().await.unwrap();
    let fixture = Fixture::set_up(server.kubeconfig()).await;
    let (params, metadata) = (json!({"shards": 1}), json!({"team": "a"}));
    // Claims of one second are ordered by name.
    fixture.create_claim(&claim("a-first", &params, &metadata)).await;
    let provisioner = fixture.provisioner();
    fixture.until_claim("a-first-jobs", "bound", is_bound).await;
    for (workload, params, metadata, difference) in [
        ("b-other-params", &json!({"shards": 3}), &metadata, Some("`shards` in its params")),
        ("c-other-metadata", &params, &json!({"team": "b"}), Some("`team` in its metadata")),
        ("d-fewer-metadata", &params, &json!({}), Some("`team` in its metadata")),
        ("e-none", &Json::Null, &Json::Null, None),
        ("f-same", &params, &metadata, None),
    ] {
        fixture.create_claim(&claim(workload, params, metadata)).await;
        let has_ended = |status: &ResourceClaimStatus| status.phase == Phase::Failed || is_bound(status);
        let status = fixture.until_claim(&format!("{workload}-jobs"), "bound or failed", has_ended).await;
        let message = status.message.clone().unwrap_or_default();
        match difference {
            Some(difference) => {
                assert!(message.contains("`a-first`") && message.contains(difference), "{status:?}");
            }
            None => assert!(is_bound(&status), "{status:?}"),
        }
    }
    drop(provisioner);
}
