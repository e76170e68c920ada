//! Why a copy of a Workload does not run: causes, and how they are told.

use k8s_openapi::jiff::Timestamp;
use orchestra_api::Reason;

use super::{
    check::Check,
    words::{ended, neutral, unschedulable},
};
use crate::denial::Denial;

/// Why a copy of a Workload does not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// An image cannot be had.
    Image {
        /// The container.
        container: Box<str>,
        /// Why not.
        why: ImageFault,
    },
    /// A container ends although it should not, and is started again.
    Crash(Crash),
    /// A container cannot be started at all.
    CannotStart {
        /// The container.
        container: Box<str>,
        /// Why not, in words of the cluster.
        message: Box<str>,
    },
    /// Something that a container needs does not exist or cannot be mounted.
    Missing {
        /// In words of the cluster.
        message: Box<str>,
    },
    /// No machine takes it.
    Unschedulable {
        /// In words of the scheduler.
        message: Box<str>,
    },
    /// A check does not pass.
    Check(Check),
    /// It has no network.
    Network,
    /// It was stopped from outside, or did not survive its machine.
    Stopped {
        /// In words of the cluster.
        message: Box<str>,
    },
    /// The cluster does not let it be made.
    Denied {
        /// In words of the cluster.
        message: Box<str>,
    },
}

/// Why an image cannot be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageFault {
    /// The name is none.
    Invalid,
    /// There is none of this name, or it may not be read.
    NotThere,
    /// Its registry does not answer.
    Unreachable,
    /// Something else.
    Unknown,
}

/// A container that ended although it should not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crash {
    /// The container.
    pub container: Box<str>,
    /// How it ended.
    pub exit_code: i32,
    /// Whether it had taken more memory than it may.
    pub out_of_memory: bool,
    /// When it had been started.
    pub began: Option<Timestamp>,
    /// The last line that it wrote, as far as it is known and may be told.
    pub last_line: Option<Box<str>>,
    /// The check that had it ended, as far as it is known.
    pub ended_by: Option<Box<Check>>,
}

impl Cause {
    /// What a waiting container says.
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

    /// What an event about a copy, or about what makes copies, says, unless it is about a check. Most events tell nothing new.
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

    /// In a word and a sentence.
    pub fn told(&self) -> (Reason, String) {
        let degraded = |message| (Reason::RuntimeDegraded, message);
        match self {
            Self::Image { container, why } => degraded(match why {
                ImageFault::Invalid => {
                    format!("The image of `{container}` has no valid name; correct `containers.{container}.image`.")
                }
                ImageFault::NotThere => format!(
                    "The image of `{container}` cannot be fetched: it does not exist, or the platform may not read it; correct `containers.{container}.image`, or ask the platform team for access."
                ),
                ImageFault::Unreachable => format!(
                    "The image of `{container}` cannot be fetched: its registry does not answer; it is tried again."
                ),
                ImageFault::Unknown => format!(
                    "The image of `{container}` cannot be fetched; check `containers.{container}.image`, it is tried again."
                ),
            }),
            Self::Crash(crash) => degraded(crash.told()),
            Self::CannotStart { container, message } => {
                let is_forbidden = message.contains(AS_ROOT);
                let reason = if is_forbidden { Reason::PolicyViolation } else { Reason::RuntimeDegraded };
                (reason, format!("`{container}` cannot be started: {}", ended(&start_fault(message))))
            }
            Self::Missing { message } => {
                degraded(format!("Something that it mounts is not there: {}", ended(&missing(message))))
            }
            Self::Unschedulable { message } => degraded(unschedulable(message)),
            Self::Check(check) => degraded(check.told()),
            Self::Network => (
                Reason::NetworkUnavailable,
                "It cannot be connected to the network of the place where it runs; it is tried again. If it lasts, tell the platform team."
                    .to_owned(),
            ),
            Self::Stopped { message } => {
                degraded(format!("It was stopped by the place where it runs: {}", ended(&neutral(message))))
            }
            Self::Denied { message } => {
                let denied = Denial::forbidden(message).told(message);
                (denied.reason, denied.message)
            }
        }
    }
}

impl Crash {
    /// In a sentence. It does not change with every start, so that it is not written again each time.
    fn told(&self) -> String {
        if let Some(check) = &self.ended_by {
            return format!("{} It is stopped for that, and started again.", check.told());
        }
        let (container, how, line) = (&self.container, self.how(), self.line());
        format!("`{container}` is not running: {how}.{line} It is started again; see its log.")
    }

    /// In a sentence, once nobody starts it again.
    pub(super) fn final_told(&self) -> String {
        if let Some(check) = &self.ended_by {
            return format!("{} It was stopped for that.", check.told());
        }
        let how = self.how();
        format!("`{}` {}.{}", self.container, how.strip_prefix("it ").unwrap_or(&how), self.line())
    }

    fn line(&self) -> String {
        self.last_line.as_ref().map(|line| format!(" It last wrote: `{line}`.")).unwrap_or_default()
    }

    fn how(&self) -> String {
        let Self { exit_code, out_of_memory, .. } = self;
        match (out_of_memory, exit_code) {
            (true, _) => "it took more memory than it may: raise its limit, or let it use less".to_owned(),
            (false, 0) => "it ended by itself, and should run on".to_owned(),
            (false, code) if *code > 128 && *code < 160 => format!("it was ended by signal {}", code - 128),
            (false, code) => format!("it ended with exit code {code}"),
        }
    }
}

/// How the cluster says that something may not run as root.
const AS_ROOT: &str = "runAsNonRoot";

fn image_fault(message: &str) -> ImageFault {
    let says = |signs: &[&str]| signs.iter().any(|sign| message.contains(sign));
    if says(&[
        "no such host",
        "dial tcp",
        "i/o timeout",
        "connection refused",
        "no route to host",
        "TLS handshake",
    ]) {
        ImageFault::Unreachable
    } else if says(&["not found", "NotFound", "denied", "unauthorized", "authorization failed", "forbidden"])
    {
        ImageFault::NotThere
    } else {
        ImageFault::Unknown
    }
}

fn is_about_network(message: &str) -> bool {
    let message = message.to_lowercase();
    ["network", "cni", "ipam"].iter().any(|sign| message.contains(sign))
}

/// What a runtime of containers says of a start, as far as an author can use it.
fn start_fault(message: &str) -> String {
    if message.contains(AS_ROOT) {
        let why = if message.contains("non-numeric user") {
            "its image names its user, and may be root, which is not allowed here: let it give the number of its user"
        } else {
            "its image runs as root, which is not allowed here: use one that runs as another user"
        };
        return why.to_owned();
    }
    match message.split_once("exec: ") {
        Some((_, own)) => neutral(own.trim_end_matches(": unknown")),
        None => neutral(message),
    }
}

/// What is missing, without what the machine tried.
fn missing(message: &str) -> String {
    let own = message.rsplit_once("MountVolume.SetUp failed for volume ").map_or(message, |(_, own)| own);
    let own = own.split_once(" : ").map_or(own, |(_, own)| own);
    neutral(own.lines().next().unwrap_or_default().trim())
}
