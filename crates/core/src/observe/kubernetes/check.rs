//! A check of a container that does not pass: since when, and what it found.
//!
//! While something starts, a check that does not pass is nothing bad yet. It is when it has not passed for as long as the
//! cluster itself waits before it takes something that was ready out: three times, ten seconds apart, if nothing else is
//! asked for. That is read from the news about it, which say when it first and when it last failed. Counting would not
//! do: while something starts, a cluster asks several times in a second, whenever something about it changes.

use k8s_openapi::jiff::SignedDuration;

use super::words::{ended, neutral};
use crate::render::kubernetes::{STARTUP_PATIENCE, STARTUP_PERIOD};

/// How long a check fails before that is clear: two times ten seconds lie between three failures, and the cluster tells whole
/// seconds.
const LASTING: SignedDuration = SignedDuration::from_secs(18);
/// The same for the check that others wait for, which has its own patience.
const LASTING_AT_START: SignedDuration = SignedDuration::from_secs((STARTUP_PATIENCE - 1) * STARTUP_PERIOD);

/// The most characters of what a command wrote that are told.
const LINE: usize = 200;

/// A check that does not pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// Which one: `readiness`, `liveness` or `startup`.
    pub probe: Box<str>,
    /// The container that is checked, where it is told.
    pub container: Option<Box<str>>,
    /// What it found, in words of the cluster.
    pub found: Box<str>,
    /// Whether it has failed for so long that it is not only early.
    pub is_lasting: bool,
}

impl Check {
    /// What an event says, if it says that a check does not pass.
    pub(super) fn of_event(message: &str, container: Option<&str>) -> Option<Self> {
        // Where the answers differ each time, only the newest is told.
        let message = message.strip_prefix("(combined from similar events): ").unwrap_or(message);
        let (probe, found) = match message.split_once(" probe failed:") {
            Some((probe, found)) => (probe, found),
            None => (message.split_once(" probe errored")?.0, message),
        };
        Some(Self {
            probe: probe.to_lowercase().into(),
            container: container.map(Box::from),
            found: found.trim().into(),
            is_lasting: false,
        })
    }

    /// The same check, which has failed for this long.
    pub(super) fn failing_for(self, time: SignedDuration) -> Self {
        let patience = if &*self.probe == "startup" { LASTING_AT_START } else { LASTING };
        Self { is_lasting: time >= patience, ..self }
    }

    /// Whether it is the same check that fails in the same way: what a command writes may differ each time.
    pub fn is_like(&self, other: &Self) -> bool {
        (&self.probe, &self.container) == (&other.probe, &other.container)
            && (self.found == other.found || self.written().is_some() && other.written().is_some())
    }

    /// What a command wrote that checks: words of the author, not of the cluster.
    pub fn written(&self) -> Option<&str> {
        match Finding::of(&self.found) {
            Finding::Wrote(line) => Some(line),
            _ => None,
        }
    }

    /// In a sentence, of something that fails.
    pub(super) fn told(&self) -> String {
        let Self { probe, found, .. } = self;
        let (finding, of) = (Finding::of(found), self.of());
        format!("The {probe} probe{of} fails: {} {}", ended(&finding.told()), finding.remedy())
    }

    /// In a sentence, of something that starts.
    pub(super) fn awaited(&self) -> String {
        let Self { probe, found, .. } = self;
        let found = ended(&Finding::of(found).told());
        format!("It waits for the {probe} probe{}, which has not passed yet: {found}", self.of())
    }

    fn of(&self) -> String {
        self.container.as_ref().map(|container| format!(" of `{container}`")).unwrap_or_default()
    }
}

/// What a check found. Where it asked is left out: that is an address which means nothing to anybody else.
#[derive(Debug, PartialEq, Eq)]
enum Finding<'a> {
    /// An answer, but not a good one.
    Status(&'a str),
    /// No answer.
    Silence(&'static str),
    /// A command that ended badly, and what it wrote last.
    Wrote(&'a str),
    /// A command that did not end.
    Endless,
    /// A command that cannot be run.
    NoCommand(&'a str),
}

/// What a request says that is not answered, and what that means.
const SILENCE: &[(&str, &str)] = &[
    ("connection refused", "it cannot connect: connection refused"),
    ("Client.Timeout", "it timed out"),
    ("deadline exceeded", "it timed out"),
    ("timeout", "it timed out"),
    ("connection reset", "the connection is closed before an answer comes"),
    ("EOF", "the connection is closed before an answer comes"),
    ("no such host", "it cannot connect: no such host"),
    ("server misbehaving", "it cannot connect: no such host"),
    ("no route to host", "it cannot connect: no route"),
    ("network is unreachable", "it cannot connect: no route"),
    ("HTTP response to HTTPS client", "it is answered without TLS, and asks with TLS"),
    ("tls: ", "TLS cannot be agreed on"),
    ("malformed HTTP", "the answer is not HTTP"),
    ("redirects", "it is sent on again and again"),
];

impl<'a> Finding<'a> {
    fn of(found: &'a str) -> Self {
        if let Some(status) = found.strip_prefix("HTTP probe failed with statuscode: ") {
            return Self::Status(status);
        }
        if found.starts_with("Get \"") {
            let known = SILENCE.iter().find(|(sign, _)| found.contains(sign));
            return Self::Silence(known.map_or("it cannot be asked", |(_, told)| told));
        }
        if found.starts_with("command ") && found.contains("timed out") {
            return Self::Endless;
        }
        match found.split_once(" probe errored") {
            Some((_, why)) => Self::NoCommand(why.rsplit_once("exec: ").map_or("", |(_, own)| own)),
            None => Self::Wrote(found.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or("")),
        }
    }

    fn told(&self) -> String {
        match self {
            Self::Status(status) => format!("it is answered with status {}", neutral(status)),
            Self::Silence(told) => (*told).to_owned(),
            Self::Wrote("") => "its command ends with an error, and writes nothing".to_owned(),
            Self::Wrote(line) => {
                let line: String = line
                    .chars()
                    .map(|c| if c.is_control() || c == '`' { ' ' } else { c })
                    .take(LINE)
                    .collect();
                format!("its command ends with an error, and writes `{}`", line.trim())
            }
            Self::Endless => "its command does not end in time".to_owned(),
            Self::NoCommand("") => "its command cannot be run".to_owned(),
            Self::NoCommand(why) => {
                format!("its command cannot be run: {}", neutral(why.trim_end_matches(": unknown")))
            }
        }
    }

    fn remedy(&self) -> &'static str {
        match self {
            Self::Status(_) | Self::Silence(_) => {
                "See its log, and whether the probe asks the right port and path."
            }
            Self::Wrote(_) | Self::Endless | Self::NoCommand(_) => {
                "See its log, and whether the probe runs the right command."
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(message: &str) -> String {
        Check::of_event(message, Some("app")).unwrap().told()
    }

    #[test]
    fn what_a_probe_found_is_told_without_an_address() {
        for (theirs, ours) in [
            ("HTTP probe failed with statuscode: 404", "it is answered with status 404"),
            (
                "Get \"http://10.244.0.9:8080/x\": dial tcp 10.244.0.9:8080: connect: connection refused",
                "it cannot connect: connection refused",
            ),
            (
                "Get \"http://10.244.0.9:8080/x\": context deadline exceeded (Client.Timeout exceeded while awaiting headers)",
                "it timed out",
            ),
            (
                "Get \"http://10.244.0.9:8080/x\": net/http: request canceled while waiting for connection (Client.Timeout exceeded while awaiting headers)",
                "it timed out",
            ),
            ("Get \"http://10.244.0.9:8080/x\": dial tcp 10.244.0.9:8080: i/o timeout", "it timed out"),
            (
                "Get \"http://10.244.0.9:8080/x\": dial tcp 10.244.0.9:8080: connect: no route to host",
                "it cannot connect: no route",
            ),
            (
                "Get \"http://10.244.0.9:8080/x\": read tcp 10.244.0.1:39302->10.244.0.9:8080: read: connection reset by peer",
                "the connection is closed before an answer comes",
            ),
            ("Get \"http://10.244.0.9:8080/x\": EOF", "the connection is closed before an answer comes"),
            (
                "Get \"http://db.shop:8080/x\": dial tcp: lookup db.shop on 10.96.0.10:53: no such host",
                "it cannot connect: no such host",
            ),
            (
                "Get \"https://10.244.0.9:8443/\": http: server gave HTTP response to HTTPS client",
                "it is answered without TLS, and asks with TLS",
            ),
            (
                "Get \"https://10.244.0.9:8443/\": remote error: tls: handshake failure",
                "TLS cannot be agreed on",
            ),
            (
                "Get \"http://10.244.0.9:6379/\": net/http: HTTP/1.x transport connection broken: malformed HTTP response \"-ERR unknown command\"",
                "the answer is not HTTP",
            ),
            ("Get \"http://10.244.0.9:8080/\": stopped after 10 redirects", "it is sent on again and again"),
            ("Get \"http://10.244.0.9:8080/\": 10.244.0.9 is odd", "it cannot be asked"),
        ] {
            assert_eq!(
                told(&format!("Readiness probe failed: {theirs}")),
                format!(
                    "The readiness probe of `app` fails: {ours}. See its log, and whether the probe asks the right port and path."
                )
            );
        }
    }

    #[test]
    fn a_command_that_checks_is_told_with_what_it_writes() {
        for (theirs, ours) in [
            ("Liveness probe failed: not yet\n", "its command ends with an error, and writes `not yet`"),
            (
                "Liveness probe failed: cat: can't open '/tmp/healthy': No such file or directory\n",
                "its command ends with an error, and writes `cat: can't open '/tmp/healthy': No such file or directory`",
            ),
            (
                "Liveness probe failed: Traceback:\n  File x\nValueError: no table\n\n",
                "its command ends with an error, and writes `ValueError: no table`",
            ),
            ("Liveness probe failed: ", "its command ends with an error, and writes nothing"),
            ("Liveness probe failed:", "its command ends with an error, and writes nothing"),
            (
                "(combined from similar events): Liveness probe failed: 12:00:07 not yet",
                "its command ends with an error, and writes `12:00:07 not yet`",
            ),
            (
                "Liveness probe failed: command timed out: \"sh -c sleep 10\" timed out after 1s",
                "its command does not end in time",
            ),
            (
                "Liveness probe errored and resulted in unknown state: rpc error: code = Unknown desc = failed to exec in container: failed to start exec \"c0ffee\": OCI runtime exec failed: exec failed: unable to start container process: exec: \"nope\": executable file not found in $PATH: unknown",
                "its command cannot be run: `nope`: executable file not found in $PATH",
            ),
            (
                "Liveness probe errored: rpc error: code = NotFound desc = container c0ffee",
                "its command cannot be run",
            ),
        ] {
            assert_eq!(
                told(theirs),
                format!(
                    "The liveness probe of `app` fails: {ours}. See its log, and whether the probe runs the right command."
                )
            );
        }
    }

    #[test]
    fn what_a_command_writes_each_time_is_no_other_failure() {
        let check = |message: &str, container: &str| Check::of_event(message, Some(container)).unwrap();
        let command = check("Readiness probe failed: 1 of 7", "app");
        assert!(command.is_like(&check("Readiness probe failed: 2 of 7", "app")));
        assert!(!command.is_like(&check("Readiness probe failed: 1 of 7", "other")));
        assert!(!command.is_like(&check("Liveness probe failed: 1 of 7", "app")));
        let asked = check("Readiness probe failed: HTTP probe failed with statuscode: 404", "app");
        assert!(!command.is_like(&asked) && asked.is_like(&asked));
    }
}
