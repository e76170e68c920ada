//! Messages of the scheduler, translated into terms that do not depend on the runtime.

use crate::denial::messages::{ended, neutral};

/// Sentence about a message of the scheduler.
pub(super) fn unschedulable(message: &str) -> String {
    let known = [
        ("Insufficient cpu", "no machine has enough CPU left"),
        ("Insufficient memory", "no machine has enough memory left"),
        ("Insufficient ephemeral-storage", "no machine has enough disk space left"),
        ("Too many pods", "every machine is full"),
        ("unbound immediate PersistentVolumeClaims", "its volume is not bound yet"),
        ("not found", "something that it mounts does not exist"),
        ("volume node affinity conflict", "its volume is bound to a machine that cannot run it"),
        ("node affinity/selector", "no machine matches the selector of the platform"),
        ("untolerated taint", "every machine is reserved for other workloads (taint)"),
        ("were unschedulable", "every machine is closed to new workloads (cordoned)"),
    ];
    let mut causes: Vec<_> =
        known.iter().filter(|(sign, _)| message.contains(sign)).map(|(_, text)| *text).collect();
    causes.dedup();
    if causes.is_empty() {
        return format!("Unschedulable: {}", ended(&neutral(message)));
    }
    format!(
        "Unschedulable: {}; request less, or ask the platform's administrators for capacity.",
        causes.join(", and ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unschedulable_workload_is_described_by_what_is_missing() {
        let text = unschedulable(
            "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.",
        );
        assert_eq!(
            text,
            "Unschedulable: no machine has enough CPU left; request less, or ask the platform's administrators for capacity."
        );
        assert!(!unschedulable("0/1 nodes are odd").contains("node"));
    }
}
