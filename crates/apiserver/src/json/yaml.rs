//! From the bytes of a YAML body to a value, by way of YAML 1.1 as the real server reads it.
//!
//! The text becomes a tree in which aliases are shared, and the tree becomes JSON in a second step. Only that step
//! unfolds aliases, and it counts what it makes of them.

use std::{collections::HashMap, rc::Rc};

use base64::{
    Engine as _, alphabet,
    engine::{GeneralPurpose, GeneralPurposeConfig},
};
use granit_parser::{Event, Options, Parser, ScalarStyle, Span, StrInput, Tag};
use serde_json::Value;

use super::{
    MAX_DEPTH,
    decode::{DecodeError, Decoded, Duplicates, decode},
    number::reread,
    yaml_errors::{anchor_name, is_allowed, refused, syntax_error},
    yaml_scalar::{Scalar, resolve},
    yaml_tree::{Content, Node, Unfolding},
};

type Result<T> = std::result::Result<T, DecodeError>;

/// Reads a YAML body: its first document. JSON is YAML too, and by far the most of it.
pub(crate) fn decode_yaml(text: &[u8]) -> Result<Decoded> {
    if text.first() == Some(&b'{')
        && let Ok(Decoded { mut value, duplicates }) = decode(text)
        && duplicates.is_empty()
    {
        reread_numbers(&mut value);
        return Ok(Decoded { value, duplicates: Duplicates::Lines(Vec::new()) });
    }
    let text = std::str::from_utf8(text).map_err(|_| refused("invalid leading UTF-8 octet"))?;
    if !text.chars().all(is_allowed) {
        return Err(refused("control characters are not allowed"));
    }
    let Some(root) = Composer::new(text).document()? else {
        return Ok(Decoded { value: Value::Null, duplicates: Duplicates::Lines(Vec::new()) });
    };
    let mut unfolding = Unfolding::default();
    let value = unfolding.value(&root)?;
    Ok(Decoded { value, duplicates: Duplicates::Lines(unfolding.duplicates) })
}

/// YAML passes through JSON on its way, where `1.0` is written as `1`.
fn reread_numbers(value: &mut Value) {
    match value {
        Value::Number(number) => *number = reread(number),
        Value::Array(list) => list.iter_mut().for_each(reread_numbers),
        Value::Object(map) => map.values_mut().for_each(reread_numbers),
        _ => {}
    }
}

/// Builds the tree of a document.
struct Composer<'text> {
    text: &'text str,
    events: Parser<'text, StrInput<'text>>,
    anchors: HashMap<usize, Rc<Node>>,
}

impl<'text> Composer<'text> {
    fn new(text: &'text str) -> Self {
        let mut options = Options::default();
        options.set_emit_comments(false);
        options.flow_nesting_limit = MAX_DEPTH;
        options.block_nesting_limit = MAX_DEPTH;
        Self { text, events: Parser::new_from_str_with_options(text, options), anchors: HashMap::new() }
    }

    fn document(&mut self) -> Result<Option<Rc<Node>>> {
        loop {
            match self.next()? {
                (Event::StreamStart, _) => {}
                (Event::DocumentStart(..), _) => break,
                _ => return Ok(None),
            }
        }
        let (event, span) = self.next()?;
        self.node(event, span).map(Some)
    }

    fn next(&mut self) -> Result<(Event<'text>, Span)> {
        match self.events.next_event() {
            Some(Ok(next)) => Ok(next),
            Some(Err(error)) => Err(syntax_error(&error, self.text)),
            None => Ok((Event::StreamEnd, Span::default())),
        }
    }

    fn node(&mut self, event: Event<'text>, span: Span) -> Result<Rc<Node>> {
        let line = self.line(&event, span);
        let (anchor, content) = match event {
            Event::Alias(id) => {
                let target = self.anchors.get(&id).ok_or_else(|| {
                    let name = anchor_name(self.text, span.start.byte_offset().unwrap_or(self.text.len()));
                    refused(&format!("anchor '{name}' value contains itself"))
                })?;
                (0, Content::Alias(Rc::clone(target)))
            }
            Event::Scalar(text, style, anchor, tag) => (anchor, scalar(&text, style, tag.as_deref())?),
            Event::SequenceStart(_, anchor, _) => (anchor, Content::List(self.list()?)),
            Event::MappingStart(_, anchor, _) => (anchor, Content::Map(self.map()?)),
            _ => (0, Content::Scalar(Scalar::Null, String::new())),
        };
        let node = Rc::new(Node::new(line, content)?);
        if anchor != 0 {
            self.anchors.insert(anchor, Rc::clone(&node));
        }
        Ok(node)
    }

    /// The line that a value starts on. A block of text starts with its `|`, and not with its first line.
    fn line(&self, event: &Event<'_>, span: Span) -> usize {
        let line = span.start.line();
        if !matches!(event, Event::Scalar(_, ScalarStyle::Literal | ScalarStyle::Folded, ..)) {
            return line;
        }
        let before = span.start.byte_offset().and_then(|at| self.text.get(..at)).unwrap_or_default();
        let blank = &before[before.trim_end().len()..];
        line - blank.matches('\n').count().min(line)
    }

    fn list(&mut self) -> Result<Vec<Rc<Node>>> {
        let mut list = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if matches!(event, Event::SequenceEnd | Event::StreamEnd) {
                return Ok(list);
            }
            list.push(self.node(event, span)?);
        }
    }

    fn map(&mut self) -> Result<Vec<(Rc<Node>, Rc<Node>)>> {
        let mut entries = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if matches!(event, Event::MappingEnd | Event::StreamEnd) {
                return Ok(entries);
            }
            let key = if is_merge(&event) {
                Rc::new(Node::new(span.start.line(), Content::Merge)?)
            } else {
                self.node(event, span)?
            };
            let (event, span) = self.next()?;
            entries.push((key, self.node(event, span)?));
        }
    }
}

fn is_merge(event: &Event<'_>) -> bool {
    matches!(event, Event::Scalar(text, style, _, tag) if text == "<<" && match tag.as_deref() {
        None => *style == ScalarStyle::Plain,
        Some(tag) => standard(tag).as_deref() == Some("merge"),
    })
}

/// The name of a tag of YAML itself: `str` of `!!str`.
fn standard(tag: &Tag) -> Option<String> {
    tag.suffix_in_namespace("tag:yaml.org,2002:").map(std::borrow::Cow::into_owned)
}

/// Decides what a word means, with the type that its tag asks for.
fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Result<Content> {
    let wanted = match tag {
        None if style == ScalarStyle::Plain => None,
        Some(tag) => standard(tag).or(Some(String::new())),
        None => Some(String::new()),
    };
    let meaning = match (wanted.as_deref(), resolve(text)) {
        (None, meaning) => meaning,
        (Some("binary"), _) => return binary(text),
        (Some("float"), Scalar::Int(integer)) => {
            #[expect(clippy::cast_precision_loss, reason = "the author asked for a float")]
            let float = integer as f64;
            Scalar::Float(float)
        }
        (Some(name @ ("bool" | "int" | "float" | "null" | "timestamp")), meaning) => {
            if meaning.tag() != name {
                let found = meaning.tag();
                return Err(refused(&format!("cannot decode !!{found} `{text}` as a !!{name}")));
            }
            meaning
        }
        (Some(_), _) => Scalar::Text,
    };
    Ok(Content::Scalar(meaning, text.to_owned()))
}

fn binary(text: &str) -> Result<Content> {
    const LENIENT: GeneralPurpose = GeneralPurpose::new(
        &alphabet::STANDARD,
        GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
    );
    let compact: String = text.chars().filter(|c| !matches!(c, '\r' | '\n')).collect();
    let bytes =
        LENIENT.decode(compact).map_err(|_| refused("!!binary value contains invalid base64 data"))?;
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    Ok(Content::Scalar(Scalar::Text, text))
}
