//! Pods that keep a rollout from completing.

use super::{Pod, Rollout, RolloutKind};

/// Pods to delete: a `StatefulSet` replaces its pods in order, and waits indefinitely for one of an older revision that is not ready.
pub fn stuck_pods<'a>(
    revision: &str,
    rollouts: impl IntoIterator<Item = &'a Rollout>,
    pods: &'a [Pod],
) -> Vec<&'a Pod> {
    let is_set = |rollout: &&Rollout| rollout.kind == RolloutKind::StatefulSet && rollout.is_observed;
    let updates =
        rollouts.into_iter().filter(is_set).filter_map(|rollout| rollout.update_revision.as_deref());
    let updates: Vec<&str> = updates.collect();
    let is_outdated = |pod: &Pod| {
        let of_set = pod.set_revision.as_deref();
        of_set.is_some_and(|of_set| updates.iter().any(|update| *update != of_set))
    };
    let is_stuck = |pod: &&Pod| {
        !pod.is_ready && !pod.is_deleting && is_outdated(pod) && pod.revision.as_deref() != Some(revision)
    };
    pods.iter().filter(is_stuck).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unready_pod_of_an_older_revision_of_a_stateful_set_is_stuck() {
        let set = Rollout {
            kind: RolloutKind::StatefulSet,
            is_observed: true,
            update_revision: Some("hello-2".into()),
            ..Rollout::default()
        };
        let old = Pod { revision: Some("r1".into()), set_revision: Some("hello-1".into()), ..Pod::default() };
        let updated =
            Pod { revision: Some("r2".into()), set_revision: Some("hello-2".into()), ..old.clone() };
        let unobserved = Rollout { is_observed: false, ..set.clone() };
        let deployment = Rollout { kind: RolloutKind::Deployment, ..set.clone() };
        for (case, rollout, pod, expected) in [
            ("of an older revision", &set, old.clone(), true),
            ("ready", &set, Pod { is_ready: true, ..old.clone() }, false),
            ("terminating", &set, Pod { is_deleting: true, ..old.clone() }, false),
            ("of the update", &set, updated.clone(), false),
            ("of this plan", &set, Pod { set_revision: old.set_revision.clone(), ..updated }, false),
            ("of no set", &set, Pod { set_revision: None, ..old.clone() }, false),
            ("the status is outdated", &unobserved, old.clone(), false),
            ("of a deployment", &deployment, old, false),
        ] {
            assert_eq!(!stuck_pods("r2", [rollout], &[pod]).is_empty(), expected, "{case}");
        }
    }
}
