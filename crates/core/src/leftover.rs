//! Leftovers of a deleted Workload, which keep its finalizer.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use orchestra_api::WorkloadRef;

/// Object that was created for a Workload and still exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leftover {
    /// Valid object: the next reconcile deletes it.
    Child,
    /// Object that cannot be deserialized, with a finalizer: somebody has to correct or delete it. Without a finalizer it is
    /// garbage-collected with the Workload.
    Invalid {
        /// Its first finalizer.
        finalizer: String,
    },
}

impl Leftover {
    /// Leftover of the Workload with this uid, if the object is one. `owner` is `None` if the object cannot be deserialized.
    pub fn of(uid: &str, owner: Option<&WorkloadRef>, metadata: &ObjectMeta) -> Option<Self> {
        if let Some(owner) = owner {
            return (owner.uid == uid).then_some(Self::Child);
        }
        let is_owned = metadata.owner_references.iter().flatten().any(|owner| owner.uid == uid);
        let finalizer = metadata.finalizers.iter().flatten().next().filter(|_| is_owned)?;
        Some(Self::Invalid { finalizer: finalizer.clone() })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, from_value, json};

    use super::*;

    #[test]
    fn children_and_invalid_objects_with_a_finalizer_are_leftovers() {
        let own = WorkloadRef { name: "web".to_owned(), uid: "u".to_owned() };
        let other = WorkloadRef { uid: "other".to_owned(), ..own.clone() };
        let owned = |finalizers: Json| {
            let owner =
                json!({"apiVersion": "score.dev/v1b1", "kind": "Workload", "name": "web", "uid": "u"});
            json!({"ownerReferences": [owner], "finalizers": finalizers})
        };
        let invalid = || Some(Leftover::Invalid { finalizer: "a/b".to_owned() });
        for (owner, metadata, expected) in [
            (Some(&own), json!({}), Some(Leftover::Child)),
            (Some(&other), json!({}), None),
            (None, owned(json!(["a/b"])), invalid()),
            (None, owned(json!([])), None),
            (None, json!({"finalizers": ["a/b"]}), None),
        ] {
            let found = Leftover::of("u", owner, &from_value(metadata.clone()).unwrap());
            assert_eq!(found, expected, "{metadata}");
        }
    }
}
