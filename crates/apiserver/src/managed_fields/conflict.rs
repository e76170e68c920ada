//! Conflicts of an apply with fields of other managers.

use std::fmt;

use super::manager::Manager;
use super::set::Set;

/// Maximum text about conflicts in a response.
const MAX_TEXT_BYTES: usize = 1024 * 1024;

/// The conflicts of an apply, by manager.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Conflicts(Vec<Group>);

/// The fields of one manager.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Group {
    manager: String,
    fields: Set,
}

/// A field that another manager owns: a cause in the `Status`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Conflict {
    /// `conflict with "m" using v1`
    pub message: String,
    /// `.data.a`
    pub field: String,
}

impl Conflict {
    /// The `reason` of the cause.
    pub(crate) const REASON: &'static str = "FieldManagerConflict";
}

impl Conflicts {
    /// Conflicts with managers, in the order of their identities.
    pub(super) fn with<'a>(managers: impl IntoIterator<Item = (&'a Manager, Set)>) -> Self {
        Self(
            managers
                .into_iter()
                .filter(|(_, fields)| !fields.is_empty())
                .map(|(manager, fields)| Group { manager: manager.shown(), fields })
                .collect(),
        )
    }

    /// True if there are no conflicts.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The conflicts about fields that are not in a set.
    pub(super) fn outside(&self, fields: &Set) -> Self {
        let left = self
            .0
            .iter()
            .map(|group| Group { manager: group.manager.clone(), fields: group.fields.difference(fields) });
        Self(left.filter(|group| !group.fields.is_empty()).collect())
    }

    /// The causes in the `Status`, one for each field and manager.
    pub(crate) fn causes(&self) -> Vec<Conflict> {
        let mut room = MAX_TEXT_BYTES;
        let mut causes = Vec::new();
        for group in &self.0 {
            let message = format!("conflict with {}", group.manager);
            let fields = group.fields.shown(&mut room).into_iter();
            causes.extend(fields.map(|field| Conflict { message: message.clone(), field }));
        }
        causes
    }

    /// The message of the `Status`.
    pub(crate) fn message(&self) -> String {
        let count: usize = self.0.iter().map(|group| group.fields.len()).sum();
        let mut room = MAX_TEXT_BYTES;
        if let ([group], 1) = (self.0.as_slice(), count) {
            let field = group.fields.shown(&mut room).concat();
            return format!("Apply failed with 1 conflict: conflict with {}: {field}", group.manager);
        }
        let mut lines = Vec::new();
        for group in &self.0 {
            lines.push(format!("conflicts with {}:", group.manager));
            lines.extend(group.fields.shown(&mut room).into_iter().map(|field| format!("- {field}")));
        }
        format!("Apply failed with {count} conflicts: {}", lines.join("\n"))
    }
}

impl fmt::Display for Conflicts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message())
    }
}
