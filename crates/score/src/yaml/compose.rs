//! Composer: YAML events to a value tree with spans.
//!
//! Follows Go's yaml.v3, the parser of the Score reference tools (scalars: [`super::scalar`]). Recoverable errors (a
//! duplicate key, a non-string key, an unknown tag) are collected; a syntax error stops parsing.

mod tags;

use std::{borrow::Cow, collections::HashMap};

use granit_parser::{ErrorKind, Event, Options, Parser, ScalarStyle, ScanError, Span as Mark, StrInput, Tag};
use indexmap::map::Entry as Slot;
use serde_json::Number;

use super::{
    limits,
    scalar::{self, Scalar},
    syntax,
};
use crate::{
    code::Code,
    diagnostic::{Diagnostic, Findings, Severity, backticked, quoted},
    expansion::decode_base64,
    node::{Entry, Map, Node, Value},
    pointer::{Path, Pointer},
    source::{Source, SourceId, Span},
};
use tags::{is_merge_key, standard_tag};

/// Fatal diagnostic that stops parsing.
struct Fatal(Box<Diagnostic>);

type Result<T> = std::result::Result<T, Fatal>;

/// Anchored value and its size.
struct Anchored {
    node: Node,
    size: usize,
    /// Nesting depth of the value, added to the depth of the alias.
    height: usize,
}

struct Composer<'text> {
    source: &'text Source,
    text: &'text str,
    id: SourceId,
    events: Parser<'text, StrInput<'text>>,
    anchors: HashMap<usize, Anchored>,
    /// Values so far, counting every use of an alias.
    size: usize,
    /// Values copied for anchors; nested anchors copy again.
    copied: usize,
    /// Parse any YAML, see [`super::parse_any`].
    any: bool,
    findings: Findings,
}

/// Composes the first document. `None` if there is none, or on a syntax error.
pub(super) fn compose(source: &Source, id: SourceId, any: bool) -> (Option<Node>, Findings) {
    let mut options = Options::default();
    options.set_emit_comments(false);
    options.flow_nesting_limit = limits::DEPTH;
    options.block_nesting_limit = limits::DEPTH;
    // YAML limits a key to 1024 characters on a line; JSON does not.
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
        Err(Fatal(diagnostic)) => {
            composer.findings.push(*diagnostic);
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
        // `---` alone starts an empty document.
        let is_empty =
            matches!(root.value, Value::Null) && root.span.is_none_or(|span| span.start == span.end);
        Ok(Some(root).filter(|_| !is_empty))
    }

    /// End of the stream, or further documents, which are not read.
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
                        "multiple YAML documents in one file: this one and all after it are ignored",
                        "use one file per Score document, and pass several files",
                    ));
                    return Ok(());
                }
                // Without `---` the author means the same document; usually the indentation is wrong.
                (Event::DocumentStart(false, _), mark) => {
                    return Err(Fatal(Box::new(Diagnostic::error(
                        Code::InvalidSyntax,
                        Pointer::root(),
                        Some(self.span(mark)),
                        "invalid YAML: wrong indentation, or unexpected content after the end of the document",
                        "check the indentation of the lines above; all keys of a map start in the same column",
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

    fn syntax(&self, error: &ScanError) -> Fatal {
        let diagnostic = syntax::diagnostic(self.text, self.id, error);
        match (error.kind(), diagnostic.span) {
            (ErrorKind::RecursionLimitExceeded, Some(span)) => too_deep(&Path::Root, span),
            _ => Fatal(Box::new(diagnostic)),
        }
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
                // The tag `!` has no effect.
                let tag = tag.filter(|tag| tag.to_string() != "!");
                // Long scalars count more, since an alias copies them.
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
                let span = Span { end, ..span };
                let value = if map.is_empty() && self.is_template(span) {
                    // Reported at the key; the template stands for a value of any type.
                    Value::String(self.source.slice(span).unwrap_or_default().to_owned())
                } else {
                    Value::Map(map)
                };
                (anchor, Node { value, span: Some(span) })
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

    /// True for `{{ … }}`.
    fn is_template(&self, span: Span) -> bool {
        self.source.slice(span).is_some_and(|text| text.starts_with("{{"))
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
                // The value of an invalid key is parsed for further diagnostics, and dropped.
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
            let message = format!("duplicate key {} (first defined on line {first})", backticked(at.name()));
            (message, "remove one of the two, or merge them".to_owned())
        });
    }

    fn error(&mut self, code: Code, at: &Path<'_>, span: Span, describe: impl FnOnce() -> (String, String)) {
        self.findings.report(Severity::Error, code, at, Some(span), describe);
    }

    /// String of a key; `None` (and a diagnostic) for a non-string key.
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
        let message = format!("non-string key: expected string, found {}", node.type_name());
        if matches!(node.value, Value::Map(_) | Value::List(_)) {
            let is_template =
                self.text.get(..span.start as usize).is_some_and(|before| before.ends_with('{'));
            let (message, hint) = if is_template {
                (
                    "unrendered template: `{{ … }}` is not valid in a Score file".to_owned(),
                    "render the Helm or Go template first, and validate the result; quote the value for literal braces",
                )
            } else {
                (message, "use a string as the key")
            };
            self.error(Code::NonStringKey, at, span, || (message, hint.to_owned()));
        } else {
            let written = self.source.slice(span).unwrap_or_default().trim();
            let hint = || (message, format!("quote the key: {}", quoted(written)));
            self.error(Code::NonStringKey, &at.key(written), span, hint);
            if self.any {
                let is_null = matches!(node.value, Value::Null);
                return Ok(Some(if is_null { String::new() } else { written.to_owned() }));
            }
        }
        Ok(None)
    }

    /// Applies the merge key `<<`: keys of the map itself win, then those of earlier maps in the list.
    fn merge(&mut self, map: &mut Map, node: Node, at: &Path<'_>, span: Span) -> Result<()> {
        let items = if let Value::List(list) = node.value { list } else { vec![node] };
        if items.iter().any(|item| item.as_map().is_none()) {
            self.unsupported(
                &at.key("<<"),
                span,
                "invalid merge key: `<<` expects a map, or a list of maps",
                "write `<<: *name`, where `&name` is the anchor of a map above",
            );
        }
        // The maps of an invalid list are merged too, so that their keys are not reported as missing.
        let parents = items.into_iter().filter_map(|item| match item.value {
            Value::Map(map) => Some(map),
            _ => None,
        });
        for (key, entry) in parents.flatten() {
            if !map.contains_key(&key) {
                self.grow(1, at, span)?;
                map.insert(key, entry);
            }
        }
        Ok(())
    }

    fn alias(&mut self, id: usize, at: &Path<'_>, span: Span, depth: usize) -> Result<Node> {
        let Some(&Anchored { size, height, .. }) = self.anchors.get(&id) else {
            self.unsupported(
                at,
                span,
                "recursive anchor: an anchor cannot contain itself",
                "write the value without an alias",
            );
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
            let message = format!("invalid tag `!!{wanted}`: the value is of another type");
            self.unsupported(at, span, &message, "remove the tag; quote strings");
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
                    &format!("unsupported number `{text}`: must be finite"),
                    &format!("for a string, quote it: \"{text}\""),
                );
                Value::String(text.into_owned())
            }
        }
    }

    /// `!!binary` is a string in base64.
    fn binary(&mut self, text: &str, at: &Path<'_>, span: Span) -> Value {
        let decoded = decode_base64(text).and_then(|bytes| String::from_utf8(bytes).ok());
        if decoded.is_none() {
            let message = "invalid base64: `!!binary` expects base64 of UTF-8 text";
            self.unsupported(at, span, message, "write the text itself, in quotes");
        }
        Value::String(decoded.unwrap_or_default())
    }

    /// A block scalar at the end of a file without a final newline has none either.
    fn end_of_block(&self, text: Cow<'text, str>, style: ScalarStyle, span: Span) -> Cow<'text, str> {
        let block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
        let last = self.text.get(span.end as usize..).is_none_or(str::is_empty) && !self.text.ends_with('\n');
        match text.strip_suffix('\n') {
            Some(stripped) if block && last => Cow::Owned(stripped.to_owned()),
            _ => text,
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
                    "document too large: more than {} values (every use of an alias counts)",
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
        // A source is far smaller than 4 GiB.
        let narrow = |offset: usize| u32::try_from(offset).unwrap_or(u32::MAX);
        Span { source: self.id, start: narrow(start), end: narrow(end) }
    }
}

fn too_large(at: &Path<'_>, span: Span, message: String) -> Fatal {
    Fatal(Box::new(Diagnostic::error(
        Code::LimitExceeded,
        at.pointer(),
        Some(span),
        message,
        "split the workload, or move large file contents into the image or a volume",
    )))
}

fn too_deep(at: &Path<'_>, span: Span) -> Fatal {
    too_large(at, span, format!("nesting too deep: more than {} levels", limits::DEPTH))
}

/// Nesting depth of a value.
fn height(node: &Node) -> usize {
    match &node.value {
        Value::List(list) => 1 + list.iter().map(height).max().unwrap_or(0),
        Value::Map(map) => 1 + map.values().map(|entry| height(&entry.node)).max().unwrap_or(0),
        _ => 0,
    }
}
