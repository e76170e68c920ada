//! Release of created objects. It depends on their kinds and on the record of their creation; the template may have changed
//! since.

use orchestra_api::claim::DeprovisionPolicy;

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
    let is_data = DATA_KINDS.contains(&kind) || keep.iter().any(|kept| kept == kind);
    match policy {
        DeprovisionPolicy::Orphan => Disposition::Orphan,
        DeprovisionPolicy::Retain if is_data => Disposition::Keep,
        DeprovisionPolicy::Retain | DeprovisionPolicy::Delete => Disposition::Delete,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retain_deletes_servers_and_keeps_data_and_passwords() {
        let of = |kind| disposition(kind, DeprovisionPolicy::Retain, &["ConfigMap".to_owned()]);
        assert_eq!([of("StatefulSet"), of("Service"), of("Ingress"), of("Job")], [Disposition::Delete; 4]);
        assert_eq!([of("PersistentVolumeClaim"), of("Secret"), of("ConfigMap")], [Disposition::Keep; 3]);
    }

    #[test]
    fn delete_removes_everything_and_orphan_nothing() {
        assert_eq!(disposition("PersistentVolumeClaim", DeprovisionPolicy::Delete, &[]), Disposition::Delete);
        assert_eq!(disposition("StatefulSet", DeprovisionPolicy::Orphan, &[]), Disposition::Orphan);
    }
}
