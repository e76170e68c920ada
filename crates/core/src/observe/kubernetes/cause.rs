//! Causes of failures, and their descriptions for users.

use k8s_openapi::jiff::Timestamp;
use orchestra_api::Reason;

use super::{messages::unschedulable, probe::ProbeFailure};
use crate::denial::{
    Denial,
    messages::{ended, neutral},
};

/// Cause of a failure. Messages are those of the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// An image cannot be pulled.
    Image {
        /// The container.
        container: Box<str>,
        /// Fault of the image.
        why: ImageFault,
    },
    /// A container exits unexpectedly, and is restarted.
    Crash(Crash),
    /// A container cannot be started.
    CannotStart {
        /// The container.
        container: Box<str>,
        /// Message.
        message: Box<str>,
    },
    /// A mount of a container does not exist or fails.
    Missing {
        /// Message.
        message: Box<str>,
    },
    /// No node fits.
    Unschedulable {
        /// Message of the scheduler.
        message: Box<str>,
    },
    /// A probe fails.
    Probe(ProbeFailure),
    /// The network cannot be set up.
    Network,
    /// It was evicted, or its node failed.
    Stopped {
        /// Message.
        message: Box<str>,
    },
    /// The cluster denies its creation.
    Denied {
        /// Message.
        message: Box<str>,
    },
}

/// Reason why an image cannot be pulled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageFault {
    /// The name is invalid.
    Invalid,
    /// It does not exist, or access is denied.
    NotFound,
    /// Its registry does not respond.
    Unreachable,
    /// Something else.
    Unknown,
}

/// Unexpected exit of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crash {
    /// The container.
    pub container: Box<str>,
    /// Exit code.
    pub exit_code: i32,
    /// True if it exceeded its memory limit.
    pub out_of_memory: bool,
    /// True if it has exited so often that it is a crash loop.
    pub is_loop: bool,
    /// Start time.
    pub started_at: Option<Timestamp>,
    /// Last line of its log, if it is known and may be shown.
    pub last_line: Option<Box<str>>,
    /// Probe that made the cluster kill it, if it is known.
    pub killed_by: Option<Box<ProbeFailure>>,
}

impl Cause {
    /// Cause of a waiting container.
    pub(super) fn of_waiting(container: &str, reason: &str, message: &str) -> Option<Self> {
        let container = Box::from(container);
        match reason {
            "InvalidImageName" => Some(Self::Image { container, why: ImageFault::Invalid }),
            "ErrImagePull"
            | "ImagePullBackOff"
            | "ErrImageNeverPull"
            | "RegistryUnavailable"
            | "ImageInspectError"
            | "SignatureValidationFailed" => Some(Self::Image { container, why: image_fault(message) }),
            "CreateContainerConfigError" if message.contains(AS_ROOT) => {
                Some(Self::CannotStart { container, message: message.into() })
            }
            "CreateContainerConfigError" => Some(Self::Missing { message: message.into() }),
            "CreateContainerError"
            | "RunContainerError"
            | "PreCreateHookError"
            | "PreStartHookError"
            | "PostStartHookError" => Some(Self::CannotStart { container, message: message.into() }),
            _ => None,
        }
    }

    /// Cause in an event about a pod or its owner, except failing probes. Most events have none.
    pub(super) fn of_event(reason: &str, message: &str) -> Option<Self> {
        match reason {
            "FailedMount" | "FailedAttachVolume" | "FailedMapVolume" => {
                Some(Self::Missing { message: message.into() })
            }
            "FailedCreatePodSandBox" if is_about_network(message) => Some(Self::Network),
            "FailedCreatePodSandBox" => Some(Self::Stopped { message: message.into() }),
            "NetworkNotReady" | "FailedPodNetwork" => Some(Self::Network),
            "FailedCreate" => Some(Self::Denied { message: message.into() }),
            _ => None,
        }
    }

    /// Reason and sentence for users.
    pub fn describe(&self) -> (Reason, String) {
        let degraded = |message| (Reason::RuntimeDegraded, message);
        match self {
            Self::Image { container, why } => degraded(match why {
                ImageFault::Invalid => {
                    format!(
                        "The image of `{container}` has an invalid name: correct `containers.{container}.image`."
                    )
                }
                ImageFault::NotFound => format!(
                    "The image of `{container}` cannot be pulled: image not found, or access denied. Correct `containers.{container}.image`, or ask the platform's administrators for access."
                ),
                ImageFault::Unreachable => format!(
                    "The image of `{container}` cannot be pulled: its registry does not respond; retrying."
                ),
                ImageFault::Unknown => format!(
                    "The image of `{container}` cannot be pulled: check `containers.{container}.image`; retrying."
                ),
            }),
            Self::Crash(crash) => degraded(crash.describe()),
            Self::CannotStart { container, message } => {
                let is_forbidden = message.contains(AS_ROOT);
                let reason = if is_forbidden { Reason::PolicyViolation } else { Reason::RuntimeDegraded };
                (reason, format!("`{container}` cannot be started: {}", ended(&start_fault(message))))
            }
            Self::Missing { message } => {
                degraded(format!("A mount is missing: {}", ended(&missing(message))))
            }
            Self::Unschedulable { message } => degraded(unschedulable(message)),
            Self::Probe(probe) => degraded(probe.describe()),
            Self::Network => (
                Reason::NetworkUnavailable,
                "The network could not be set up; retrying. If it persists, contact the platform's administrators.".to_owned(),
            ),
            Self::Stopped { message } => {
                degraded(format!("It was stopped by the cluster: {}", ended(&neutral(message))))
            }
            Self::Denied { message } => {
                let Some(denial) = Denial::of_event(message) else {
                    return degraded(format!("It could not be created: {}", ended(&neutral(message))));
                };
                let denied = denial.describe(message);
                (denied.reason, denied.message)
            }
        }
    }

    /// Sentence for users about a program of the platform, such as a database, which they cannot correct.
    pub fn describe_dependency(&self) -> String {
        match self {
            Self::Image { .. } => {
                "Its image cannot be pulled: the platform's administrators must correct the template."
                    .to_owned()
            }
            Self::Crash(crash) if crash.out_of_memory => "Out of memory: ask for a larger class.".to_owned(),
            Self::Crash(crash) if crash.is_loop => format!(
                "`{}` is in a crash loop ({}): the platform's administrators must check its log.",
                crash.container,
                crash.how()
            ),
            Self::Crash(crash) => {
                format!("`{}` is not running ({}); restarting.", crash.container, crash.how())
            }
            other => other.describe().1,
        }
    }
}

impl Crash {
    /// Sentence for users. It does not change with every restart, to save writes.
    fn describe(&self) -> String {
        if let Some(probe) = &self.killed_by {
            return format!("{} It is restarted.", probe.describe());
        }
        let (container, how, line) = (&self.container, self.how(), self.line());
        if self.is_loop {
            return format!(
                "`{container}` is in a crash loop: {how}.{line} Restarting with backoff; see its log."
            );
        }
        format!("`{container}` is not running: {how}.{line} Restarting; see its log.")
    }

    /// Sentence for users, if it is not restarted.
    pub(super) fn describe_final(&self) -> String {
        if let Some(probe) = &self.killed_by {
            return format!("{} It was stopped.", probe.describe());
        }
        format!("`{}` failed: {}.{}", self.container, self.how(), self.line())
    }

    fn line(&self) -> String {
        self.last_line.as_ref().map(|line| format!(" It last wrote: `{line}`.")).unwrap_or_default()
    }

    fn how(&self) -> String {
        let Self { exit_code, out_of_memory, .. } = self;
        match (out_of_memory, exit_code) {
            (true, _) => "out of memory: raise its memory limit, or let it use less".to_owned(),
            (false, 0) => "exit code 0, but it should keep running".to_owned(),
            (false, code) if *code > 128 && *code < 160 => format!("killed by signal {}", code - 128),
            (false, code) => format!("exit code {code}"),
        }
    }
}

/// Sign of an image that may not run as root.
const AS_ROOT: &str = "runAsNonRoot";

fn image_fault(message: &str) -> ImageFault {
    let has = |signs: &[&str]| signs.iter().any(|sign| message.contains(sign));
    if has(&[
        "no such host",
        "dial tcp",
        "i/o timeout",
        "connection refused",
        "no route to host",
        "TLS handshake",
    ]) {
        ImageFault::Unreachable
    } else if has(&["not found", "NotFound", "denied", "unauthorized", "authorization failed", "forbidden"]) {
        ImageFault::NotFound
    } else {
        ImageFault::Unknown
    }
}

fn is_about_network(message: &str) -> bool {
    let message = message.to_lowercase();
    ["network", "cni", "ipam"].iter().any(|sign| message.contains(sign))
}

/// Part of a start failure that an author can use.
fn start_fault(message: &str) -> String {
    if message.contains(AS_ROOT) {
        let why = if message.contains("non-numeric user") {
            "its image has a non-numeric user, which may be root (runAsNonRoot): use a numeric user"
        } else {
            "its image runs as root, which is not allowed (runAsNonRoot): use an image with another user"
        };
        return why.to_owned();
    }
    match message.split_once("exec: ") {
        Some((_, own)) => neutral(own.trim_end_matches(": unknown")),
        None => neutral(message),
    }
}

/// Missing mount, without the attempts of the node.
fn missing(message: &str) -> String {
    let own = message.rsplit_once("MountVolume.SetUp failed for volume ").map_or(message, |(_, own)| own);
    let own = own.split_once(" : ").map_or(own, |(_, own)| own);
    neutral(own.lines().next().unwrap_or_default().trim())
}
