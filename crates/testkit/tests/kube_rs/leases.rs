//! Leader election with leases.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use k8s_openapi::{
    api::coordination::v1::Lease,
    apimachinery::pkg::apis::meta::v1::MicroTime,
    jiff::{SignedDuration, Timestamp},
};
use kube::{
    Api, Client,
    api::{Patch, PatchParams, PostParams},
};
use serde_json::{from_value, json};
use tokio::{sync::Barrier, task::JoinSet};

use crate::kube_rs::garden::{NAMESPACE, code};

on_both!(
    one_of_many_candidates_becomes_the_leader,
    optimistic_concurrency_loses_no_update,
    one_candidate_takes_over_an_expired_lease,
    a_lease_can_be_held_by_apply,
);

fn lease(holder: &str, renewed: Timestamp) -> Lease {
    let renewed = MicroTime(renewed);
    let spec = json!({"holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": renewed});
    from_value(json!({"metadata": {"name": "leader"}, "spec": spec})).unwrap()
}

async fn one_of_many_candidates_becomes_the_leader(client: Client) {
    let mut candidates = JoinSet::new();
    for n in 0..8 {
        let leases: Api<Lease> = Api::namespaced(client.clone(), NAMESPACE);
        candidates.spawn(async move {
            let mine = lease(&format!("candidate-{n}"), Timestamp::now());
            leases.create(&PostParams::default(), &mine).await
        });
    }
    let answers = candidates.join_all().await;
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 1);
    for refused in answers.into_iter().filter(Result::is_err) {
        assert_eq!(code(refused), 409);
    }
}

async fn one_candidate_takes_over_an_expired_lease(client: Client) {
    let leases: Api<Lease> = Api::namespaced(client.clone(), NAMESPACE);
    let old = Timestamp::now() - SignedDuration::from_mins(1);
    let expired = leases.create(&PostParams::default(), &lease("gone", old)).await.unwrap();
    let mut candidates = JoinSet::new();
    for n in 0..8 {
        let (leases, mut mine) = (leases.clone(), expired.clone());
        candidates.spawn(async move {
            let spec = mine.spec.as_mut().unwrap();
            spec.holder_identity = Some(format!("candidate-{n}"));
            spec.renew_time = Some(MicroTime(Timestamp::now()));
            leases.replace("leader", &PostParams::default(), &mine).await
        });
    }
    let answers = candidates.join_all().await;
    let [winner] = &answers.iter().filter_map(|answer| answer.as_ref().ok()).collect::<Vec<_>>()[..] else {
        panic!("one takes over: {answers:?}")
    };
    assert_eq!(&leases.get("leader").await.unwrap(), *winner);
    for refused in answers.into_iter().filter(Result::is_err) {
        assert_eq!(code(refused), 409);
    }
}

async fn optimistic_concurrency_loses_no_update(client: Client) {
    let leases: Api<Lease> = Api::namespaced(client, NAMESPACE);
    leases.create(&PostParams::default(), &lease("nobody", Timestamp::now())).await.unwrap();
    let conflicts = Arc::new(AtomicUsize::new(0));
    let all_have_read = Arc::new(Barrier::new(4));
    let mut writers = JoinSet::new();
    for n in 0..4 {
        let (leases, conflicts) = (leases.clone(), Arc::clone(&conflicts));
        let all_have_read = Arc::clone(&all_have_read);
        writers.spawn(async move {
            let (mut done, mut met) = (0, false);
            while done < 10 {
                let mut lease = leases.get("leader").await.unwrap();
                let spec = lease.spec.as_mut().unwrap();
                spec.lease_transitions = Some(spec.lease_transitions.unwrap_or(0) + 1);
                spec.holder_identity = Some(format!("writer-{n}"));
                // All read before the first write, so that all but one are stale.
                if !std::mem::replace(&mut met, true) {
                    all_have_read.wait().await;
                }
                match leases.replace("leader", &PostParams::default(), &lease).await {
                    Ok(_) => done += 1,
                    refused => {
                        assert_eq!(code(refused), 409);
                        conflicts.fetch_add(1, Ordering::Relaxed);
                    }
                }
            }
        });
    }
    writers.join_all().await;
    assert_eq!(leases.get("leader").await.unwrap().spec.unwrap().lease_transitions, Some(40));
    assert!(conflicts.load(Ordering::Relaxed) >= 3, "the writers conflicted");
}

async fn a_lease_can_be_held_by_apply(client: Client) {
    let leases: Api<Lease> = Api::namespaced(client, NAMESPACE);
    let mine = |holder: &str| {
        Patch::Apply(json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": "leader"}, "spec": {"holderIdentity": holder, "leaseDurationSeconds": 15},
        }))
    };
    leases.patch("leader", &PatchParams::apply("ann"), &mine("ann")).await.unwrap();
    assert_eq!(code(leases.patch("leader", &PatchParams::apply("bob"), &mine("bob")).await), 409);
    assert_eq!(leases.get("leader").await.unwrap().spec.unwrap().holder_identity.as_deref(), Some("ann"));
}
