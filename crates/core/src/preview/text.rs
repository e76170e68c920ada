//! Text of a preview: one line for each object, marked `+`, `~` or `-`.

use std::fmt;

use orchestra_api::{Condition, ConditionStatus, ConditionType, plan::Segment};
use orchestra_score::pointer::readable;
use serde_json::Value as Json;

use super::{Action, FieldChange, ObjectKind, Preview, PreviewChange};
use crate::{claims::SEGMENTS, sentence::sentence};

/// Fields of a new object that mean something to its author.
const RELEVANT: &[&str] = &["/containers/", "/params/", "/ports/"];
/// Fields that the orchestrator records for itself.
const BOOKKEEPING: &[&str] =
    &["/observedWorkloadGeneration", "/revision", "/workloadRef/name", "/workloadRef/uid"];
/// Fields that follow from others; shown only if nothing else changes, as when a secret is rotated.
const DERIVED: &[&str] = &["/claims", "/exposures"];
/// Maximum length of a shown value.
const MAX_VALUE_CHARS: usize = 100;

impl fmt::Display for Preview {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let changing = || self.changes.iter().filter(|change| change.action != Action::Unchanged);
        for change in changing().filter(|change| !is_bookkeeping(change)) {
            write!(f, "{change}")?;
        }
        if changing().next().is_none() {
            writeln!(f, "No changes.")?;
        } else if changing().filter(|change| !is_of_document(change)).all(is_bookkeeping) {
            writeln!(f, "No changes to the plan.")?;
        }
        for gap in &self.pending {
            writeln!(f, "? {}", gap.message)?;
        }
        for violation in &self.explanation.audited {
            writeln!(f, "! {} (not enforced yet)", violation.message)?;
        }
        for deferral in self.deferred.iter().filter(|deferral| deferral.is_noticeable()) {
            writeln!(f, "Note: {}", sentence(&deferral.to_string(), 0))?;
        }
        // The condition shows what a deletion waits for.
        if !self.changes.iter().any(is_workload_deletion) {
            self.explanation.notes.iter().try_for_each(|note| writeln!(f, "Note: {note}"))?;
        }
        writeln!(f)?;
        // The condition shows a single mistake.
        if let mistakes @ [_, _, ..] = self.explanation.mistakes.as_slice() {
            mistakes.iter().try_for_each(|mistake| writeln!(f, "{mistake}"))?;
        }
        let conditions = &self.status.conditions;
        let failing = conditions
            .iter()
            .filter(|c| c.type_ != ConditionType::Ready && c.status != ConditionStatus::True);
        let mut failing = failing.peekable();
        if failing.peek().is_none() {
            return write!(f, "The workload would be ready.");
        }
        write!(f, "Expected conditions:")?;
        failing.try_for_each(|condition| write!(f, "\n  {}", line(condition)))
    }
}

impl fmt::Display for PreviewChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mark, fields): (_, Vec<&FieldChange>) = match self.action {
            Action::Create => ('+', self.fields.iter().filter(|field| is_relevant(field)).collect()),
            Action::Update => ('~', self.relevant_updates()),
            Action::Delete => ('-', Vec::new()),
            Action::Unchanged => ('=', Vec::new()),
        };
        write!(f, "{mark} {}", self.title)?;
        if let Some(note) = &self.note {
            write!(f, ": {note}")?;
        }
        writeln!(f)?;
        fields.into_iter().try_for_each(|field| writeln!(f, "    {field}"))
    }
}

impl PreviewChange {
    /// Changed fields, without derived ones if there are others.
    fn relevant_updates(&self) -> Vec<&FieldChange> {
        let (derived, own): (Vec<_>, Vec<_>) = self
            .fields
            .iter()
            .filter(|field| !is_recorded(field))
            .partition(|field| DERIVED.contains(&field.pointer.as_str()));
        if own.is_empty() { derived } else { own }
    }
}

impl fmt::Display for FieldChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pointer, before, after } = self;
        let pointer = readable(pointer);
        match (before, after) {
            (Some(before), Some(after)) => write!(f, "{pointer} {} -> {}", show(before), show(after)),
            (None, Some(after)) => write!(f, "{pointer} {}", show(after)),
            (Some(before), None) => write!(f, "{pointer} {} -> (removed)", show(before)),
            (None, None) => write!(f, "{pointer}"),
        }
    }
}

/// Condition as one line.
pub(super) fn line(condition: &Condition) -> String {
    let Condition { type_, status, reason, message, .. } = condition;
    format!("{type_} is {status} ({reason}): {message}")
}

fn is_relevant(field: &FieldChange) -> bool {
    RELEVANT.iter().any(|part| field.pointer.starts_with(part))
}

fn is_recorded(field: &FieldChange) -> bool {
    BOOKKEEPING.contains(&field.pointer.as_str())
}

/// True if a change is irrelevant to the author: recorded fields only, or the empty exposure.
fn is_bookkeeping(change: &PreviewChange) -> bool {
    match change.action {
        Action::Create => change.kind == ObjectKind::WorkloadExposure,
        Action::Update => change.fields.iter().all(is_recorded),
        Action::Delete | Action::Unchanged => false,
    }
}

/// True for a change of the document.
fn is_of_document(change: &PreviewChange) -> bool {
    change.kind == ObjectKind::Workload && change.action == Action::Update
}

/// True for the deletion of the Workload.
fn is_workload_deletion(change: &PreviewChange) -> bool {
    change.kind == ObjectKind::Workload && change.action == Action::Delete
}

/// Value on one line; a text with references in the author's notation.
fn show(value: &Json) -> String {
    let text = match segments(value.get(SEGMENTS).unwrap_or(value)) {
        Some(text) => Json::String(text).to_string(),
        None => value.to_string(),
    };
    match text.char_indices().nth(MAX_VALUE_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Text of segments, if the value is a list of them.
fn segments(value: &Json) -> Option<String> {
    let list = value.as_array().filter(|list| !list.is_empty())?;
    let piece = |item: &Json| {
        Some(match serde_json::from_value(item.clone()).ok()? {
            Segment::Literal(text) => text,
            Segment::ClaimOutput(output) => format!("${{resources.{}.{}}}", output.claim, output.output),
        })
    };
    list.iter().map(piece).collect()
}
