//! The entry API of kube: read, modify, write.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client,
    api::{PostParams, entry::CommitError},
};

use crate::kube_rs::garden::{NAMESPACE, config_map};

on_both!(
    an_entry_is_created_when_vacant_and_updated_when_occupied,
    a_concurrent_change_of_an_entry_is_a_conflict,
);

async fn an_entry_is_created_when_vacant_and_updated_when_occupied(client: Client) {
    let maps: Api<ConfigMap> = Api::namespaced(client, NAMESPACE);
    for count in 1..=3 {
        let entry = maps.entry("counter").await.unwrap().or_insert(|| config_map("counter", &[]));
        let mut entry = entry.and_modify(|map| {
            let count = map.data.get_or_insert_default().entry("count".to_owned()).or_default();
            count.push('I');
        });
        entry.commit(&PostParams::default()).await.unwrap();
        assert_eq!(maps.get("counter").await.unwrap().data.unwrap()["count"].len(), count);
    }
}

async fn a_concurrent_change_of_an_entry_is_a_conflict(client: Client) {
    let maps: Api<ConfigMap> = Api::namespaced(client, NAMESPACE);
    maps.create(&PostParams::default(), &config_map("one", &[])).await.unwrap();
    let set = |value: &'static str| {
        let maps = maps.clone();
        async move {
            let entry = maps.entry("one").await.unwrap().or_insert(|| unreachable!("it exists"));
            entry
                .and_modify(|map| map.data = Some([("key".to_owned(), value.to_owned())].into()))
                .into_object()
        }
    };
    let (first, second) = (set("first").await, set("second").await);
    maps.replace("one", &PostParams::default(), &first).await.unwrap();
    let entry = maps.entry("one").await.unwrap();
    let mut entry = entry.or_insert(|| unreachable!("it exists")).and_modify(|map| *map = second);
    let refused = entry.commit(&PostParams::default()).await;
    assert!(
        matches!(&refused, Err(CommitError::Save(kube::Error::Api(status))) if status.is_conflict()),
        "{refused:?}"
    );
    assert_eq!(maps.get("one").await.unwrap().data.unwrap()["key"], "first");
}
