//! The finalizer helper of kube.

use std::{
    convert::Infallible,
    io,
    sync::{Arc, Mutex},
};

use kube::{
    Api, Client, ResourceExt,
    api::{DeleteParams, Patch, PatchParams, PostParams},
    runtime::{
        controller::Action,
        finalizer::{self, Event, finalizer},
    },
};
use serde_json::json;

use crate::kube_rs::garden::{Garden, garden, install};

on_both!(
    the_finalizer_is_added_then_applied_then_cleaned_up,
    an_object_stays_while_its_cleanup_fails,
    finalizers_of_several_controllers_are_independent,
    a_stale_object_does_not_remove_the_finalizer_of_another_controller,
);

const OURS: &str = "botany.example.org/weeding";
const OTHERS: &str = "botany.example.org/pruning";

/// Runs the helper on the current object, and returns the callbacks that it invoked.
async fn step(gardens: &Api<Garden>, name: &str, of: &str) -> Vec<&'static str> {
    step_on(gardens, gardens.get(name).await.unwrap(), of).await.unwrap()
}

async fn step_on(
    gardens: &Api<Garden>,
    garden: Garden,
    of: &str,
) -> Result<Vec<&'static str>, finalizer::Error<Infallible>> {
    let calls = Mutex::new(Vec::new());
    finalizer(gardens, of, Arc::new(garden), async |event| {
        calls.lock().unwrap().push(match event {
            Event::Apply(_) => "apply",
            Event::Cleanup(_) => "cleanup",
        });
        Ok::<_, Infallible>(Action::await_change())
    })
    .await?;
    Ok(calls.into_inner().unwrap())
}

async fn the_finalizer_is_added_then_applied_then_cleaned_up(client: Client) {
    let gardens = install(&client).await;
    gardens.create(&PostParams::default(), &garden("one", &[])).await.unwrap();
    assert!(step(&gardens, "one", OURS).await.is_empty(), "first the finalizer");
    assert_eq!(gardens.get("one").await.unwrap().finalizers(), [OURS]);
    assert_eq!(step(&gardens, "one", OURS).await, ["apply"]);

    let going = gardens
        .delete("one", &DeleteParams::default())
        .await
        .unwrap()
        .left()
        .expect("the finalizer blocks the deletion");
    assert!(going.metadata.deletion_timestamp.is_some());
    assert_eq!(step(&gardens, "one", OURS).await, ["cleanup"]);
    assert!(gardens.get_opt("one").await.unwrap().is_none());
}

async fn an_object_stays_while_its_cleanup_fails(client: Client) {
    let gardens = install(&client).await;
    gardens.create(&PostParams::default(), &garden("one", &[])).await.unwrap();
    step(&gardens, "one", OURS).await;
    gardens.delete("one", &DeleteParams::default()).await.unwrap();
    let object = Arc::new(gardens.get("one").await.unwrap());
    let failed = finalizer(&gardens, OURS, object, async |_| Err(io::Error::other("no rake"))).await;
    assert!(matches!(failed, Err(finalizer::Error::CleanupFailed(_))), "{failed:?}");
    assert_eq!(gardens.get("one").await.unwrap().finalizers(), [OURS]);

    let more = Patch::Merge(json!({"metadata": {"finalizers": [OURS, OTHERS]}}));
    let refused = gardens.patch("one", &PatchParams::default(), &more).await;
    assert_eq!(crate::kube_rs::garden::code(refused), 422, "finalizers cannot be added during deletion");
    assert_eq!(step(&gardens, "one", OURS).await, ["cleanup"]);
}

async fn finalizers_of_several_controllers_are_independent(client: Client) {
    let gardens = install(&client).await;
    gardens.create(&PostParams::default(), &garden("one", &[])).await.unwrap();
    step(&gardens, "one", OURS).await;
    step(&gardens, "one", OTHERS).await;
    gardens.delete("one", &DeleteParams::default()).await.unwrap();
    assert_eq!(step(&gardens, "one", OURS).await, ["cleanup"]);
    assert_eq!(gardens.get("one").await.unwrap().finalizers(), [OTHERS]);
    assert_eq!(step(&gardens, "one", OTHERS).await, ["cleanup"]);
    assert!(gardens.get_opt("one").await.unwrap().is_none());
}

async fn a_stale_object_does_not_remove_the_finalizer_of_another_controller(client: Client) {
    let gardens = install(&client).await;
    let fresh = gardens.create(&PostParams::default(), &garden("one", &[])).await.unwrap();
    step(&gardens, "one", OURS).await;
    let added = step_on(&gardens, fresh, OTHERS).await;
    let Err(finalizer::Error::AddFinalizer(kube::Error::Api(status))) = added else { panic!("{added:?}") };
    assert_eq!(status.code, 422, "{status:?}");

    step(&gardens, "one", OTHERS).await;
    gardens.delete("one", &DeleteParams::default()).await.unwrap();
    let outdated = gardens.get("one").await.unwrap();
    step(&gardens, "one", OURS).await;
    let removed = step_on(&gardens, outdated, OTHERS).await;
    let Err(finalizer::Error::RemoveFinalizer(kube::Error::Api(status))) = removed else {
        panic!("{removed:?}")
    };
    assert_eq!(status.code, 422, "{status:?}");
    assert_eq!(gardens.get("one").await.unwrap().finalizers(), [OTHERS]);
}
