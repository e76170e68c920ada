//! What a cluster says, in words that do not depend on what runs a Workload.

/// Words of the cluster, and what stands for them.
const WORDS: &[(&str, &str)] = &[
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
/// The most characters of a text of the cluster that are passed on.
const LONGEST: usize = 400;

/// A text of the cluster in neutral words, on one line, with backticks for quotes.
pub fn neutral(text: &str) -> String {
    let mut told = String::new();
    let mut word = String::new();
    let flush = |word: &mut String, told: &mut String| {
        let bare = word.to_lowercase();
        let bare = bare.strip_suffix(".apps").or_else(|| bare.strip_suffix(".batch")).unwrap_or(&bare);
        match WORDS.iter().find(|(theirs, _)| *theirs == bare) {
            Some((_, ours)) => told.push_str(ours),
            None => told.push_str(word),
        }
        word.clear();
    };
    for c in text.chars().take(LONGEST) {
        if c.is_alphanumeric() || c == '.' || c == '-' || c == '_' {
            word.push(c);
            continue;
        }
        // A full stop ends a sentence, not a word.
        let is_stopped = word.ends_with('.');
        word.truncate(word.trim_end_matches('.').len());
        flush(&mut word, &mut told);
        if is_stopped {
            told.push('.');
        }
        told.push(match c {
            '"' | '\'' => '`',
            c if c.is_control() => ' ',
            c => c,
        });
    }
    flush(&mut word, &mut told);
    if text.chars().nth(LONGEST).is_some() {
        told.push('…');
    }
    told.trim().to_owned()
}

/// What is missing, by what a quota says: `exceeded quota: Q, requested: A, used: B, limited: C`.
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
        return format!(
            "There is not enough left in this namespace: {}.",
            neutral(own).trim_end_matches('.')
        );
    };
    format!(
        "There is not enough left in this namespace: the quota `{name}` allows {limit}, {used} is in use, and {asked} more is needed; free something, ask for less, or ask the platform team for more."
    )
}

/// Amounts as `requests.cpu=1,pods=2`, for people.
fn amounts(text: &str) -> String {
    let one = |part: &str| {
        let (what, amount) = part.split_once('=').unwrap_or((part, ""));
        let what = match what.trim() {
            "pods" => "running copies",
            "requests.cpu" | "cpu" => "requested processor time",
            "requests.memory" | "memory" => "requested memory",
            "limits.cpu" => "processor time at most",
            "limits.memory" => "memory at most",
            what if what.starts_with("count/") => "objects",
            what => what,
        };
        format!("{amount} {what}").trim().to_owned()
    };
    let all: Vec<_> = text.split(',').map(one).collect();
    all.join(" and ")
}

/// Why no machine takes it, by what the scheduler says.
pub fn unschedulable(message: &str) -> String {
    let known = [
        ("Insufficient cpu", "no machine has enough processor time left"),
        ("Insufficient memory", "no machine has enough memory left"),
        ("Insufficient ephemeral-storage", "no machine has enough room left"),
        ("Too many pods", "every machine runs as much as it may"),
        ("unbound immediate PersistentVolumeClaims", "its volume is not there yet"),
        ("not found", "something that it mounts does not exist"),
        ("volume node affinity conflict", "its volume is bound to a machine that cannot run it"),
        ("node affinity/selector", "no machine is of the kind that the platform asks for"),
        ("untolerated taint", "no machine is free for it"),
        ("were unschedulable", "no machine takes anything new"),
    ];
    let mut causes: Vec<_> =
        known.iter().filter(|(sign, _)| message.contains(sign)).map(|(_, told)| *told).collect();
    causes.dedup();
    if causes.is_empty() {
        return format!("It cannot be placed on any machine: {}", ended(&neutral(message)));
    }
    format!(
        "It cannot be placed: {}; ask for less, or ask the platform team for room.",
        causes.join(", and ")
    )
}

/// What a namespace allows only, by what its security level says is not so.
const SECURITY: &[(&str, &str)] = &[
    ("runAsNonRoot", "do not run as root"),
    ("runAsUser=0", "do not run as root"),
    ("allowPrivilegeEscalation", "cannot gain new privileges"),
    ("capabilities", "give up special rights of the system"),
    ("seccompProfile", "make only usual system calls"),
    ("hostPath volumes", "mount no folder of a machine"),
    ("restricted volume types", "mount only usual kinds of volumes"),
    ("host namespaces", "are kept apart from the machine"),
    ("hostPort", "open no port of a machine"),
    ("hostProcess", "are kept apart from the machine"),
    ("privileged (", "are kept apart from the machine"),
    ("AppArmor", "keep the protections of the system"),
    ("seLinuxOptions", "keep the protections of the system"),
    ("procMount", "keep the protections of the system"),
    ("sysctls", "keep the settings of the system"),
    ("probe or lifecycle host", "have probes that ask only themselves"),
];

/// What the security level of a namespace forbids: `"restricted:latest": runAsNonRoot != true (…), seccompProfile (…)`.
pub fn security(message: &str) -> String {
    let mut allowed: Vec<_> =
        SECURITY.iter().filter(|(sign, _)| message.contains(sign)).map(|(_, told)| *told).collect();
    allowed.dedup();
    if allowed.is_empty() {
        return format!("the security level {}", neutral(message));
    }
    let image = if allowed.contains(&SECURITY[0].1) {
        "use an image that runs as another user than root, and "
    } else {
        ""
    };
    format!(
        "this namespace allows only programs that {}; {image}ask the platform team to run it with these limits, or to allow more here.",
        allowed.join(", that ")
    )
}

/// A text that ends as a sentence does.
pub(super) fn ended(text: &str) -> String {
    if text.ends_with(['.', '!', '?', '…']) { text.to_owned() } else { format!("{text}.") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_noun_of_the_cluster_is_passed_on() {
        for (theirs, told) in [
            ("pods \"a\" is forbidden.", "workloads `a` is forbidden."),
            ("deployments.apps \"pod-x\" in Pod", "workloads `pod-x` in workload"),
            ("line\nnext node", "line next machine"),
        ] {
            assert_eq!(neutral(theirs), told);
        }
        assert_eq!(neutral(&"é".repeat(500)).chars().count(), LONGEST + 1);
    }

    #[test]
    fn a_quota_is_told_with_its_amounts() {
        let told = quota(
            "pods \"x\" is forbidden: exceeded quota: small, requested: pods=1,requests.cpu=2, used: pods=0,requests.cpu=0, limited: pods=0,requests.cpu=1",
        );
        assert_eq!(
            told,
            "There is not enough left in this namespace: the quota `small` allows 0 running copies and 1 requested processor time, 0 running copies and 0 requested processor time is in use, and 1 running copies and 2 requested processor time more is needed; free something, ask for less, or ask the platform team for more."
        );
        let told = quota("pods \"x\" is forbidden: failed quota: small: must specify limits.cpu for: web");
        assert_eq!(
            told,
            "There is not enough left in this namespace: small: must specify limits.cpu for: web."
        );
    }

    #[test]
    fn a_security_level_is_told_by_what_it_allows() {
        let told = security(
            "\"restricted:latest\": allowPrivilegeEscalation != false (container \"app\" must set securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container \"app\" must set securityContext.capabilities.drop=[\"ALL\"]), runAsNonRoot != true (pod or container \"app\" must set securityContext.runAsNonRoot=true), seccompProfile (pod or container \"app\" must set securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\")",
        );
        assert_eq!(
            told,
            "this namespace allows only programs that do not run as root, that cannot gain new privileges, that give up special rights of the system, that make only usual system calls; use an image that runs as another user than root, and ask the platform team to run it with these limits, or to allow more here."
        );
        for (theirs, ours) in [
            (
                "runAsNonRoot != true (pod must not set securityContext.runAsNonRoot=false), runAsUser=0 (pod must not set runAsUser=0)",
                "do not run as root",
            ),
            ("hostPath volumes (volume \"v0\")", "mount no folder of a machine"),
            (
                "privileged (container \"app\" must not set securityContext.privileged=true)",
                "are kept apart from the machine",
            ),
        ] {
            let told = security(&format!("\"baseline:latest\": {theirs}"));
            assert!(told.starts_with(&format!("this namespace allows only programs that {ours};")), "{told}");
        }
        assert_eq!(
            security("\"x:latest\": a new pod rule"),
            "the security level `x:latest`: a new workload rule"
        );
    }

    #[test]
    fn the_scheduler_is_told_by_what_is_missing() {
        let told = unschedulable(
            "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.",
        );
        assert_eq!(
            told,
            "It cannot be placed: no machine has enough processor time left; ask for less, or ask the platform team for room."
        );
        assert!(!unschedulable("0/1 nodes are odd").contains("node"));
    }
}
