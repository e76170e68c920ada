//! From YAML events to a tree of values with places.
//!
//! The rules are those of Go's yaml.v3, which the reference tools read Score files with (see [`super::scalar`]
//! for words). A mistake that leaves the shape of the document clear (a duplicate key, a number as a key, an
//! unknown tag) is noted and reading goes on; a mistake in the syntax ends it.

use std::{borrow::Cow, collections::HashMap};

use granit_parser::{ErrorKind, Event, Options, Parser, ScalarStyle, ScanError, Span as Mark, StrInput, Tag};
use indexmap::map::Entry as Slot;
use serde_json::Number;

use super::{
    limits,
    scalar::{self, Scalar},
};
use crate::{
    code::Code,
    diagnostic::{Diagnostic, Findings, Severity, quoted},
    expansion::decode_base64,
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
    /// Levels of nesting in it, which add to those of the place where it is used.
    height: usize,
}

struct Composer<'text> {
    source: &'text Source,
    text: &'text str,
    id: SourceId,
    events: Parser<'text, StrInput<'text>>,
    anchors: HashMap<usize, Anchored>,
    /// Values so far, with aliases counted as often as they are used.
    size: usize,
    /// Values kept a second time for anchors; nested ones are kept once for each.
    copied: usize,
    /// Whether it is any YAML, not a Score document: a key that is a number, a boolean or null is kept as it is
    /// written, beside the finding, and `!!float 1` is a float.
    any: bool,
    findings: Findings,
}

/// Reads the first document of a text. `None` where there is none, or where it could not be read to its end.
pub(super) fn compose(source: &Source, id: SourceId, any: bool) -> (Option<Node>, Findings) {
    let mut options = Options::default();
    options.set_emit_comments(false);
    options.flow_nesting_limit = limits::DEPTH;
    options.block_nesting_limit = limits::DEPTH;
    // YAML bounds a key to 1024 characters on a line; JSON, which is read here too, does not.
    options.simple_key_max_lookahead = 64 * 1024;
    let mut composer = Composer {
        source,
        text: &source.text,
        id,
        events: Parser::new_from_str_with_options(&source.text, options),
        anchors: HashMap::new(),
        size: 0,
        copied: 0,
        any,
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
        self.rest()?;
        // `---` alone begins a document with nothing in it.
        let is_empty =
            matches!(root.value, Value::Null) && root.span.is_none_or(|span| span.start == span.end);
        Ok(Some(root).filter(|_| !is_empty))
    }

    /// What follows the first document: nothing, or other documents, which are not read.
    fn rest(&mut self) -> Result<()> {
        loop {
            match self.next()? {
                (Event::StreamEnd, _) => return Ok(()),
                (Event::DocumentStart(true, _), mark) => {
                    let span = self.span(mark);
                    if self.text.get(span.end as usize..).is_none_or(|rest| rest.trim().is_empty()) {
                        return Ok(());
                    }
                    self.findings.push(Diagnostic::warning(
                        Code::ExtraDocument,
                        Pointer::root(),
                        Some(span),
                        "the text holds another document here, which is not read",
                        "keep one Score document per file, and give several files instead",
                    ));
                    return Ok(());
                }
                // Without `---` it is the same document to its author. Mostly a line is indented wrongly.
                (Event::DocumentStart(false, _), mark) => {
                    return Err(Stop(Box::new(Diagnostic::error(
                        Code::InvalidSyntax,
                        Pointer::root(),
                        Some(self.span(mark)),
                        "the document ends before this line",
                        "check the indentation of the lines above; all keys of one map start in the same column",
                    ))));
                }
                _ => {}
            }
        }
    }

    fn next(&mut self) -> Result<(Event<'text>, Mark)> {
        match self.events.next_event() {
            Some(Ok(next)) => Ok(next),
            Some(Err(error)) => Err(self.syntax(&error)),
            None => Ok((Event::StreamEnd, Mark::default())),
        }
    }

    fn syntax(&self, error: &ScanError) -> Stop {
        let mut at = error.marker().byte_offset().unwrap_or(self.text.len()).min(self.text.len());
        if matches!(error.kind(), ErrorKind::TabInPlainScalar) {
            // The place given is that of the text before the tab.
            at += self.text[at..].find('\t').unwrap_or(0);
        }
        let width = self.text[at..].chars().next().filter(|c| *c != '\n').map_or(0, char::len_utf8);
        let span = self.bytes(at, at + width);
        if matches!(error.kind(), ErrorKind::RecursionLimitExceeded) {
            return too_deep(&Path::Root, span);
        }
        Stop(Box::new(Diagnostic::error(
            Code::InvalidSyntax,
            Pointer::root(),
            Some(span),
            format!("this is not valid YAML: {}", error.info()),
            match error.kind() {
                ErrorKind::UnclosedQuotedScalar => "close the quotes",
                ErrorKind::InvalidQuotedScalarIndent => {
                    "close the quotes; if the text goes on over several lines, indent them more than its key"
                }
                _ => super::syntax_hint(self.text, at),
            },
        )))
    }

    fn node(&mut self, event: Event<'text>, mark: Mark, at: &Path<'_>, depth: usize) -> Result<Node> {
        let span = self.span(mark);
        if depth > limits::DEPTH {
            return Err(too_deep(at, span));
        }
        let before = self.size;
        self.grow(1, at, span)?;
        let (anchor, node) = match event {
            Event::Alias(id) => return self.alias(id, at, span, depth),
            Event::Scalar(text, style, anchor, tag) => {
                // The tag `!` changes nothing.
                let tag = tag.filter(|tag| tag.to_string() != "!");
                // Long texts weigh more, since an alias copies them.
                let length = text.len().max((span.end - span.start) as usize);
                self.grow(length / limits::BYTES_PER_VALUE, at, span)?;
                let text = self.end_of_block(text, style, span);
                (anchor, Node { value: self.scalar(text, style, tag.as_deref(), at, span), span: Some(span) })
            }
            Event::SequenceStart(_, anchor, tag) => {
                self.ignored(tag.as_deref(), at, span);
                let (list, end) = self.list(at, depth)?;
                (anchor, Node { value: Value::List(list), span: Some(Span { end, ..span }) })
            }
            Event::MappingStart(_, anchor, tag) => {
                self.ignored(tag.as_deref(), at, span);
                let (map, end) = self.map(at, depth)?;
                (anchor, Node { value: Value::Map(map), span: Some(Span { end, ..span }) })
            }
            _ => (0, Node { value: Value::Null, span: Some(span) }),
        };
        if anchor != 0 {
            let size = self.size - before;
            self.copied += size;
            self.grow(0, at, span)?;
            let height = height(&node);
            self.anchors.insert(anchor, Anchored { node: node.clone(), size, height });
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
        let source = self.source;
        self.error(Code::DuplicateKey, at, span, || {
            let first = first.map_or(0, |first| source.line(first.start as usize));
            let message = format!("{} stands twice in one map, first on line {first}", quoted(at.name()));
            (message, "keep one of the two and remove the other".to_owned())
        });
    }

    fn error(&mut self, code: Code, at: &Path<'_>, span: Span, word: impl FnOnce() -> (String, String)) {
        self.findings.report(Severity::Error, code, at, Some(span), word);
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
        let message = format!("a key must be text, and this one is {}", node.kind());
        if matches!(node.value, Value::Map(_) | Value::List(_)) {
            let is_template =
                self.text.get(..span.start as usize).is_some_and(|before| before.ends_with('{'));
            let hint = if is_template {
                "this looks like a template (`{{ … }}`) that has not been rendered; validate the result"
            } else {
                "use plain text as the key"
            };
            self.error(Code::NonStringKey, at, span, || (message, hint.to_owned()));
        } else {
            let written = self.source.slice(span).unwrap_or_default().trim();
            let hint = || (message, format!("write the key in quotes: {}", quoted(written)));
            self.error(Code::NonStringKey, &at.key(written), span, hint);
            if self.any {
                let is_null = matches!(node.value, Value::Null);
                return Ok(Some(if is_null { String::new() } else { written.to_owned() }));
            }
        }
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
                self.unsupported(
                    &at.key("<<"),
                    span,
                    "the merge key `<<` takes a map, or a list of maps",
                    "write `<<: *name`, where `&name` marks a map above",
                );
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

    fn alias(&mut self, id: usize, at: &Path<'_>, span: Span, depth: usize) -> Result<Node> {
        let Some(&Anchored { size, height, .. }) = self.anchors.get(&id) else {
            self.unsupported(at, span, "an anchor cannot contain itself", "write the value out");
            return Ok(Node { value: Value::Null, span: Some(span) });
        };
        if depth + height > limits::DEPTH {
            return Err(too_deep(at, span));
        }
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
        let standard = match tag.map(standard_tag) {
            None if style != ScalarStyle::Plain => return Value::String(text.into_owned()),
            None => None,
            Some(Some(name)) => Some(name),
            Some(None) => {
                self.ignored(tag, at, span);
                return Value::String(text.into_owned());
            }
        };
        match standard.as_deref() {
            Some("str") => return Value::String(text.into_owned()),
            Some("binary") => return self.binary(&text, at, span),
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
        if let Some(wanted) = standard.as_deref()
            && wanted != kind
            && !(wanted == "float" && kind == "int")
        {
            let message = format!("the tag `!!{wanted}` does not fit this value");
            self.unsupported(at, span, &message, "remove the tag; put text in quotes");
            return Value::String(text.into_owned());
        }
        match meaning {
            Scalar::Null => Value::Null,
            Scalar::Bool(flag) => Value::Bool(flag),
            Scalar::Number(number) if self.any && standard.is_some_and(|tag| tag == "float") => {
                Value::Number(number.as_f64().and_then(Number::from_f64).unwrap_or(number))
            }
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

    /// `!!binary` is text in base64.
    fn binary(&mut self, text: &str, at: &Path<'_>, span: Span) -> Value {
        let decoded = decode_base64(text).and_then(|bytes| String::from_utf8(bytes).ok());
        if decoded.is_none() {
            let message = "`!!binary` takes base64 of UTF-8 text";
            self.unsupported(at, span, message, "write the text itself, in quotes");
        }
        Value::String(decoded.unwrap_or_default())
    }

    /// A block at the end of a text without a last line end has none either.
    fn end_of_block(&self, text: Cow<'text, str>, style: ScalarStyle, span: Span) -> Cow<'text, str> {
        let block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
        let last = self.text.get(span.end as usize..).is_none_or(str::is_empty) && !self.text.ends_with('\n');
        match text.strip_suffix('\n') {
            Some(stripped) if block && last => Cow::Owned(stripped.to_owned()),
            _ => text,
        }
    }

    /// Tags of other languages (`!Ref`, `!Sub`) mean nothing here; the value counts without them.
    fn ignored(&mut self, tag: Option<&Tag>, at: &Path<'_>, span: Span) {
        if let Some(tag) = tag.filter(|tag| standard_tag(tag).is_none()) {
            let word = || {
                let message =
                    format!("the tag {} means nothing in Score and is ignored", quoted(&tag.to_string()));
                (message, "remove the tag, and write the value that is meant".to_owned())
            };
            self.findings.report(Severity::Warning, Code::UnsupportedValue, at, Some(span), word);
        }
    }

    fn unsupported(&mut self, at: &Path<'_>, span: Span, message: &str, hint: &str) {
        self.error(Code::UnsupportedValue, at, span, || (message.to_owned(), hint.to_owned()));
    }

    fn grow(&mut self, by: usize, at: &Path<'_>, span: Span) -> Result<()> {
        self.size += by;
        if self.size.max(self.copied) > limits::VALUES {
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

fn too_deep(at: &Path<'_>, span: Span) -> Stop {
    too_large(at, span, format!("values are nested deeper than {} levels", limits::DEPTH))
}

/// Levels of nesting in a value.
fn height(node: &Node) -> usize {
    match &node.value {
        Value::List(list) => 1 + list.iter().map(height).max().unwrap_or(0),
        Value::Map(map) => 1 + map.values().map(|entry| height(&entry.node)).max().unwrap_or(0),
        _ => 0,
    }
}

const STANDARD_TAGS: &str = "tag:yaml.org,2002:";

/// The name of a tag of YAML itself (`!!str`); the tag `!`, which changes nothing, has none.
fn standard_tag(tag: &Tag) -> Option<Cow<'_, str>> {
    tag.suffix_in_namespace(STANDARD_TAGS)
}

fn is_merge_key(event: &Event<'_>) -> bool {
    matches!(event, Event::Scalar(text, ScalarStyle::Plain, _, tag)
        if text == "<<" && tag.as_deref().is_none_or(|tag| standard_tag(tag).as_deref() == Some("merge")))
}
