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
    ("resourceclaim.score.dev", "dependency"),
    ("resourceclaims.score.dev", "dependencies"),
    ("workloadplan.score.dev", "plan"),
    ("workloadplans.score.dev", "plans"),
    ("workloadexposure.score.dev", "address"),
    ("workloadexposures.score.dev", "addresses"),
];
/// Maximum length of a quoted message.
const MAX_CHARS: usize = 400;

/// Message of the cluster in neutral words, on one line, with backticks for quotes.
pub(crate) fn neutral(text: &str) -> String {
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

/// Sentence about an exceeded quota: `exceeded quota: Q, requested: A, used: B, limited: C`.
pub(super) fn quota(message: &str) -> String {
    let parts = || {
        let (_, rest) = message.split_once("quota: ")?;
        let (name, rest) = rest.split_once(", requested: ")?;
        let (requested, rest) = rest.split_once(", used: ")?;
        let (used, limit) = rest.split_once(", limited: ")?;
        Some((name, amounts(requested), amounts(used), amounts(limit)))
    };
    let Some((name, requested, used, limit)) = parts() else {
        let own = message.split_once("quota: ").map_or(message, |(_, own)| own);
        return format!("Quota exceeded in this namespace: {}.", neutral(own).trim_end_matches('.'));
    };
    format!(
        "Quota exceeded in this namespace: quota `{name}`, requested: {requested}; used: {used}; limit: {limit}. Delete what is no longer used, request less, or ask the platform's administrators for more."
    )
}

/// Sentence about a quota that requires requests or limits: `failed quota: Q: must specify R for: C; R for: C`.
pub(super) fn required_by_quota(message: &str) -> Option<String> {
    let (_, rest) = message.split_once("failed quota: ")?;
    let (name, required) = rest.split_once(": must specify ")?;
    let fields: Vec<_> = required.split(';').map(resource_fields).collect::<Option<Vec<_>>>()?.concat();
    let fields = fields.join(", ");
    Some(format!("The quota `{name}` of this namespace requires a value for each container: set {fields}."))
}

/// Fields of a Score file for `limits.cpu for: web,proxy`.
fn resource_fields(required: &str) -> Option<Vec<String>> {
    let (resources, containers) = required.split_once(" for: ")?;
    let fields = resources.split(',').flat_map(|resource| {
        let resource = match resource.trim() {
            "cpu" => "requests.cpu",
            "memory" => "requests.memory",
            resource => resource,
        };
        containers
            .split(',')
            .map(move |container| format!("`containers.{}.resources.{resource}`", container.trim()))
    });
    Some(fields.collect())
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
    all.join(", ")
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
pub(super) fn security(message: &str) -> String {
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
pub(crate) fn ended(text: &str) -> String {
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
            "Quota exceeded in this namespace: quota `small`, requested: 1 running copies, 2 requested CPU; used: 0 running copies, 0 requested CPU; limit: 0 running copies, 1 requested CPU. Delete what is no longer used, request less, or ask the platform's administrators for more."
        );
    }

    #[test]
    fn a_quota_that_requires_limits_names_the_fields_to_set() {
        for (required, fields) in [
            ("limits.cpu for: web", "`containers.web.resources.limits.cpu`"),
            (
                "limits.cpu for: web,proxy; memory for: web",
                "`containers.web.resources.limits.cpu`, `containers.proxy.resources.limits.cpu`, `containers.web.resources.requests.memory`",
            ),
            (
                "limits.cpu,limits.memory for: web",
                "`containers.web.resources.limits.cpu`, `containers.web.resources.limits.memory`",
            ),
        ] {
            let message = format!("pods \"x\" is forbidden: failed quota: small: must specify {required}");
            let expected = format!(
                "The quota `small` of this namespace requires a value for each container: set {fields}."
            );
            assert_eq!(required_by_quota(&message), Some(expected));
        }
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
}
