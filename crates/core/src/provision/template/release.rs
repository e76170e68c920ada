//! What becomes of what was made, when nobody wants it any more. It is told by the kinds of the objects that are there and
//! by what was noted when they were made; the template may say something else by now.

use orchestra_api::claim::DeprovisionPolicy;

/// What becomes of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It goes.
    Removed,
    /// It stays, for whoever claims the same thing again.
    Kept,
    /// It stays as it is, and nobody looks after it any more.
    LetGo,
}

/// Kinds that hold data and passwords.
const HOLDING: [&str; 2] = ["PersistentVolumeClaim", "Secret"];

/// What becomes of an object of a kind under a policy; `keep` names more kinds that stay with the data.
pub fn fate(kind: &str, policy: DeprovisionPolicy, keep: &[String]) -> Fate {
    let is_holding = HOLDING.contains(&kind) || keep.iter().any(|kept| kept == kind);
    match policy {
        DeprovisionPolicy::Orphan => Fate::LetGo,
        DeprovisionPolicy::Retain if is_holding => Fate::Kept,
        DeprovisionPolicy::Retain | DeprovisionPolicy::Delete => Fate::Removed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retaining_stops_what_runs_and_keeps_data_and_passwords() {
        let of = |kind| fate(kind, DeprovisionPolicy::Retain, &["ConfigMap".to_owned()]);
        assert_eq!([of("StatefulSet"), of("Service"), of("Ingress"), of("Job")], [Fate::Removed; 4]);
        assert_eq!([of("PersistentVolumeClaim"), of("Secret"), of("ConfigMap")], [Fate::Kept; 3]);
    }

    #[test]
    fn deleting_removes_everything_and_orphans_are_let_go() {
        assert_eq!(fate("PersistentVolumeClaim", DeprovisionPolicy::Delete, &[]), Fate::Removed);
        assert_eq!(fate("StatefulSet", DeprovisionPolicy::Orphan, &[]), Fate::LetGo);
    }
}
