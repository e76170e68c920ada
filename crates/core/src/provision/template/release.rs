//! Deletion of created objects. It depends on their kinds and on the record of their creation; the template may have changed
//! since.

use std::collections::BTreeSet;

use orchestra_api::claim::DeprovisionPolicy;
use serde_json::Value as Json;

use super::{Item, Record};

/// Disposition of an object at release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disposition {
    /// Delete it.
    Delete,
    /// Keep it for a later claim of the same instance.
    Keep,
    /// Leave it unmanaged.
    Orphan,
}

/// Kinds with data and passwords.
const DATA_KINDS: [&str; 2] = ["PersistentVolumeClaim", "Secret"];

/// Disposition of an object of a kind under a policy; `keep` has more kinds to keep with the data.
pub fn disposition(kind: &str, policy: DeprovisionPolicy, keep: &[String]) -> Disposition {
    match policy {
        DeprovisionPolicy::Orphan => Disposition::Orphan,
        DeprovisionPolicy::Retain if is_data(kind, keep) => Disposition::Keep,
        DeprovisionPolicy::Retain | DeprovisionPolicy::Delete => Disposition::Delete,
    }
}

/// Recorded objects that the entry no longer has. Data and passwords are deleted only with their instance.
pub fn prunable(record: &Record, objects: &[Json]) -> Vec<Item> {
    let wanted: BTreeSet<Item> = objects.iter().map(Item::of).collect();
    let stale = record.objects.difference(&wanted);
    stale.filter(|item| !is_data(&item.kind, &record.keep)).cloned().collect()
}

fn is_data(kind: &str, keep: &[String]) -> bool {
    DATA_KINDS.contains(&kind) || keep.iter().any(|kept| kept == kind)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn retain_deletes_servers_and_keeps_data_and_passwords() {
        let of = |kind| disposition(kind, DeprovisionPolicy::Retain, &["ConfigMap".to_owned()]);
        assert_eq!([of("StatefulSet"), of("Service"), of("Ingress"), of("Job")], [Disposition::Delete; 4]);
        assert_eq!([of("PersistentVolumeClaim"), of("Secret"), of("ConfigMap")], [Disposition::Keep; 3]);
    }

    #[test]
    fn objects_that_an_entry_no_longer_has_are_deleted_except_data_and_passwords() {
        let object = |kind: &str| json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": "db"}});
        let kinds = ["PersistentVolumeClaim", "Secret", "ConfigMap", "Service", "StatefulSet"];
        let record = Record {
            objects: kinds.iter().map(|kind| Item::of(&object(kind))).collect(),
            keep: vec!["ConfigMap".to_owned()],
            ..Record::default()
        };
        let kinds = |objects: &[Json]| {
            let items = prunable(&record, objects).into_iter();
            items.map(|item| item.kind).collect::<Vec<_>>()
        };
        assert_eq!(kinds(&[object("Service")]), ["StatefulSet"]);
        assert_eq!(kinds(&[]), ["Service", "StatefulSet"]);
    }

    #[test]
    fn delete_removes_everything_and_orphan_nothing() {
        assert_eq!(disposition("PersistentVolumeClaim", DeprovisionPolicy::Delete, &[]), Disposition::Delete);
        assert_eq!(disposition("StatefulSet", DeprovisionPolicy::Orphan, &[]), Disposition::Orphan);
    }
}
