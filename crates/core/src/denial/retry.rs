//! Retries of writes that the API answered with an error. The one rule for all writes of the orchestrator.

use kube::core::Status;

use super::{Denial, NotFound};

/// Subject of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteOf {
    /// Claim, plan, exposure or a status. The orchestrator writes valid objects, so a rule that somebody added denies it, and may be
    /// changed without an event that reaches us.
    OwnObject,
    /// Object of a runtime or an engine, rendered from what users wrote.
    RenderedObject,
    /// Event. It is for people, and soon outdated.
    Event,
}

impl Denial {
    /// True if a denied write is retried. Quota and permissions may be granted at any time, and policies changed; an invalid
    /// rendered object stays invalid until the Workload or the template is corrected.
    pub fn is_retried(self, write: WriteOf) -> bool {
        match write {
            WriteOf::OwnObject => true,
            WriteOf::RenderedObject => self != Self::Invalid,
            WriteOf::Event => false,
        }
    }
}

/// True if a write is retried after this answer. An answer that is no [`Denial`] is retried, except for an event that the server
/// rejects.
pub fn is_retried(write: WriteOf, status: &Status) -> bool {
    match Denial::of(status) {
        Some(denial) => denial.is_retried(write),
        None => write != WriteOf::Event || status.code == 429 || !(400..500).contains(&status.code),
    }
}

/// True if the object of a delete or a patch with its uid as a precondition is gone, or was replaced by another one of its name. An
/// object whose kind is not installed is gone, too. A webhook that denies the write chooses its code, so a denial is neither.
pub fn is_gone_or_replaced(status: &Status) -> bool {
    let is_gone = matches!(NotFound::of(status), Some(NotFound::Object | NotFound::Kind));
    Denial::of(status).is_none() && (status.code == 409 || is_gone)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(code: u16, reason: &str, message: &str) -> Status {
        Status::failure(message, reason).with_code(code)
    }

    #[test]
    fn a_write_is_retried_by_the_answer_and_its_subject() {
        use WriteOf::{Event, OwnObject, RenderedObject};
        for (answer, retried) in [
            (status(422, "Invalid", "spec: Invalid value"), &[OwnObject][..]),
            (status(403, "Forbidden", "exceeded quota: q"), &[OwnObject, RenderedObject]),
            (status(403, "Forbidden", "User \"a\" cannot create resource"), &[OwnObject, RenderedObject]),
            (status(404, "NotFound", "namespaces \"a\" not found"), &[OwnObject, RenderedObject]),
            (status(429, "TooManyRequests", "later"), &[OwnObject, RenderedObject, Event]),
            (
                status(500, "InternalError", "etcdserver: request timed out"),
                &[OwnObject, RenderedObject, Event],
            ),
        ] {
            for write in [OwnObject, RenderedObject, Event] {
                assert_eq!(is_retried(write, &answer), retried.contains(&write), "{write:?} {answer:?}");
            }
        }
    }

    #[test]
    fn an_object_in_a_missing_namespace_does_not_count_as_gone() {
        for (answer, expected) in [
            (status(404, "NotFound", "services \"a\" not found"), true),
            (status(409, "Conflict", "the UID in the precondition does not match"), true),
            (status(404, "NotFound", "the server could not find the requested resource"), true),
            (status(404, "NotFound", "namespaces \"a\" not found"), false),
            (status(403, "Forbidden", "User \"a\" cannot delete resource"), false),
            (status(409, "Conflict", "admission webhook \"protect\" denied the request: keep it"), false),
            (status(404, "NotFound", "admission webhook \"protect\" denied the request: keep it"), false),
        ] {
            assert_eq!(is_gone_or_replaced(&answer), expected, "{answer:?}");
        }
    }
}
