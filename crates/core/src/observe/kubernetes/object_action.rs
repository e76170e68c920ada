//! Action that brings an object of the cluster to its desired state.

use kube::core::Status;

use crate::denial::requires_replacement;

/// Kind whose objects are immutable.
const IMMUTABLE_KIND: &str = "Job";

/// Live object of a name, ours or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiveObject<'a> {
    /// Uid of the Workload, or id of the instance, that it was created for.
    pub owner: Option<&'a str>,
    /// True if it is being deleted.
    pub is_deleting: bool,
    /// True if its fields are as desired.
    pub is_current: bool,
    /// Revision that it was created for.
    pub revision: Option<&'a str>,
}

/// Desired object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DesiredObject<'a> {
    /// Uid of its Workload, or id of its instance.
    pub owner: &'a str,
    /// Its kind.
    pub kind: &'a str,
    /// Revision of the plan; the objects of an instance have none.
    pub revision: Option<&'a str>,
}

impl DesiredObject<'_> {
    /// True if the live object is deleted after the API denied to apply this one to it. Objects of other kinds with immutable
    /// fields, such as volumes, may hold data.
    pub fn replaces_after(&self, denial: &Status) -> bool {
        self.kind == IMMUTABLE_KIND && requires_replacement(denial)
    }
}

/// Action on an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectAction {
    /// Create it.
    Create,
    /// Report a foreign object of the same name, which is not changed.
    ReportConflict,
    /// Wait for the end of the previous object.
    AwaitDeletion,
    /// Nothing: it is as desired.
    Keep,
    /// Delete and create it: it is immutable, and of another revision.
    Replace,
    /// Apply it to the live object.
    Apply,
}

impl ObjectAction {
    /// Action for a live object, if there is one, and the desired one.
    pub fn of(live: Option<LiveObject<'_>>, desired: &DesiredObject<'_>) -> Self {
        let Some(live) = live else { return Self::Create };
        if live.owner != Some(desired.owner) {
            Self::ReportConflict
        } else if live.is_deleting {
            Self::AwaitDeletion
        } else if live.is_current {
            Self::Keep
        } else if desired.kind == IMMUTABLE_KIND && live.revision != desired.revision {
            Self::Replace
        } else {
            Self::Apply
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_action_on_an_object_follows_from_its_owner_its_state_and_its_kind() {
        let live =
            LiveObject { owner: Some("u1"), is_deleting: false, is_current: false, revision: Some("r1") };
        let current = LiveObject { is_current: true, ..live };
        let foreign = LiveObject { owner: None, ..current };
        let of_another = LiveObject { owner: Some("u2"), ..current };
        let deleting = LiveObject { is_deleting: true, ..current };
        for (case, live, kind, revision, expected) in [
            ("absent", None, "Job", "r2", ObjectAction::Create),
            ("not ours", Some(foreign), "Service", "r2", ObjectAction::ReportConflict),
            ("of another workload", Some(of_another), "Service", "r2", ObjectAction::ReportConflict),
            (
                "not ours and being deleted",
                Some(LiveObject { is_deleting: true, ..foreign }),
                "Service",
                "r2",
                ObjectAction::ReportConflict,
            ),
            ("being deleted", Some(deleting), "Job", "r2", ObjectAction::AwaitDeletion),
            ("as desired", Some(current), "Service", "r2", ObjectAction::Keep),
            ("a job as desired", Some(current), "Job", "r2", ObjectAction::Keep),
            ("a job of another revision", Some(live), "Job", "r2", ObjectAction::Replace),
            (
                "a job without a revision",
                Some(LiveObject { revision: None, ..live }),
                "Job",
                "r2",
                ObjectAction::Replace,
            ),
            ("a job with drift", Some(live), "Job", "r1", ObjectAction::Apply),
            ("another kind", Some(live), "Deployment", "r2", ObjectAction::Apply),
        ] {
            let desired = DesiredObject { owner: "u1", kind, revision: Some(revision) };
            assert_eq!(ObjectAction::of(live, &desired), expected, "{case}");
        }
    }
}
