//! Events.

use k8s_openapi::api::{core::v1 as core, events::v1 as events};
use kube::{
    Api, Client, Resource,
    api::{ListParams, PostParams},
    runtime::events::{Event, EventType, Recorder, Reporter},
};

use crate::kube_rs::garden::{NAMESPACE, garden, install};

on_both!(
    a_recorder_publishes_and_counts_events,
    events_are_selected_by_the_regarding_object,
    events_of_cluster_scoped_objects_are_in_the_default_namespace,
);

fn planted() -> Event {
    Event {
        type_: EventType::Normal,
        reason: "Planted".to_owned(),
        note: Some("three roses".to_owned()),
        action: "Plant".to_owned(),
        secondary: None,
    }
}

fn reporter() -> Reporter {
    Reporter { controller: "gardener".to_owned(), instance: Some("gardener-0".to_owned()) }
}

async fn a_recorder_publishes_and_counts_events(client: Client) {
    let gardens = install(&client).await;
    let object = gardens.create(&PostParams::default(), &garden("one", &[])).await.unwrap();
    let recorder = Recorder::new(client.clone(), reporter());
    for _ in 0..3 {
        recorder.publish(&planted(), &object.object_ref(&())).await.unwrap();
    }

    let api: Api<events::Event> = Api::namespaced(client.clone(), NAMESPACE);
    let [event] = &api.list(&ListParams::default()).await.unwrap().items[..] else {
        panic!("one event, counted")
    };
    assert_eq!(event.series.as_ref().map(|series| series.count), Some(3));
    assert_eq!(event.reporting_controller.as_deref(), Some("gardener"));
    assert_eq!(event.note.as_deref(), Some("three roses"));

    let api: Api<core::Event> = Api::namespaced(client, NAMESPACE);
    let [event] = &api.list(&ListParams::default()).await.unwrap().items[..] else {
        panic!("the same event")
    };
    assert_eq!(event.series.as_ref().and_then(|series| series.count), Some(3));
    assert_eq!(event.message.as_deref(), Some("three roses"));
    assert_eq!(event.reporting_component.as_deref(), Some("gardener"));
    assert_eq!(event.involved_object.uid, object.metadata.uid);
    assert_eq!(event.involved_object.kind.as_deref(), Some("Garden"));
}

async fn events_are_selected_by_the_regarding_object(client: Client) {
    let gardens = install(&client).await;
    let recorder = Recorder::new(client.clone(), reporter());
    for name in ["one", "two"] {
        let object = gardens.create(&PostParams::default(), &garden(name, &[])).await.unwrap();
        recorder.publish(&planted(), &object.object_ref(&())).await.unwrap();
    }
    let about = ListParams::default().fields("involvedObject.name=two,involvedObject.kind=Garden");
    let found = Api::<core::Event>::namespaced(client.clone(), NAMESPACE).list(&about).await.unwrap();
    assert_eq!(found.items.len(), 1);
    let about = ListParams::default().fields("regarding.name=two");
    let found = Api::<events::Event>::namespaced(client, NAMESPACE).list(&about).await.unwrap();
    assert_eq!(found.items.len(), 1);
}

async fn events_of_cluster_scoped_objects_are_in_the_default_namespace(client: Client) {
    let namespaces: Api<core::Namespace> = Api::all(client.clone());
    let namespace = namespaces.get("default").await.unwrap();
    let recorder = Recorder::new(client.clone(), reporter());
    recorder.publish(&planted(), &namespace.object_ref(&())).await.unwrap();
    let found = Api::<core::Event>::namespaced(client, "default").list(&ListParams::default()).await.unwrap();
    assert_eq!(found.items[0].involved_object.kind.as_deref(), Some("Namespace"));
}
