//! A preview as people read it: one line for each thing, marked `+`, `~` or `-`.

use std::fmt;

use orchestra_api::{Condition, ConditionStatus, ConditionType, plan::Segment};
use orchestra_score::pointer::readable;
use serde_json::Value as Json;

use super::{Action, Change, FieldChange, ObjectKind, Preview};
use crate::claims::SEGMENTS;

/// Where the parts are that an author recognises in something new.
const TELLING: &[&str] = &["/containers/", "/params/", "/ports/"];
/// What the orchestrator notes for itself.
const BOOKKEEPING: &[&str] =
    &["/observedWorkloadGeneration", "/revision", "/workloadRef/name", "/workloadRef/uid"];
/// What follows from other fields; it is told only where it is all that changes, as when a secret is rotated.
const DERIVED: &[&str] = &["/claims", "/exposures"];
/// How many characters of a value are shown.
const SHOWN: usize = 100;

impl fmt::Display for Preview {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let changing = || self.changes.iter().filter(|change| change.action != Action::Unchanged);
        for change in changing().filter(|change| !is_bookkeeping(change)) {
            write!(f, "{change}")?;
        }
        if changing().next().is_none() {
            writeln!(f, "No changes.")?;
        } else if changing().filter(|change| !is_of_document(change)).all(is_bookkeeping) {
            writeln!(f, "No changes to what runs.")?;
        }
        for gap in &self.pending {
            writeln!(f, "? {}", gap.message)?;
        }
        for violation in &self.explanation.audited {
            writeln!(f, "! {} (not enforced yet)", violation.message)?;
        }
        // What a deletion waits for is in the condition already.
        if !self.changes.iter().any(is_end) {
            self.explanation.notes.iter().try_for_each(|note| writeln!(f, "Note: {note}"))?;
        }
        writeln!(f)?;
        // A single one is in the condition already.
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
        write!(f, "The workload would say:")?;
        failing.try_for_each(|condition| write!(f, "\n  {}", in_words(condition)))
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mark, fields): (_, Vec<&FieldChange>) = match self.action {
            Action::Create => ('+', self.fields.iter().filter(|field| is_telling(field)).collect()),
            Action::Update => ('~', self.telling_updates()),
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

impl Change {
    /// The changed fields without those that only follow from others.
    fn telling_updates(&self) -> Vec<&FieldChange> {
        let (derived, own): (Vec<_>, Vec<_>) = self
            .fields
            .iter()
            .filter(|field| !is_noted(field))
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
            (Some(before), None) => write!(f, "{pointer} {} -> nothing", show(before)),
            (None, None) => write!(f, "{pointer}"),
        }
    }
}

/// A condition as one line.
pub(super) fn in_words(condition: &Condition) -> String {
    let Condition { type_, status, reason, message, .. } = condition;
    format!("{type_} is {status} ({reason}): {message}")
}

fn is_telling(field: &FieldChange) -> bool {
    TELLING.iter().any(|part| field.pointer.starts_with(part))
}

fn is_noted(field: &FieldChange) -> bool {
    BOOKKEEPING.contains(&field.pointer.as_str())
}

/// Whether a change is of no concern to its author: notes, and the object in which a runtime will publish addresses.
fn is_bookkeeping(change: &Change) -> bool {
    match change.action {
        Action::Create => change.kind == ObjectKind::WorkloadExposure,
        Action::Update => change.fields.iter().all(is_noted),
        Action::Delete | Action::Unchanged => false,
    }
}

/// Whether a change is one of the document alone.
fn is_of_document(change: &Change) -> bool {
    change.kind == ObjectKind::Workload && change.action == Action::Update
}

/// Whether a change is the end of the Workload.
fn is_end(change: &Change) -> bool {
    change.kind == ObjectKind::Workload && change.action == Action::Delete
}

/// A value on one line: a text with references in it as the author would write it.
fn show(value: &Json) -> String {
    let text = match segments(value.get(SEGMENTS).unwrap_or(value)) {
        Some(text) => Json::String(text).to_string(),
        None => value.to_string(),
    };
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// The text that segments make, if that is what a value is.
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
