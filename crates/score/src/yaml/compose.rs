//! From YAML events to a tree of values with places.
//!
//! The rules are those of Go's yaml.v3, which the reference tools read Score files with (see [`super::scalar`]
//! for words). A mistake that leaves the shape of the document clear (a duplicate key, a number as a key, an
//! unknown tag) is noted and reading goes on; a mistake in the syntax ends it.

use std::{borrow::Cow, collections::HashMap};

use base64::{Engine, engine::general_purpose::STANDARD};
use granit_parser::{Event, Options, Parser, ScalarStyle, ScanError, Span as Mark, StrInput, Tag};
use indexmap::map::Entry as Slot;

use super::{
    limits,
    scalar::{self, Scalar},
};
use crate::{
    code::Code,
    diagnostic::{Diagnostic, Findings},
    node::{Entry, Map, Node, Value},
    pointer::{Path, Pointer},
    source::{Source, SourceId, Span},
};

/// Reading cannot go on; the finding says why.
struct Stop(Box<Diagnostic>);

type Result<T> = std::result::Result<T, Stop>;

/// What an anchor stands for, and how many values that is.
struct Anchored {
    node: Node,
    size: usize,
}

struct Composer<'text> {
    source: &'text Source,
    text: &'text str,
    id: SourceId,
    events: Parser<'text, StrInput<'text>>,
    anchors: HashMap<usize, Anchored>,
    /// Values so far, with aliases counted as often as they are used.
    size: usize,
    findings: Findings,
}

/// Reads the first document of a text. `None` where there is none, or where it could not be read to its end.
pub(super) fn compose(source: &Source, id: SourceId) -> (Option<Node>, Findings) {
    let mut options = Options::default();
    options.set_emit_comments(false);
    options.flow_nesting_limit = limits::DEPTH;
    options.block_nesting_limit = limits::DEPTH;
    let mut composer = Composer {
        source,
        text: &source.text,
        id,
        events: Parser::new_from_str_with_options(&source.text, options),
        anchors: HashMap::new(),
        size: 0,
        findings: Findings::default(),
    };
    let root = match composer.document() {
        Ok(root) => root,
        Err(Stop(finding)) => {
            composer.findings.push(*finding);
            None
        }
    };
    (root, composer.findings)
}

impl<'text> Composer<'text> {
    fn document(&mut self) -> Result<Option<Node>> {
        loop {
            match self.next()? {
                (Event::StreamStart, _) => {}
                (Event::DocumentStart(..), _) => break,
                _ => return Ok(None),
            }
        }
        let (event, mark) = self.next()?;
        let root = self.node(event, mark, &Path::Root, 0)?;
        // A syntax error in a later document is no error of the first one.
        while let Some(Ok((event, mark))) = self.events.next_event() {
            if matches!(event, Event::DocumentStart(..)) {
                let span = self.span(mark);
                self.findings.push(Diagnostic::warning(
                    Code::ExtraDocument,
                    Pointer::root(),
                    Some(span),
                    "the text holds another document here, which is not read",
                    "keep one Score document per file, and give several files instead",
                ));
                break;
            }
        }
        Ok(Some(root))
    }

    fn next(&mut self) -> Result<(Event<'text>, Mark)> {
        match self.events.next_event() {
            Some(Ok(next)) => Ok(next),
            Some(Err(error)) => Err(self.syntax(&error)),
            None => Ok((Event::StreamEnd, Mark::default())),
        }
    }

    fn syntax(&self, error: &ScanError) -> Stop {
        let at = error.marker().byte_offset().unwrap_or(self.text.len()).min(self.text.len());
        let width = self.text[at..].chars().next().filter(|c| *c != '\n').map_or(0, char::len_utf8);
        let span = self.bytes(at, at + width);
        Stop(Box::new(Diagnostic::error(
            Code::InvalidSyntax,
            Pointer::root(),
            Some(span),
            format!("this is not valid YAML: {}", error.info()),
            super::syntax_hint(self.text, at),
        )))
    }

    fn node(&mut self, event: Event<'text>, mark: Mark, at: &Path<'_>, depth: usize) -> Result<Node> {
        let span = self.span(mark);
        self.grow(1, at, span)?;
        if depth > limits::DEPTH {
            return Err(too_large(
                at,
                span,
                format!("values are nested deeper than {} levels", limits::DEPTH),
            ));
        }
        let before = self.size;
        let (anchor, node) = match event {
            Event::Alias(id) => return self.alias(id, at, span),
            Event::Scalar(text, style, anchor, tag) => {
                (anchor, Node { value: self.scalar(text, style, tag.as_deref(), at, span), span: Some(span) })
            }
            Event::SequenceStart(_, anchor, _) => {
                let (list, end) = self.list(at, depth)?;
                (anchor, Node { value: Value::List(list), span: Some(Span { end, ..span }) })
            }
            Event::MappingStart(_, anchor, _) => {
                let (map, end) = self.map(at, depth)?;
                (anchor, Node { value: Value::Map(map), span: Some(Span { end, ..span }) })
            }
            _ => (0, Node { value: Value::Null, span: Some(span) }),
        };
        if anchor != 0 {
            // The copy that is kept counts too, or nested anchors would multiply it.
            let size = self.size - before + 1;
            self.grow(size, at, span)?;
            self.anchors.insert(anchor, Anchored { node: node.clone(), size });
        }
        Ok(node)
    }

    fn list(&mut self, at: &Path<'_>, depth: usize) -> Result<(Vec<Node>, u32)> {
        let mut list = Vec::new();
        loop {
            let (event, mark) = self.next()?;
            if matches!(event, Event::SequenceEnd | Event::StreamEnd) {
                return Ok((list, self.span(mark).end));
            }
            let node = self.node(event, mark, &at.index(list.len()), depth + 1)?;
            list.push(node);
        }
    }

    fn map(&mut self, at: &Path<'_>, depth: usize) -> Result<(Map, u32)> {
        let mut map = Map::new();
        let mut merge: Option<(Node, Span)> = None;
        loop {
            let (event, mark) = self.next()?;
            if matches!(event, Event::MappingEnd | Event::StreamEnd) {
                let end = self.span(mark).end;
                if let Some((node, span)) = merge {
                    self.merge(&mut map, node, at, span)?;
                }
                return Ok((map, end));
            }
            let is_merge = is_merge_key(&event);
            let key_span = self.span(mark);
            let key = if is_merge { Some("<<".to_owned()) } else { self.key(event, mark, at, depth)? };
            let (event, mark) = self.next()?;
            let Some(key) = key else {
                // The value of a key that cannot be is read, for what else is wrong in it, and left out.
                self.node(event, mark, at, depth + 1)?;
                continue;
            };
            let child = at.key(&key);
            let node = self.node(event, mark, &child, depth + 1)?;
            if is_merge && merge.is_none() {
                merge = Some((node, key_span));
                continue;
            }
            let first = if is_merge {
                merge.as_ref().map(|(_, span)| *span)
            } else {
                match map.entry(key.clone()) {
                    Slot::Vacant(slot) => {
                        slot.insert(Entry { key_span: Some(key_span), node });
                        continue;
                    }
                    Slot::Occupied(slot) => slot.get().key_span,
                }
            };
            self.duplicate(&child, key_span, first);
        }
    }

    fn duplicate(&mut self, at: &Path<'_>, span: Span, first: Option<Span>) {
        let first = first.map_or(0, |first| self.source.location(first.start as usize).line);
        let name = at.name();
        self.findings.push(Diagnostic::error(
            Code::DuplicateKey,
            at.pointer(),
            Some(span),
            format!("`{name}` stands twice in one map, first on line {first}"),
            "keep one of the two and remove the other",
        ));
    }

    /// The text of a key; `None` (and a finding) for a key that is not text.
    fn key(
        &mut self,
        event: Event<'text>,
        mark: Mark,
        at: &Path<'_>,
        depth: usize,
    ) -> Result<Option<String>> {
        let span = self.span(mark);
        let node = self.node(event, mark, at, depth + 1)?;
        if let Value::String(text) = node.value {
            return Ok(Some(text));
        }
        let written = self.text.get(span.start as usize..span.end as usize).unwrap_or_default().trim();
        let (pointer, hint) = match node.value {
            Value::Map(_) | Value::List(_) => (at.pointer(), "use plain text as the key".to_owned()),
            _ => (at.key(written).pointer(), format!("write the key in quotes: \"{written}\"")),
        };
        let message = format!("a key must be text, and this one is {}", node_kind(&node.value));
        self.findings.push(Diagnostic::error(Code::NonStringKey, pointer, Some(span), message, hint));
        Ok(None)
    }

    /// Adds what `<<` stands for: keys of the map itself win, then those of earlier maps in the list.
    fn merge(&mut self, map: &mut Map, node: Node, at: &Path<'_>, span: Span) -> Result<()> {
        let parents = match node.value {
            Value::Map(parent) => vec![parent],
            Value::List(list) if list.iter().all(|item| item.as_map().is_some()) => list
                .into_iter()
                .filter_map(|item| if let Value::Map(map) = item.value { Some(map) } else { None })
                .collect(),
            _ => {
                self.findings.push(Diagnostic::error(
                    Code::UnsupportedValue,
                    at.key("<<").pointer(),
                    Some(span),
                    "the merge key `<<` takes a map, or a list of maps",
                    "write `<<: *name`, where `&name` marks a map above",
                ));
                return Ok(());
            }
        };
        for (key, entry) in parents.into_iter().flatten() {
            if !map.contains_key(&key) {
                self.grow(1, at, span)?;
                map.insert(key, entry);
            }
        }
        Ok(())
    }

    fn alias(&mut self, id: usize, at: &Path<'_>, span: Span) -> Result<Node> {
        let Some(size) = self.anchors.get(&id).map(|anchored| anchored.size) else {
            self.unsupported(at, span, "an anchor cannot contain itself", "write the value out");
            return Ok(Node { value: Value::Null, span: Some(span) });
        };
        self.grow(size, at, span)?;
        Ok(self.anchors.get(&id).map_or(Node::new(Value::Null), |anchored| anchored.node.clone()))
    }

    fn scalar(
        &mut self,
        text: Cow<'text, str>,
        style: ScalarStyle,
        tag: Option<&Tag>,
        at: &Path<'_>,
        span: Span,
    ) -> Value {
        // The non-specific tag `!` changes nothing.
        let tag = tag.filter(|tag| format!("{}{}", tag.handle(), tag.suffix()) != "!");
        let short = tag.map(|tag| tag.suffix_in_namespace("tag:yaml.org,2002:").unwrap_or_default());
        match short.as_deref() {
            None if style != ScalarStyle::Plain => return Value::String(text.into_owned()),
            Some("str") => return Value::String(text.into_owned()),
            Some("binary") => {
                let decoded =
                    STANDARD.decode(text.as_bytes()).ok().and_then(|bytes| String::from_utf8(bytes).ok());
                return decoded.map_or_else(
                    || {
                        self.unsupported(
                            at,
                            span,
                            "`!!binary` takes base64 of UTF-8 text",
                            "write the text itself, in quotes",
                        );
                        Value::String(text.into_owned())
                    },
                    Value::String,
                );
            }
            _ => {}
        }
        let meaning = scalar::resolve(&text);
        let kind = match &meaning {
            Scalar::Null => "null",
            Scalar::Bool(_) => "bool",
            Scalar::Number(number) if number.is_f64() => "float",
            Scalar::NotFinite => "float",
            Scalar::Number(_) => "int",
            Scalar::Timestamp => "timestamp",
            Scalar::Text => "str",
        };
        if let Some(wanted) = short
            && wanted != kind
            && !(wanted == "float" && kind == "int")
        {
            let name = tag.map(ToString::to_string).unwrap_or_default();
            self.unsupported(
                at,
                span,
                &format!("the tag `{name}` does not fit this value"),
                "remove the tag; put text in quotes",
            );
            return Value::String(text.into_owned());
        }
        match meaning {
            Scalar::Null => Value::Null,
            Scalar::Bool(flag) => Value::Bool(flag),
            Scalar::Number(number) => Value::Number(number),
            Scalar::Timestamp => Value::Timestamp(text.into_owned()),
            Scalar::Text => Value::String(text.into_owned()),
            Scalar::NotFinite => {
                self.unsupported(
                    at,
                    span,
                    "a number must be finite",
                    &format!("write \"{text}\" in quotes if text is meant"),
                );
                Value::String(text.into_owned())
            }
        }
    }

    fn unsupported(&mut self, at: &Path<'_>, span: Span, message: &str, hint: &str) {
        self.findings.push(Diagnostic::error(
            Code::UnsupportedValue,
            at.pointer(),
            Some(span),
            message,
            hint,
        ));
    }

    fn grow(&mut self, by: usize, at: &Path<'_>, span: Span) -> Result<()> {
        self.size += by;
        if self.size > limits::VALUES {
            return Err(too_large(
                at,
                span,
                format!(
                    "the document holds more than {} values (aliases count as often as they are used)",
                    limits::VALUES
                ),
            ));
        }
        Ok(())
    }

    fn span(&self, mark: Mark) -> Span {
        let start = mark.start.byte_offset().unwrap_or_default();
        let end = mark.end.byte_offset().unwrap_or(start);
        self.bytes(start, end.max(start))
    }

    fn bytes(&self, start: usize, end: usize) -> Span {
        // The size of a text is bounded far below 4 GiB.
        let narrow = |offset: usize| u32::try_from(offset).unwrap_or(u32::MAX);
        Span { source: self.id, start: narrow(start), end: narrow(end) }
    }
}

fn too_large(at: &Path<'_>, span: Span, message: String) -> Stop {
    Stop(Box::new(Diagnostic::error(
        Code::LimitExceeded,
        at.pointer(),
        Some(span),
        message,
        "split the workload, or move large content into files of its own",
    )))
}

fn is_merge_key(event: &Event<'_>) -> bool {
    matches!(event, Event::Scalar(text, ScalarStyle::Plain, _, tag)
        if text == "<<" && tag.as_ref().is_none_or(|tag| tag.suffix_in_namespace("tag:yaml.org,2002:").as_deref() == Some("merge")))
}

fn node_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "empty",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::Timestamp(_) => "a date",
        Value::List(_) => "a list",
        Value::Map(_) => "a map",
        Value::String(_) => "text",
    }
}
