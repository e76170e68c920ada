//! Messages of a cluster, translated into terms that do not depend on the runtime.

/// Nouns of the cluster, and their neutral replacements.
const NEUTRAL_NOUNS: &[(&str, &str)] = &[
    ("pod", "workload"),
    ("pods", "workloads"),
    ("deployment", "workload"),
    ("deployments", "workloads"),
    ("replicaset", "workload"),
    ("replicasets", "workloads"),
    ("statefulset", "workload"),
    ("statefulsets", "workloads"),
    ("job", "workload"),
    ("jobs", "workloads"),
    ("replicas", "copies"),
    ("ingress", "route"),
    ("ingresses", "routes"),
    ("httproute", "route"),
    ("httproutes", "routes"),
    ("node", "machine"),
    ("nodes", "machines"),
    ("configmap", "file"),
    ("configmaps", "files"),
    ("persistentvolumeclaim", "volume"),
    ("persistentvolumeclaims", "volumes"),
    ("kubelet", "machine"),
    ("podsecurity", "security level"),
];
/// Maximum length of a quoted message.
const MAX_CHARS: usize = 400;

/// Message of the cluster in neutral words, on one line, with backticks for quotes.
pub fn neutral(text: &str) -> String {
    let mut translated = String::new();
    let mut word = String::new();
    let flush = |word: &mut String, translated: &mut String| {
        let bare = word.to_lowercase();
        let bare = bare.strip_suffix(".apps").or_else(|| bare.strip_suffix(".batch")).unwrap_or(&bare);
        match NEUTRAL_NOUNS.iter().find(|(theirs, _)| *theirs == bare) {
            Some((_, ours)) => translated.push_str(ours),
            None => translated.push_str(word),
        }
        word.clear();
    };
    for c in text.chars().take(MAX_CHARS) {
        if c.is_alphanumeric() || c == '.' || c == '-' || c == '_' {
            word.push(c);
            continue;
        }
        // A full stop ends a sentence, not a word.
        let is_stopped = word.ends_with('.');
        word.truncate(word.trim_end_matches('.').len());
        flush(&mut word, &mut translated);
        if is_stopped {
            translated.push('.');
        }
        translated.push(match c {
            '"' | '\'' => '`',
            c if c.is_control() => ' ',
            c => c,
        });
    }
    flush(&mut word, &mut translated);
    if text.chars().nth(MAX_CHARS).is_some() {
        translated.push('…');
    }
    translated.trim().to_owned()
}

/// Sentence about a quota: `exceeded quota: Q, requested: A, used: B, limited: C`.
pub fn quota(message: &str) -> String {
    let parts = || {
        let (_, rest) = message.split_once("quota: ")?;
        let (name, rest) = rest.split_once(", requested: ")?;
        let (asked, rest) = rest.split_once(", used: ")?;
        let (used, limit) = rest.split_once(", limited: ")?;
        Some((name, amounts(asked), amounts(used), amounts(limit)))
    };
    let Some((name, asked, used, limit)) = parts() else {
        let own = message.split_once("quota: ").map_or(message, |(_, own)| own);
        return format!("Quota exceeded in this namespace: {}.", neutral(own).trim_end_matches('.'));
    };
    format!(
        "Quota exceeded in this namespace: the quota `{name}` allows {limit}, {used} is in use, and {asked} more is needed; free something, request less, or ask the platform's administrators for more."
    )
}

/// Amounts such as `requests.cpu=1,pods=2`, in words.
fn amounts(text: &str) -> String {
    let one = |part: &str| {
        let (what, amount) = part.split_once('=').unwrap_or((part, ""));
        let what = match what.trim() {
            "pods" => "running copies",
            "requests.cpu" | "cpu" => "requested CPU",
            "requests.memory" | "memory" => "requested memory",
            "limits.cpu" => "CPU limit",
            "limits.memory" => "memory limit",
            what if what.starts_with("count/") => "objects",
            what => what,
        };
        format!("{amount} {what}").trim().to_owned()
    };
    let all: Vec<_> = text.split(',').map(one).collect();
    all.join(" and ")
}

/// Sentence about a message of the scheduler.
pub fn unschedulable(message: &str) -> String {
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

/// Signs of violations of a security level, and what the level allows instead.
const SECURITY: &[(&str, &str)] = &[
    ("runAsNonRoot", "do not run as root"),
    ("runAsUser=0", "do not run as root"),
    ("allowPrivilegeEscalation", "cannot gain new privileges"),
    ("capabilities", "drop all capabilities"),
    ("seccompProfile", "use the default seccomp profile"),
    ("hostPath volumes", "mount no host paths"),
    ("restricted volume types", "mount only the allowed volume types"),
    ("host namespaces", "use no host namespaces"),
    ("hostPort", "open no host ports"),
    ("hostProcess", "run no host processes"),
    ("privileged (", "are not privileged"),
    ("AppArmor", "keep the default AppArmor profile"),
    ("seLinuxOptions", "keep the default SELinux options"),
    ("procMount", "keep the default proc mount"),
    ("sysctls", "set no unsafe sysctls"),
    ("probe or lifecycle host", "probe no other host"),
];

/// Sentence about a violated security level: `"restricted:latest": runAsNonRoot != true (…), seccompProfile (…)`.
pub fn security(message: &str) -> String {
    let mut allowed: Vec<_> =
        SECURITY.iter().filter(|(sign, _)| message.contains(sign)).map(|(_, text)| *text).collect();
    allowed.dedup();
    if allowed.is_empty() {
        return format!("the security level {}", neutral(message));
    }
    let image = if allowed.contains(&SECURITY[0].1) { "use an image with a non-root user, and " } else { "" };
    format!(
        "this namespace allows only containers that {}; {image}ask the platform's administrators to run it with these restrictions, or to relax the policy of the namespace.",
        allowed.join(", that ")
    )
}

/// Text with a full stop, unless it has one.
pub(super) fn ended(text: &str) -> String {
    if text.ends_with(['.', '!', '?', '…']) { text.to_owned() } else { format!("{text}.") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_contain_no_nouns_of_the_cluster() {
        for (theirs, ours) in [
            ("pods \"a\" is forbidden.", "workloads `a` is forbidden."),
            ("deployments.apps \"pod-x\" in Pod", "workloads `pod-x` in workload"),
            ("line\nnext node", "line next machine"),
        ] {
            assert_eq!(neutral(theirs), ours);
        }
        assert_eq!(neutral(&"é".repeat(500)).chars().count(), MAX_CHARS + 1);
    }

    #[test]
    fn a_quota_is_described_with_its_amounts() {
        let text = quota(
            "pods \"x\" is forbidden: exceeded quota: small, requested: pods=1,requests.cpu=2, used: pods=0,requests.cpu=0, limited: pods=0,requests.cpu=1",
        );
        assert_eq!(
            text,
            "Quota exceeded in this namespace: the quota `small` allows 0 running copies and 1 requested CPU, 0 running copies and 0 requested CPU is in use, and 1 running copies and 2 requested CPU more is needed; free something, request less, or ask the platform's administrators for more."
        );
        let text = quota("pods \"x\" is forbidden: failed quota: small: must specify limits.cpu for: web");
        assert_eq!(text, "Quota exceeded in this namespace: small: must specify limits.cpu for: web.");
    }

    #[test]
    fn a_security_level_is_described_by_what_it_allows() {
        let text = security(
            "\"restricted:latest\": allowPrivilegeEscalation != false (container \"app\" must set securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container \"app\" must set securityContext.capabilities.drop=[\"ALL\"]), runAsNonRoot != true (pod or container \"app\" must set securityContext.runAsNonRoot=true), seccompProfile (pod or container \"app\" must set securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\")",
        );
        assert_eq!(
            text,
            "this namespace allows only containers that do not run as root, that cannot gain new privileges, that drop all capabilities, that use the default seccomp profile; use an image with a non-root user, and ask the platform's administrators to run it with these restrictions, or to relax the policy of the namespace."
        );
        for (theirs, ours) in [
            (
                "runAsNonRoot != true (pod must not set securityContext.runAsNonRoot=false), runAsUser=0 (pod must not set runAsUser=0)",
                "do not run as root",
            ),
            ("hostPath volumes (volume \"v0\")", "mount no host paths"),
            (
                "privileged (container \"app\" must not set securityContext.privileged=true)",
                "are not privileged",
            ),
        ] {
            let text = security(&format!("\"baseline:latest\": {theirs}"));
            assert!(
                text.starts_with(&format!("this namespace allows only containers that {ours};")),
                "{text}"
            );
        }
        assert_eq!(
            security("\"x:latest\": a new pod rule"),
            "the security level `x:latest`: a new workload rule"
        );
    }

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
