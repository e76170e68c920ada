//! Faults of an orchestrator config, with their locations.

use std::fmt;

use orchestra_score::{Diagnostic, Node, Pointer, Source, Span, pointer::readable};

use crate::selector::SelectorFault;

/// Fault of an orchestrator config.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Fault {
    /// JSON pointer to the value, even if the value is missing.
    pub pointer: String,
    /// Line to change, from 1.
    pub line: Option<usize>,
    /// Message.
    pub message: String,
    /// Remedy.
    pub hint: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        if !self.pointer.is_empty() {
            write!(f, "{}: ", readable(&self.pointer))?;
        }
        write!(f, "{}; {}", self.message, self.hint)
    }
}

impl Fault {
    /// Fault of a YAML diagnostic.
    pub(super) fn of_yaml(diagnostic: Diagnostic, source: &Source) -> Self {
        Self {
            pointer: diagnostic.pointer.as_str().to_owned(),
            line: diagnostic.span.map(|span| line(span, source)),
            message: diagnostic.message,
            hint: diagnostic.hint,
        }
    }
}

/// Collector of faults. Their lines are looked up at the end.
#[derive(Debug, Default)]
pub(super) struct Faults {
    list: Vec<(Pointer, String, String)>,
}

impl Faults {
    pub(super) fn add(&mut self, at: Pointer, message: impl Into<String>, hint: impl Into<String>) {
        self.list.push((at, message.into(), hint.into()));
    }

    /// Adds the faults of a selector.
    pub(super) fn add_selector(&mut self, at: &Pointer, faults: Vec<SelectorFault>) {
        for fault in faults {
            let place = fault.pointer.parts().fold(at.clone(), |place, part| place.key(&part));
            self.add(place, fault.message, fault.hint);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// True if the value or anything within it has a fault.
    pub(super) fn any_within(&self, at: &Pointer) -> bool {
        self.list.iter().any(|(place, ..)| is_within(place, at))
    }

    /// True if the value or a parent of it could not be read.
    pub(super) fn any_enclosing(&self, at: &Pointer) -> bool {
        self.list.iter().any(|(place, ..)| is_within(at, place))
    }

    /// Faults in source order.
    pub(super) fn located(self, root: &Node, source: &Source) -> Vec<Fault> {
        let mut faults: Vec<_> = self
            .list
            .into_iter()
            .map(|(pointer, message, hint)| {
                let span = root.locate(&pointer).or(root.span);
                let line = span.map(|span| line(span, source));
                (span.map(|span| span.start), Fault { pointer: pointer.to_string(), line, message, hint })
            })
            .collect();
        faults.sort_by_key(|(start, _)| *start);
        faults.into_iter().map(|(_, fault)| fault).collect()
    }
}

fn is_within(inner: &Pointer, outer: &Pointer) -> bool {
    let rest = inner.as_str().strip_prefix(outer.as_str());
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn line(span: Span, source: &Source) -> usize {
    source.line(span.start as usize)
}
