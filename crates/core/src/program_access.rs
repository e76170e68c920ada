//! Right to run programs on the machine of the platform.
//!
//! Programs run as the user of the platform. So nothing of a namespace runs while somebody who has no right to that can write
//! what programs are made of. Nothing less is a guarantee: a Workload has no author, and whoever may change it may change its
//! commands.

use orchestra_api::USERS_NAMESPACE;

/// Names that a message lists.
const MAX_NAMES: usize = 3;
/// Cluster role with the right to run programs.
pub const PROGRAM_RUNNER: &str = "score-program-runner";

/// Subject of a binding that may write, in a namespace, what programs are made of. Administrators are none.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Writer {
    /// User or group.
    pub name: String,
    /// True for a group.
    pub is_group: bool,
    /// True with the right to run programs in that namespace.
    pub runs_programs: bool,
}

impl Writer {
    /// Name in messages: users of `orchestra user` have a short one.
    fn shown(&self) -> String {
        match self.user() {
            Some(user) => format!("`{user}`"),
            None if self.is_group => format!("the group `{}`", self.name),
            None => format!("`{}`", self.name),
        }
    }

    /// Name of a user of `orchestra user`.
    fn user(&self) -> Option<&str> {
        let (namespace, name) = self.name.strip_prefix("system:serviceaccount:")?.split_once(':')?;
        (namespace == USERS_NAMESPACE && !self.is_group).then_some(name)
    }
}

/// Sentence that refuses to run the programs of a namespace; none if they may run. Without trust in users, their right to run
/// programs does not count.
pub fn refusal(namespace: &str, trusts_users: bool, writers: &[Writer]) -> Option<String> {
    let mut others: Vec<&Writer> =
        writers.iter().filter(|writer| !(trusts_users && writer.runs_programs)).collect();
    others.sort();
    let first = *others.first()?;
    let mut names: Vec<String> = others.iter().take(MAX_NAMES).map(|writer| writer.shown()).collect();
    if others.len() > MAX_NAMES {
        names.push(format!("{} more", others.len() - MAX_NAMES));
    }
    let names = match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => names.concat(),
    };
    let right = match first.user() {
        Some(user) => format!("`orchestra user add {user} --run-programs -n {namespace}`"),
        None => format!("a binding to the cluster role `{PROGRAM_RUNNER}`"),
    };
    let remedy = if trusts_users {
        format!("give that right with {right}")
    } else if first.runs_programs {
        "restart the platform with `--trust-users`".to_owned()
    } else {
        format!("restart the platform with `--trust-users` and give that right with {right}")
    };
    Some(format!(
        "No new version runs in the namespace `{namespace}`: {names} can change its workloads, without the right to run \
         programs on this machine. Use another namespace, or {remedy}."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn writer(name: &str, runs_programs: bool) -> Writer {
        Writer { name: name.to_owned(), is_group: false, runs_programs }
    }

    #[test]
    fn programs_run_only_if_every_writer_has_the_right_and_users_are_trusted() {
        let bob = |runs| writer("system:serviceaccount:score-users:bob", runs);
        for (trusts, writers, refused) in [
            (false, vec![], false),
            (true, vec![], false),
            (false, vec![bob(false)], true),
            (false, vec![bob(true)], true),
            (true, vec![bob(false)], true),
            (true, vec![bob(true)], false),
            (true, vec![bob(true), writer("jane", false)], true),
        ] {
            assert_eq!(refusal("shop", trusts, &writers).is_some(), refused, "{trusts} {writers:?}");
        }
    }

    #[test]
    fn the_message_names_the_users_and_the_remedies() {
        let bob = |runs| writer("system:serviceaccount:score-users:bob", runs);
        let says = |trusts, writers: &[Writer]| refusal("shop", trusts, writers).unwrap();
        assert_eq!(
            says(false, &[bob(false)]),
            "No new version runs in the namespace `shop`: `bob` can change its workloads, without the right to run programs on \
             this machine. Use another namespace, or restart the platform with `--trust-users` and give that right with \
             `orchestra user add bob --run-programs -n shop`."
        );
        assert!(says(false, &[bob(true)]).ends_with("or restart the platform with `--trust-users`."));
        let given = says(true, &[bob(false)]);
        assert!(
            given.ends_with("give that right with `orchestra user add bob --run-programs -n shop`."),
            "{given}"
        );
        let group = Writer { is_group: true, ..writer("developers", false) };
        let many =
            [writer("a", false), writer("b", false), group, writer("zoe", false), writer("zed", false)];
        let text = says(true, &many);
        assert!(text.contains("`a`, `b`, the group `developers` and 2 more can change"), "{text}");
        assert!(text.contains("a binding to the cluster role `score-program-runner`"), "{text}");
    }
}
