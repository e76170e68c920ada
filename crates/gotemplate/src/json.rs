//! Go's `encoding/json`.

use std::fmt::Write as _;

use crate::{
    error::EvalError,
    interpreter::Interpreter,
    number,
    value::{Heap, MapKind, Value},
};

#[derive(Clone, Copy)]
pub(crate) struct Style {
    /// Escapes `<`, `>` and `&`.
    pub(crate) escape_html: bool,
    /// Indents by two spaces.
    pub(crate) pretty: bool,
}

impl Interpreter {
    /// JSON of a value; `None` if it has no JSON form.
    pub(crate) fn json_text(&mut self, value: &Value, style: Style) -> Result<Option<String>, EvalError> {
        self.weigh(value)?;
        let mut out = String::new();
        let complete = write(&self.heap, &mut out, value, style, 0).is_some();
        self.budget.spend(out.len())?;
        Ok(complete.then_some(out))
    }
}

fn write(heap: &Heap, out: &mut String, value: &Value, style: Style, depth: usize) -> Option<()> {
    match value {
        Value::Missing | Value::Nil | Value::Map(_, None) => out.push_str("null"),
        Value::Bool(flag) => out.push_str(&flag.to_string()),
        Value::Int(int) | Value::Int64(int) => out.push_str(&int.to_string()),
        Value::Uint(int) => out.push_str(&int.to_string()),
        Value::Byte(byte) => out.push_str(&byte.to_string()),
        Value::Float(float) => out.push_str(&number::json(*float)?),
        Value::Str(text) | Value::Named(_, text) => write_string(out, text, style.escape_html),
        Value::Time(time) => write_string(out, &time.rfc3339(), style.escape_html),
        Value::List(_, at) => {
            let items = heap.list(*at);
            let items = items.iter().map(|item| (None, item));
            group(heap, out, ('[', ']'), items, style, depth)?;
        }
        Value::Map(MapKind::AnyKeys, _) => return None,
        Value::Map(_, at) => {
            let items = heap.map(*at).iter().map(|(key, item)| (Some(key.as_str()), item));
            group(heap, out, ('{', '}'), items, style, depth)?;
        }
        Value::Record(at) => {
            let record = heap.record(*at);
            let items = record.fields.iter().map(|field| (Some(field.json), &field.value));
            group(heap, out, ('{', '}'), items, style, depth)?;
        }
    }
    Some(())
}

fn group<'a>(
    heap: &Heap,
    out: &mut String,
    (open, close): (char, char),
    items: impl Iterator<Item = (Option<&'a str>, &'a Value)>,
    style: Style,
    depth: usize,
) -> Option<()> {
    let line = |out: &mut String, depth: usize| {
        if style.pretty {
            out.push('\n');
            out.push_str(&"  ".repeat(depth));
        }
    };
    out.push(open);
    let mut count = 0;
    for (key, item) in items {
        if count > 0 {
            out.push(',');
        }
        count += 1;
        line(out, depth + 1);
        if let Some(key) = key {
            write_string(out, key, style.escape_html);
            out.push_str(if style.pretty { ": " } else { ":" });
        }
        write(heap, out, item, style, depth + 1)?;
    }
    if count > 0 {
        line(out, depth);
    }
    out.push(close);
    Some(())
}

fn write_string(out: &mut String, text: &str, escape_html: bool) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '<' | '>' | '&' if escape_html => escape(out, c),
            // Line terminators of JavaScript.
            '\u{2028}' | '\u{2029}' => escape(out, c),
            char::REPLACEMENT_CHARACTER => out.push_str("\\ufffd"),
            c if u32::from(c) < 0x20 => escape(out, c),
            c => out.push(c),
        }
    }
    out.push('"');
}

fn escape(out: &mut String, c: char) {
    // Writing to a string cannot fail.
    let _ = write!(out, "\\u{:04x}", u32::from(c));
}
