//! Failing probe of a container: since when, and its finding.
//!
//! During the start, a failing probe is no failure yet. It becomes one after the time in which the cluster would make a
//! ready container unready: by default three failures, ten seconds apart. Events have the times of the first and the last
//! failure. Their count is useless: during a start, a cluster probes several times per second whenever the pod changes.

use k8s_openapi::jiff::SignedDuration;

use crate::denial::messages::{ended, neutral};
use crate::render::kubernetes::{STARTUP_FAILURE_THRESHOLD, STARTUP_PERIOD};

/// Time after which a failing probe is a failure: three failures span twice ten seconds, and times are whole seconds.
const FAILURE_TIME: SignedDuration = SignedDuration::from_secs(18);
/// The same for startup probes, which have their own threshold.
const STARTUP_FAILURE_TIME: SignedDuration =
    SignedDuration::from_secs((STARTUP_FAILURE_THRESHOLD - 1) * STARTUP_PERIOD);

/// Maximum length of the output of a command in a message.
const MAX_OUTPUT_CHARS: usize = 200;

/// Failing probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeFailure {
    /// `readiness`, `liveness` or `startup`.
    pub probe: Box<str>,
    /// Container, if it is known.
    pub container: Option<Box<str>>,
    /// Finding, in the words of the cluster.
    pub found: Box<str>,
    /// True if it has failed for too long to be a slow start.
    pub is_lasting: bool,
}

impl ProbeFailure {
    /// Failing probe in the message of an event.
    pub(super) fn of_event(message: &str, container: Option<&str>) -> Option<Self> {
        // Prefix of events whose findings differ each time.
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

    /// The same probe, failing for this long.
    pub(super) fn failing_for(self, time: SignedDuration) -> Self {
        let limit = if &*self.probe == "startup" { STARTUP_FAILURE_TIME } else { FAILURE_TIME };
        Self { is_lasting: time >= limit, ..self }
    }

    /// True if the same probe fails in the same way: the output of a command may differ each time.
    pub fn is_like(&self, other: &Self) -> bool {
        (&self.probe, &self.container) == (&other.probe, &other.container)
            && (self.found == other.found || self.output().is_some() && other.output().is_some())
    }

    /// Output of its command: text of the author, not of the cluster.
    pub fn output(&self) -> Option<&str> {
        match Finding::of(&self.found) {
            Finding::Failed(line) => Some(line),
            _ => None,
        }
    }

    /// Sentence about a failed probe.
    pub(super) fn describe(&self) -> String {
        let Self { probe, found, .. } = self;
        let (finding, of) = (Finding::of(found), self.of());
        format!("The {probe} probe{of} failed: {} {}", ended(&finding.describe()), finding.remedy())
    }

    /// Sentence about a probe that may still succeed.
    pub(super) fn describe_pending(&self) -> String {
        let Self { probe, found, .. } = self;
        let found = ended(&Finding::of(found).describe());
        format!("Not ready: the {probe} probe{} has not succeeded yet: {found}", self.of())
    }

    fn of(&self) -> String {
        self.container.as_ref().map(|container| format!(" of `{container}`")).unwrap_or_default()
    }
}

/// Finding of a probe, without the probed address, which is internal.
#[derive(Debug, PartialEq, Eq)]
enum Finding<'a> {
    /// HTTP status of a failure.
    Status(&'a str),
    /// No response.
    NoResponse(&'static str),
    /// Failed command, with its last line of output.
    Failed(&'a str),
    /// Command that timed out.
    TimedOut,
    /// Command that cannot be run.
    NoCommand(&'a str),
}

/// Signs of a request without a response, and their descriptions.
const NO_RESPONSE: &[(&str, &str)] = &[
    ("connection refused", "connection refused"),
    ("Client.Timeout", "timed out"),
    ("deadline exceeded", "timed out"),
    ("timeout", "timed out"),
    ("connection reset", "connection closed before a response"),
    ("EOF", "connection closed before a response"),
    ("no such host", "no such host"),
    ("server misbehaving", "no such host"),
    ("no route to host", "no route to host"),
    ("network is unreachable", "no route to host"),
    ("HTTP response to HTTPS client", "HTTP response to an HTTPS request"),
    ("tls: ", "TLS handshake failed"),
    ("malformed HTTP", "the response is not HTTP"),
    ("redirects", "too many redirects"),
];

impl<'a> Finding<'a> {
    fn of(found: &'a str) -> Self {
        if let Some(status) = found.strip_prefix("HTTP probe failed with statuscode: ") {
            return Self::Status(status);
        }
        if found.starts_with("Get \"") {
            let known = NO_RESPONSE.iter().find(|(sign, _)| found.contains(sign));
            return Self::NoResponse(known.map_or("the request failed", |(_, text)| text));
        }
        if found.starts_with("command ") && found.contains("timed out") {
            return Self::TimedOut;
        }
        match found.split_once(" probe errored") {
            Some((_, why)) => Self::NoCommand(why.rsplit_once("exec: ").map_or("", |(_, own)| own)),
            None => Self::Failed(found.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or("")),
        }
    }

    fn describe(&self) -> String {
        match self {
            Self::Status(status) => format!("HTTP status {}", neutral(status)),
            Self::NoResponse(text) => (*text).to_owned(),
            Self::Failed("") => "its command failed without output".to_owned(),
            Self::Failed(line) => {
                let line: String = line
                    .chars()
                    .map(|c| if c.is_control() || c == '`' { ' ' } else { c })
                    .take(MAX_OUTPUT_CHARS)
                    .collect();
                format!("its command failed: `{}`", line.trim())
            }
            Self::TimedOut => "its command timed out".to_owned(),
            Self::NoCommand("") => "its command cannot be run".to_owned(),
            Self::NoCommand(why) => {
                format!("its command cannot be run: {}", neutral(why.trim_end_matches(": unknown")))
            }
        }
    }

    fn remedy(&self) -> &'static str {
        match self {
            Self::Status(_) | Self::NoResponse(_) => "Check its log, and the port and path of the probe.",
            Self::Failed(_) | Self::TimedOut | Self::NoCommand(_) => {
                "Check its log, and the command of the probe."
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn describe(message: &str) -> String {
        ProbeFailure::of_event(message, Some("app")).unwrap().describe()
    }

    #[test]
    fn the_finding_of_a_probe_is_described_without_an_address() {
        for (theirs, ours) in [
            ("HTTP probe failed with statuscode: 404", "HTTP status 404"),
            (
                "Get \"http://10.244.0.9:8080/x\": dial tcp 10.244.0.9:8080: connect: connection refused",
                "connection refused",
            ),
            (
                "Get \"http://10.244.0.9:8080/x\": context deadline exceeded (Client.Timeout exceeded while awaiting headers)",
                "timed out",
            ),
            (
                "Get \"http://10.244.0.9:8080/x\": net/http: request canceled while waiting for connection (Client.Timeout exceeded while awaiting headers)",
                "timed out",
            ),
            ("Get \"http://10.244.0.9:8080/x\": dial tcp 10.244.0.9:8080: i/o timeout", "timed out"),
            (
                "Get \"http://10.244.0.9:8080/x\": dial tcp 10.244.0.9:8080: connect: no route to host",
                "no route to host",
            ),
            (
                "Get \"http://10.244.0.9:8080/x\": read tcp 10.244.0.1:39302->10.244.0.9:8080: read: connection reset by peer",
                "connection closed before a response",
            ),
            ("Get \"http://10.244.0.9:8080/x\": EOF", "connection closed before a response"),
            (
                "Get \"http://db.shop:8080/x\": dial tcp: lookup db.shop on 10.96.0.10:53: no such host",
                "no such host",
            ),
            (
                "Get \"https://10.244.0.9:8443/\": http: server gave HTTP response to HTTPS client",
                "HTTP response to an HTTPS request",
            ),
            (
                "Get \"https://10.244.0.9:8443/\": remote error: tls: handshake failure",
                "TLS handshake failed",
            ),
            (
                "Get \"http://10.244.0.9:6379/\": net/http: HTTP/1.x transport connection broken: malformed HTTP response \"-ERR unknown command\"",
                "the response is not HTTP",
            ),
            ("Get \"http://10.244.0.9:8080/\": stopped after 10 redirects", "too many redirects"),
            ("Get \"http://10.244.0.9:8080/\": 10.244.0.9 is odd", "the request failed"),
        ] {
            assert_eq!(
                describe(&format!("Readiness probe failed: {theirs}")),
                format!(
                    "The readiness probe of `app` failed: {ours}. Check its log, and the port and path of the probe."
                )
            );
        }
    }

    #[test]
    fn a_failing_command_is_described_with_its_last_line() {
        for (theirs, ours) in [
            ("Liveness probe failed: not yet\n", "its command failed: `not yet`"),
            (
                "Liveness probe failed: cat: can't open '/tmp/healthy': No such file or directory\n",
                "its command failed: `cat: can't open '/tmp/healthy': No such file or directory`",
            ),
            (
                "Liveness probe failed: Traceback:\n  File x\nValueError: no table\n\n",
                "its command failed: `ValueError: no table`",
            ),
            ("Liveness probe failed: ", "its command failed without output"),
            ("Liveness probe failed:", "its command failed without output"),
            (
                "(combined from similar events): Liveness probe failed: 12:00:07 not yet",
                "its command failed: `12:00:07 not yet`",
            ),
            (
                "Liveness probe failed: command timed out: \"sh -c sleep 10\" timed out after 1s",
                "its command timed out",
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
                describe(theirs),
                format!(
                    "The liveness probe of `app` failed: {ours}. Check its log, and the command of the probe."
                )
            );
        }
    }

    #[test]
    fn different_output_of_a_command_is_the_same_failure() {
        let check =
            |message: &str, container: &str| ProbeFailure::of_event(message, Some(container)).unwrap();
        let command = check("Readiness probe failed: 1 of 7", "app");
        assert!(command.is_like(&check("Readiness probe failed: 2 of 7", "app")));
        assert!(!command.is_like(&check("Readiness probe failed: 1 of 7", "other")));
        assert!(!command.is_like(&check("Liveness probe failed: 1 of 7", "app")));
        let http = check("Readiness probe failed: HTTP probe failed with statuscode: 404", "app");
        assert!(!command.is_like(&http) && http.is_like(&http));
    }
}
