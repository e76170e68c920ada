//! Status subresource.

use kube::{
    Api, Client, ResourceExt,
    api::{Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};

use crate::kube_rs::garden::{Garden, GardenStatus, code, garden, install};

on_both!(
    the_status_is_written_by_its_subresource_only,
    replacing_a_status_needs_the_latest_resource_version,
    several_managers_apply_a_status_without_conflict,
);

async fn planted(gardens: &Api<Garden>, planted: u32) -> Garden {
    let patch = Patch::Merge(json!({"status": {"planted": planted}}));
    gardens.patch_status("one", &PatchParams::default(), &patch).await.unwrap()
}

async fn the_status_is_written_by_its_subresource_only(client: Client) {
    let gardens = install(&client).await;
    let mut object = garden("one", &["rose"]);
    object.status = Some(GardenStatus { planted: 7, ..GardenStatus::default() });
    let created = gardens.create(&PostParams::default(), &object).await.unwrap();
    assert_eq!(created.status, None, "create ignores the status");

    let reported = planted(&gardens, 1).await;
    assert_eq!(reported.status.as_ref().map(|status| status.planted), Some(1));
    assert_eq!(reported.metadata.generation, Some(1), "the status does not change the generation");
    let both = Patch::Merge(json!({"spec": {"plants": ["fern"]}, "status": {"planted": 2}}));
    let here = gardens.patch("one", &PatchParams::default(), &both).await.unwrap();
    assert_eq!((here.spec.plants[0].as_str(), here.status.unwrap().planted), ("fern", 1));
    let both = Patch::Merge(json!({"spec": {"plants": ["moss"]}, "status": {"planted": 2}}));
    let there = gardens.patch_status("one", &PatchParams::default(), &both).await.unwrap();
    assert_eq!((there.spec.plants[0].as_str(), there.status.unwrap().planted), ("fern", 2));
    assert_eq!(gardens.get_status("one").await.unwrap().status.unwrap().planted, 2);
}

async fn replacing_a_status_needs_the_latest_resource_version(client: Client) {
    let gardens = install(&client).await;
    let mut object = gardens.create(&PostParams::default(), &garden("one", &["rose"])).await.unwrap();
    object.status = Some(GardenStatus { planted: 3, ..GardenStatus::default() });
    object.spec.plants.clear();
    let replaced = gardens.replace_status("one", &PostParams::default(), &object).await.unwrap();
    assert_eq!((replaced.spec.plants.len(), replaced.status.unwrap().planted), (1, 3));
    assert_eq!(code(gardens.replace_status("one", &PostParams::default(), &object).await), 409);
}

async fn several_managers_apply_a_status_without_conflict(client: Client) {
    let gardens = install(&client).await;
    gardens.create(&PostParams::default(), &garden("one", &[])).await.unwrap();
    let patch = |status: Value| {
        Patch::Apply(json!({"apiVersion": "botany.example.org/v1", "kind": "Garden", "status": status}))
    };
    let condition = |of: &str, status: &str| {
        let time = "2026-01-01T00:00:00Z";
        json!({"conditions": [{
            "type": of, "status": status, "reason": "Seen", "message": "", "lastTransitionTime": time,
        }]})
    };
    let (ann, bob) = (PatchParams::apply("ann"), PatchParams::apply("bob"));
    gardens.patch_status("one", &ann, &patch(condition("Ready", "True"))).await.unwrap();
    let both = gardens.patch_status("one", &bob, &patch(condition("Watered", "True"))).await.unwrap();
    let of = |garden: &Garden| -> Vec<_> {
        garden.status.iter().flat_map(|status| status.conditions.iter().map(|c| c.type_.clone())).collect()
    };
    assert_eq!(of(&both), ["Ready", "Watered"]);
    let refused = gardens.patch_status("one", &bob, &patch(condition("Ready", "False"))).await;
    assert_eq!(code(refused), 409);
    let nothing = Patch::Apply(json!({"apiVersion": "botany.example.org/v1", "kind": "Garden"}));
    let left = gardens.patch_status("one", &ann, &nothing).await.unwrap();
    assert_eq!(of(&left), ["Watered"]);
    assert!(left.managed_fields().iter().all(|entry| entry.manager.as_deref() != Some("ann")));
}
